//! Ctrl+B: moves what runs to the background, or shows what is there.

use robota_core::ids::CallId;
use robota_sdk::{InteractiveEvent, ToolEnd, ToolState};

use crate::terminal::effect::Effect;
use crate::terminal::event::{Event, Opened};
use crate::terminal::testing::{Harness, ended};

fn start_command(program: &mut Harness, call: &str) {
    let mut state = ToolState::new(CallId::from(call), "Bash", "cargo test");
    state.time_limit_ms = Some(120_000);
    program.session(InteractiveEvent::ToolStart(state));
}

#[test]
fn the_key_moves_the_command_that_runs() {
    let mut program = Harness::open(80, 24);
    program.prompt("test it");
    start_command(&mut program, "c1");
    assert!(!program.shown().contains("Ctrl+B"), "{}", program.shown());
    program.wait(3_000);
    assert!(program.shown().contains("Ctrl+B background"), "{}", program.shown());
    let effects = program.press("ctrl+b");
    let [Effect::MoveToBackground(calls)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(calls, &[CallId::from("c1")]);
    assert!(program.state.page.is_none());

    let mut state = ended("c1", "Bash", "cargo test", ToolEnd::Success);
    state.background_tasks = vec!["bash_1".to_owned()];
    program.end_tool(state);
    let shown = program.shown();
    assert!(shown.contains("✓ In the background as bash_1: cargo test"), "{shown}");
}

#[test]
fn the_key_moves_agents_and_nothing_else_that_runs() {
    let mut program = Harness::open(80, 24);
    program.prompt("look");
    program.start_tool("c1", "Read", "src/app.py");
    program.start_tool("c2", "Agent", "look for it");
    program.start_tool("c3", "Agent", "look elsewhere");
    let effects = program.press("ctrl+b");
    let [Effect::MoveToBackground(calls)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(calls, &[CallId::from("c2"), CallId::from("c3")]);
}

#[test]
fn the_key_shows_the_background_when_nothing_can_be_moved() {
    let mut program = Harness::open(80, 24);
    program.press("ctrl+b");
    assert!(program.state.page.is_some());
    program.press("esc");
    program.prompt("read it");
    program.start_tool("c1", "Read", "src/app.py");
    program.press("ctrl+b");
    assert!(program.state.page.is_some());
}

#[test]
fn a_terminal_that_follows_moves_nothing() {
    let mut program = Harness::starting(80, 24);
    let opened = Opened { follows: Some("pid 7".to_owned()), ..Opened::default() };
    program.send(Event::Opened(Box::new(opened)));
    program.prompt("test it");
    start_command(&mut program, "c1");
    let effects = program.press("ctrl+b");
    assert!(!effects.iter().any(|it| matches!(it, Effect::MoveToBackground(_))), "{effects:?}");
}
