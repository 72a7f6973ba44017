//! Images of the clipboard.

use crate::terminal::composer::Image;
use crate::terminal::effect::Effect;
use crate::terminal::event::Event;
use crate::terminal::testing::Harness;

#[test]
fn ctrl_v_inserts_the_image_of_the_clipboard() {
    let mut program = Harness::open(80, 24);
    program.type_text("look at ");
    assert!(matches!(program.press("ctrl+v").as_slice(), [Effect::PasteImage]));
    program.send(Event::ImagePasted(Ok(b"png".to_vec())));
    assert!(program.shown().contains("› look at [Image #1]"), "{}", program.shown());
    let effects = program.press("enter");
    let [Effect::Enter(draft)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(draft.images, [(1, Image::Png(b"png".as_slice().into()))]);
}

#[test]
fn a_clipboard_without_an_image_is_a_hint() {
    let mut program = Harness::open(80, 24);
    program.press("ctrl+v");
    program.send(Event::ImagePasted(Err("the clipboard has no image".to_owned())));
    assert!(program.shown().contains("the clipboard has no image"), "{}", program.shown());
}
