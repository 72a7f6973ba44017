//! Answers that are selected with arrow keys.

use robota_core::approve::Scope;
use robota_core::permission::Mode;

use super::decided;
use crate::terminal::effect::{Decided, Effect};
use crate::terminal::event::{Asked, Event, Preview, RuleMeaning, RuleTest};
use crate::terminal::testing::{Harness, command_question, edit_question};

/// Shows a question that takes answers.
fn asked(question: Asked) -> Harness {
    let mut program = Harness::open(80, 24);
    program.prompt("fix it");
    program.send(Event::Asked(Box::new(question)));
    program.wait(400);
    program
}

#[test]
fn arrows_select_an_answer_and_enter_confirms_it() {
    for (keys, expected) in [
        (&["down", "enter"][..], Decided::Allow(Scope::Once)),
        (&["right", "right", "enter"], Decided::Allow(Scope::Session)),
        (&["down", "down", "down", "enter"], Decided::Allow(Scope::Always)),
        (&["down", "down", "up", "enter"], Decided::Allow(Scope::Once)),
        (&["up", "left", "left", "enter"], Decided::Deny),
    ] {
        let mut program = asked(edit_question("c1"));
        let (last, before) = keys.split_last().unwrap();
        for key in before {
            assert!(program.press(key).is_empty(), "{key} of {keys:?}");
        }
        let effects = program.press(last);
        assert_eq!(decided(&effects), Some(("c1", &expected, None)), "{keys:?}");
    }
}

#[test]
fn arrows_reach_every_answer_and_stay_at_the_ends() {
    let mut program = asked(edit_question("c1"));
    for _ in 0..20 {
        assert!(program.press("right").is_empty());
    }
    assert!(
        matches!(program.press("enter").as_slice(), [Effect::Interrupt]),
        "the last one is Esc"
    );
    let mut program = asked(edit_question("c1"));
    for _ in 0..4 {
        program.press("down");
    }
    let effects = program.press("enter");
    assert!(matches!(effects.as_slice(), [Effect::TestRule { .. }]), "the editor of the rule");
}

#[test]
fn an_allowed_call_that_did_not_start_no_longer_asks() {
    let mut program = asked(command_question("c1", "make", &[]));
    program.send(Event::Asked(Box::new(command_question("c2", "make test", &[]))));
    program.press("y");
    assert!(program.shown().contains("• Allowed to run make"), "{}", program.shown());
    assert!(program.shown().contains("? Wants to run make test"), "{}", program.shown());
}

#[test]
fn enter_without_a_selection_answers_nothing() {
    let mut program = asked(edit_question("c1"));
    assert!(program.press("enter").is_empty());
    assert!(program.state.questions.shown().is_some());
    assert!(program.shown().contains("Enter confirms it"), "{}", program.shown());
}

#[test]
fn the_earlier_prompt_that_is_sent_again_allows_nothing() {
    // ↑ and Enter mean "send the last prompt again" in the composer.
    let mut program = asked(edit_question("c1"));
    program.press("up");
    let effects = program.press("enter");
    assert!(matches!(effects.as_slice(), [Effect::Interrupt]), "{effects:?}");
}

#[test]
fn arrows_that_are_typed_ahead_select_nothing() {
    let mut program = Harness::open(80, 24);
    program.prompt("fix it");
    program.send(Event::Asked(Box::new(edit_question("c1"))));
    program.press("down");
    assert_eq!(program.state.questions.form.selected, None);
    program.wait(400);
    assert!(program.press("enter").is_empty());
}

#[test]
fn arrows_do_not_scroll_and_other_keys_do() {
    let new: String = (1..=200).map(|line| format!("line {line}\n")).collect();
    let lines = crate::terminal::diff::between("", &new);
    let preview = Preview::Diff { path: "a.txt".to_owned(), lines };
    let mut program = asked(Asked { preview, ..edit_question("c1") });
    for key in ["s", "a", "e"] {
        assert!(program.press(key).is_empty(), "{key}: the end of the change was not seen");
    }
    program.wait(3_000);
    let top = program.shown();
    program.press("j");
    assert_ne!(program.shown(), top);
    program.press("k");
    assert_eq!(program.shown(), top);
    program.press("end");
    assert!(program.shown().contains("line 200"), "{}", program.shown());
    program.press("home");
    assert_eq!(program.shown(), top);
}

#[test]
fn a_rule_for_more_commands_than_this_one_needs_a_second_step() {
    for (key, scope) in [("s", Scope::Session), ("a", Scope::Always)] {
        let rule = "Bash(cargo test *)".to_owned();
        let mut program = asked(command_question("c1", "cargo test -p core", &[&rule]));
        let effects = program.press(key);
        let [Effect::TestRule { call, .. }] = effects.as_slice() else { panic!("{effects:?}") };
        assert!(program.press("enter").is_empty(), "not before it was tested");
        let meaning = RuleMeaning { covers: true, also: vec!["cargo test --release".to_owned()] };
        let (call, outcome) = (call.clone(), Ok(meaning));
        program.send(Event::RuleTested(RuleTest { call, rule: rule.clone(), outcome }));
        assert!(program.shown().contains("would also allow: cargo test --release"));
        let effects = program.press("enter");
        let expected = Decided::AllowRules(scope, vec![rule]);
        assert_eq!(decided(&effects), Some(("c1", &expected, None)));
    }
}

#[test]
fn plans_are_answered_with_arrows_too() {
    for (steps, mode) in [(1, Mode::Default), (2, Mode::AcceptEdits)] {
        let preview = Preview::Plan("Do it.".to_owned());
        let mut program = asked(Asked { preview, ..command_question("c1", "", &[]) });
        for _ in 0..steps {
            program.press("down");
        }
        assert_eq!(decided(&program.press("enter")), Some(("c1", &Decided::Plan(mode), None)));
    }
}
