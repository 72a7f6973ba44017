//! The notification of hooks that the session waits for the user.

use std::time::Duration;

use robota_sdk::ExecutionResult;

use super::*;
use crate::terminal::event::Opened;
use crate::terminal::testing::opened;

/// A session whose first turn has ended.
fn waiting() -> Harness {
    let mut program = Harness::starting(80, 24);
    let idle_after = Some(Duration::from_secs(60));
    program.send(Event::Opened(Box::new(Opened { idle_after, ..opened() })));
    assert_eq!(program.state.next_change(), None, "no turn has ended yet");
    program.prompt("fix it");
    end(&mut program);
    program
}

fn end(program: &mut Harness) {
    let result = Box::new(ExecutionResult::new(TurnEnd::Complete));
    program.send(Event::Session(InteractiveEvent::Complete(result)));
}

/// Lets time pass, and returns whether hooks are notified.
fn notified(program: &mut Harness, seconds: u64) -> bool {
    program.state.now += Duration::from_secs(seconds);
    let effects = program.send(Event::Clock);
    effects.iter().any(|effect| matches!(effect, Effect::NotifyIdle))
}

#[test]
fn hooks_are_notified_once_when_the_user_does_not_come_back() {
    let mut program = waiting();
    let at = program.state.now + Duration::from_secs(60);
    assert_eq!(program.state.next_change(), Some(at));
    assert!(!notified(&mut program, 59));
    assert!(notified(&mut program, 1));
    assert!(!notified(&mut program, 120), "once for a turn");
    program.prompt("again");
    assert!(!notified(&mut program, 120), "a turn runs");
    end(&mut program);
    assert!(notified(&mut program, 60));
}

#[test]
fn hooks_are_not_notified_of_a_user_who_types() {
    let mut program = waiting();
    program.type_text("n");
    assert!(!notified(&mut program, 120));
}

#[test]
fn hooks_are_not_notified_while_a_prompt_waits() {
    let mut program = waiting();
    program.prompt("first");
    let (input, text) = (InputId::from("i2"), "second".to_owned());
    program.send(Event::Session(InteractiveEvent::PromptAccepted { input, text }));
    end(&mut program);
    assert!(!notified(&mut program, 120));
}
