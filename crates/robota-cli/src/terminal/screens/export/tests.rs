use super::*;
use crate::terminal::event::Event;
use crate::terminal::testing::Harness;

#[test]
fn the_conversation_is_shown_saved_and_copied() {
    let mut program = Harness::open(80, 24);
    program.type_text("/export");
    assert!(matches!(program.press("enter").as_slice(), [Effect::Work(_)]));
    program.send(Event::Answered(Box::new(Exported(Ok("# Talk\n\nhello".to_owned())))));
    assert!(program.shown().starts_with("# Talk"), "{}", program.shown());
    let effects = program.press("c");
    let [Effect::Write(bytes)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(String::from_utf8_lossy(bytes), "\x1b]52;c;IyBUYWxrCgpoZWxsbw==\x07");
    assert!(matches!(program.press("s").as_slice(), [Effect::Work(_)]));
    let saved = Saved(Ok(PathBuf::from("/demo/conversation-5f0c.md")));
    program.send(Event::Answered(Box::new(saved)));
    assert!(program.shown().contains("saved as /demo/conversation-5f0c.md"), "{}", program.shown());
}

#[test]
fn a_file_that_exists_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("talk.md");
    write_new(&file, "first").unwrap();
    let why = write_new(&file, "second").unwrap_err();
    assert!(why.ends_with("talk.md exists already: choose another name"), "{why}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "first");
}
