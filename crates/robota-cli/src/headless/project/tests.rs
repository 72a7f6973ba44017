use robota_core::error::FailureClass;

use super::class_of;

#[test]
fn the_classes_of_lines_have_the_names_that_hooks_receive() {
    for class in FailureClass::ALL {
        assert_eq!(serde_json::to_value(class_of(class)).unwrap(), class.name());
    }
}
