//! The lines of the status line command.

use crate::terminal::event::Event;
use crate::terminal::testing::Harness;
use crate::terminal::text::Role;

#[test]
fn the_status_line_command_prints_below_the_status_line() {
    let mut program = Harness::open(80, 24);
    program
        .send(Event::StatusLines(vec!["\u{1b}[32mmain\u{1b}[0m ✓".to_owned(), "two".to_owned()]));
    let shown = program.shown();
    let last: Vec<_> = shown.lines().rev().take(3).collect();
    assert_eq!(last[..2], ["two", "main ✓"], "{shown}");
    assert!(last[2].starts_with("ready"), "{shown}");
    let first = &program.state.script_lines[0].0[0];
    assert_eq!(first.style.role, Role::Ansi(2), "colours are kept");
    program.send(Event::StatusLines(vec!["evil\u{1b}[2J\u{1b}]0;title\u{7}".to_owned()]));
    assert!(!program.bytes.windows(4).any(|bytes| bytes == b"\x1b]0;"), "nothing else is");
    assert!(program.shown().contains("evil"), "{}", program.shown());
}

#[test]
fn the_built_in_status_line_can_be_hidden_but_hints_are_shown() {
    let mut program = Harness::starting(80, 24);
    let mut opened = crate::terminal::testing::opened();
    let built_in =
        robota_config::model::BuiltInStatusLine { enabled: Some(false), git_branch: None };
    opened.built_in_status = Some(built_in);
    program.send(Event::Opened(Box::new(opened)));
    program.send(Event::StatusLines(vec!["mine".to_owned()]));
    assert!(program.shown().ends_with("mine") && !program.shown().contains("ready"));
    program.press("ctrl+c");
    assert!(program.shown().contains("press Ctrl+C again"), "{}", program.shown());
}
