//! Shell commands of the user.

use robota_core::ids::CallId;

use crate::terminal::effect::Effect;
use crate::terminal::event::Event;
use crate::terminal::testing::Harness;

fn started() -> Harness {
    let mut program = Harness::open(80, 24);
    program.type_text("!make");
    let effects = program.press("enter");
    assert!(matches!(effects.as_slice(), [Effect::Shell(command)] if command == "make"));
    let (call, command) = (CallId::from("s1"), "make".to_owned());
    program.send(Event::ShellStarted { call, command });
    program
}

#[test]
fn a_shell_command_is_shown_while_it_runs() {
    let mut program = started();
    program.tool_output("s1", "compiling\n");
    program.wait(2_000);
    let shown = program.shown();
    assert!(shown.contains("• Running make") && shown.contains("  compiling"), "{shown}");
    assert!(shown.contains("running make 0:02"), "{shown}");
    assert!(program.state.next_change().is_some(), "its clock moves");
    program.send(Event::ShellEnded(CallId::from("s1")));
    assert!(!program.shown().contains("Running make"), "{}", program.shown());
    assert!(program.state.next_change().is_none());
}

#[test]
fn esc_and_ctrl_c_end_a_shell_command() {
    for key in ["esc", "ctrl+c"] {
        let mut program = started();
        let effects = program.press(key);
        assert!(matches!(effects.as_slice(), [Effect::StopShell]), "{key}: {effects:?}");
    }
}

#[test]
fn what_is_entered_while_a_shell_command_runs_waits_visibly() {
    let mut program = started();
    program.type_text("and now?");
    assert!(program.press("enter").is_empty());
    assert!(program.shown().contains("queued and now?"), "{}", program.shown());
    let effects = program.send(Event::ShellEnded(CallId::from("s1")));
    assert!(matches!(effects.as_slice(), [Effect::Enter(draft)] if draft.text == "and now?"));
}
