use super::*;
use crate::terminal::event::Event;
use crate::terminal::testing::Harness;

fn entry(title: &str, text: &str, file: Option<&str>) -> Entry {
    Entry {
        title: title.to_owned(),
        detail: "runs".to_owned(),
        body: Body::Text(text.to_owned()),
        file: file.map(PathBuf::from),
    }
}

fn opened(command: &str, entries: Vec<Entry>) -> Harness {
    let mut program = Harness::open(80, 24);
    program.type_text(command);
    let effects = program.press("enter");
    assert!(matches!(effects.as_slice(), [Effect::Work(_)]), "{effects:?}");
    program.send(Event::Answered(Box::new(LoadedDetails(Ok(entries)))));
    program
}

#[test]
fn entries_are_listed_shown_and_edited() {
    let first =
        entry("PreToolUse(Bash)", "command: ./check.sh\nTime limit: 5 s", Some("/p/s.json"));
    let mut program = opened("/hooks", vec![first, entry("Stop", "the end", None)]);
    let shown = program.shown();
    assert!(shown.starts_with("Hooks  1/2"), "{shown}");
    assert!(shown.contains("▸ PreToolUse(Bash)  runs"), "{shown}");
    assert!(shown.contains("Ctrl+E opens the file in the editor"), "{shown}");
    program.press("enter");
    let shown = program.shown();
    assert!(shown.starts_with("PreToolUse(Bash)\n\ncommand: ./check.sh"), "{shown}");
    let effects = program.press("ctrl+e");
    let [Effect::EditFile(file)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(file.display().to_string(), "/p/s.json");
    let effects = program.send(Event::Answered(Box::new(FileEdited)));
    assert!(matches!(effects.as_slice(), [Effect::Work(_)]), "it is read again: {effects:?}");
    let first = || entry("PreToolUse(Bash)", "command: ./other.sh", Some("/p/s.json"));
    let found = LoadedDetails(Ok(vec![first(), entry("Stop", "the end", None)]));
    program.send(Event::Answered(Box::new(found)));
    let shown = program.shown();
    assert!(shown.starts_with("PreToolUse(Bash)\n\ncommand: ./other.sh"), "{shown}");
    program.press("esc");
    program.press("down");
    assert!(!program.shown().contains("Ctrl+E"), "this one has no file: {}", program.shown());
    assert!(program.press("ctrl+e").is_empty());
    program.press("esc");
    assert!(program.state.page.is_none());
}

#[test]
fn an_empty_list_says_why() {
    let program = opened("/hooks", Vec::new());
    assert!(program.shown().contains("No hooks are configured."), "{}", program.shown());
}

#[test]
fn a_failure_closes_the_page_and_says_why() {
    let mut program = Harness::open(80, 24);
    program.type_text("/diff");
    program.press("enter");
    let failed = LoadedDetails(Err("the journal cannot be read".to_owned()));
    program.send(Event::Answered(Box::new(failed)));
    assert!(program.state.page.is_none());
    assert!(program.shown().contains("the journal cannot be read"), "{}", program.shown());
}

#[test]
fn changes_are_shown_with_numbers_and_signs() {
    let lines = diff::between("one\ntwo\n", "one\n2\n");
    let body = Body::Diff { path: "a.txt".to_owned(), lines };
    let (title, detail) = ("a.txt".to_owned(), "+1 -1".to_owned());
    let mut program = opened("/diff", vec![Entry { title, detail, body, file: None }]);
    assert!(program.shown().contains("a.txt  +1 -1"), "{}", program.shown());
    program.press("enter");
    let shown = program.shown();
    assert!(shown.starts_with("a.txt\n"), "it says which file: {shown}");
    assert!(shown.contains("2 - two") && shown.contains("2 + 2"), "{shown}");
}
