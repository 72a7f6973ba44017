//! Questions of subagents, and plans.

use robota_core::event::TurnEnd;
use robota_core::ids::CallId;
use robota_core::permission::Mode;
use robota_sdk::ToolEnd;

use crate::terminal::effect::{Decided, Effect};
use crate::terminal::event::{Asked, Event, Preview};
use crate::terminal::testing::{Harness, command_question, ended};

fn agent_question(call: &str, command: &str) -> Event {
    let agent = Some("reviewer (t1)".to_owned());
    Event::Asked(Box::new(Asked { agent, ..command_question(call, command, &[]) }))
}

#[test]
fn questions_of_agents_carry_their_name_also_in_the_counter() {
    let mut program = Harness::open(100, 24);
    program.prompt("review");
    program.send(Event::Asked(Box::new(command_question("c1", "make", &[]))));
    program.send(agent_question("c2", "cargo test"));
    program.wait(400);
    assert!(program.shown().contains("question 1/2, next: reviewer (t1)"), "{}", program.shown());
    program.press("y");
    let shown = program.shown();
    assert!(shown.contains("? reviewer (t1): Wants to run cargo test"), "{shown}");
    program.wait(400);
    let effects = program.press("y");
    assert!(matches!(effects.as_slice(), [Effect::Decide { call, .. }] if call.as_str() == "c2"));
    let shown = program.shown();
    assert!(
        shown.contains("reviewer (t1): Wants to run cargo test: you allowed it once"),
        "{shown}"
    );
}

#[test]
fn a_question_of_an_agent_survives_the_end_of_the_turn_and_holds_nothing_up() {
    let mut program = Harness::open(100, 24);
    program.prompt("review in the background");
    program.send(agent_question("c2", "cargo test"));
    program.text("It runs.");
    program.end_turn(TurnEnd::Complete);
    let shown = program.shown();
    assert!(shown.contains("It runs.") && shown.contains("Wants to run cargo test"), "{shown}");
    assert!(shown.contains("waiting for you"), "{shown}");
    program.wait(400);
    let effects = program.press("esc");
    assert!(
        matches!(effects.as_slice(), [Effect::Decide { answer: Decided::Deny, .. }]),
        "there is no turn to stop: {effects:?}"
    );
}

#[test]
fn a_withdrawn_question_disappears() {
    let mut program = Harness::open(100, 24);
    program.send(agent_question("c2", "cargo test"));
    program.send(Event::Withdrawn(CallId::from("c2")));
    assert!(!program.shown().contains("cargo test"), "{}", program.shown());
    assert!(program.shown().contains("ready"), "{}", program.shown());
}

fn plan_question(plan: &str) -> Event {
    Event::Asked(Box::new(Asked {
        call: CallId::from("p1"),
        tool: "ExitPlanMode".to_owned(),
        argument: "# Plan".to_owned(),
        reason: "the user approves the plan before plan mode ends".to_owned(),
        rules: Vec::new(),
        preview: Preview::Plan(plan.to_owned()),
        agent: None,
    }))
}

#[test]
fn a_plan_is_shown_whole_as_markdown_and_approved_with_a_mode() {
    for (key, mode) in [("y", Mode::Default), ("a", Mode::AcceptEdits)] {
        let mut program = Harness::open(100, 30);
        program.prompt("plan it");
        program.send(plan_question("# Steps\n\n1. **Read** the file\n2. Change it\n"));
        let shown = program.shown();
        assert!(shown.contains("Steps") && shown.contains("1. Read the file"), "{shown}");
        assert!(!shown.contains("**"), "it is rendered: {shown}");
        assert!(shown.contains("? Wants to carry out the plan"), "{shown}");
        assert!(program.press(key).is_empty(), "type-ahead approves nothing");
        program.press("backspace");
        program.wait(400);
        let effects = program.press(key);
        let [Effect::Decide { call, answer, note: None }] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        assert_eq!((call.as_str(), answer), ("p1", &Decided::Plan(mode)));
        program.end_tool(ended("p1", "ExitPlanMode", "# Plan", ToolEnd::Success));
        assert!(program.shown().contains("✓ Approved the plan"), "{}", program.shown());
    }
}

#[test]
fn a_plan_longer_than_the_terminal_is_in_the_scrollback_whole() {
    let mut program = Harness::open(60, 15);
    program.prompt("plan it");
    let plan: String = (1..=100).map(|step| format!("{step}. step {step}\n")).collect();
    program.send(plan_question(&plan));
    let written = String::from_utf8_lossy(&program.bytes).into_owned();
    for step in [1, 50, 100] {
        assert!(written.contains(&format!("step {step}")), "{step}");
    }
    assert!(program.shown().contains("100. step 100"), "{}", program.shown());
}

#[test]
fn planning_continues_with_a_note() {
    let mut program = Harness::open(100, 24);
    program.prompt("plan it");
    program.send(plan_question("Do it."));
    program.wait(400);
    assert!(program.press("n").is_empty());
    program.type_text("tests first");
    assert!(program.shown().contains("what to change: tests first"), "{}", program.shown());
    let effects = program.press("enter");
    let [Effect::Decide { answer: Decided::Deny, note: Some(note), .. }] = effects.as_slice()
    else {
        panic!("{effects:?}")
    };
    assert_eq!(note, "tests first");
}
