use super::*;
use crate::terminal::testing::Harness;

fn asked() -> Harness {
    let mut program = Harness::open(80, 24);
    program.type_text("/reset");
    assert!(program.press("enter").is_empty(), "nothing happens before the answer");
    assert!(program.shown().starts_with("This deletes your settings"), "{}", program.shown());
    program
}

#[test]
fn settings_are_deleted_only_after_a_yes() {
    let effects = asked().press("y");
    assert!(matches!(effects.as_slice(), [Effect::Enter(draft)] if draft.text == "/reset"));
}

#[test]
fn every_other_key_changes_nothing() {
    for key in ["n", "q", "esc", "ctrl+c"] {
        let mut program = asked();
        assert!(program.press(key).is_empty(), "{key}");
        assert!(program.state.page.is_none(), "{key}");
    }
    let mut program = asked();
    for key in ["enter", "x", "down"] {
        assert!(program.press(key).is_empty(), "{key}");
        assert!(program.state.page.is_some(), "{key}");
    }
}
