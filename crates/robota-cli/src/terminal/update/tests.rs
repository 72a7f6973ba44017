//! Keys and events, and what they lead to.

mod agents_and_plans;
mod arrows;
mod background;
mod idle;
mod images;
mod shell;
mod status_line;

use robota_core::approve::Scope;
use robota_core::event::TurnEnd;
use robota_core::ids::{CallId, InputId};
use robota_sdk::{InteractiveEvent, ToolEnd};

use super::*;
use crate::terminal::effect::Decided;
use crate::terminal::event::{RuleMeaning, RuleTest};
use crate::terminal::testing::{Harness, command_question, edit_question, ended};

fn decided(effects: &[Effect]) -> Option<(&str, &Decided, Option<&str>)> {
    effects.iter().find_map(|effect| match effect {
        Effect::Decide { call, answer, note } => Some((call.as_str(), answer, note.as_deref())),
        _ => None,
    })
}

#[test]
fn a_prompt_is_sent_with_enter_and_shown_once_its_turn_begins() {
    let mut program = Harness::open(80, 24);
    program.type_text("fix it");
    let effects = program.press("enter");
    assert!(matches!(effects.as_slice(), [Effect::Enter(draft)] if draft.text == "fix it"));
    assert!(program.state.composer.is_empty());
    program.prompt("fix it");
    assert!(program.shown().starts_with("› fix it"), "{}", program.shown());
}

#[test]
fn what_is_typed_and_sent_during_the_start_is_kept() {
    let mut program = Harness::starting(80, 24);
    program.type_text("first");
    assert!(program.press("enter").is_empty());
    program.type_text("sec");
    let effects = program.send(Event::Opened(Box::default()));
    assert!(matches!(effects.as_slice(), [Effect::Enter(draft)] if draft.text == "first"));
    assert_eq!(program.state.composer.text(), "sec");
}

#[test]
fn the_first_prompt_of_an_agent_is_entered_unless_the_user_gave_one() {
    let opened = || {
        let first_prompt = Some("!ls and go".to_owned());
        Event::Opened(Box::new(Opened { first_prompt, ..Opened::default() }))
    };
    let mut program = Harness::starting(80, 24);
    let effects = program.send(opened());
    // The user has not typed it, so it is no command of the shell.
    assert!(matches!(effects.as_slice(), [Effect::Enter(draft)] if draft.text == "!ls and go"));
    let mut program = Harness::starting(80, 24);
    program.type_text("first");
    program.press("enter");
    let effects = program.send(opened());
    assert!(matches!(effects.as_slice(), [Effect::Enter(draft)] if draft.text == "first"));
}

#[test]
fn keys_typed_ahead_never_approve() {
    let mut program = Harness::open(80, 24);
    program.prompt("fix it");
    program.type_text("please sa");
    program.send(Event::Asked(Box::new(edit_question("c1"))));
    // The user continues to type a sentence that contains every answer.
    for letter in "y yes s a n".chars() {
        program.state.now += std::time::Duration::from_millis(120);
        let effects = program.type_text(&letter.to_string());
        assert!(decided(&effects).is_none(), "{letter}");
    }
    assert_eq!(program.state.composer.text(), "please say yes s a n");
    assert!(program.state.questions.shown().is_some());
    program.wait(299);
    assert!(program.type_text("y").is_empty());
    program.wait(301);
    let effects = program.type_text("y");
    assert_eq!(decided(&effects), Some(("c1", &Decided::Allow(Scope::Once), None)));
}

#[test]
fn each_answer_has_its_key() {
    for (key, expected) in [
        ("y", Decided::Allow(Scope::Once)),
        ("s", Decided::Allow(Scope::Session)),
        ("a", Decided::Allow(Scope::Always)),
        ("n", Decided::Deny),
    ] {
        let mut program = Harness::open(80, 24);
        program.prompt("fix it");
        program.send(Event::Asked(Box::new(edit_question("c1"))));
        program.wait(400);
        let effects = program.press(key);
        assert_eq!(decided(&effects), Some(("c1", &expected, None)), "{key}");
        assert!(program.state.questions.shown().is_none());
    }
}

#[test]
fn a_call_without_narrow_rules_can_only_be_allowed_once() {
    let mut program = Harness::open(80, 24);
    program.prompt("clean up");
    program.send(Event::Asked(Box::new(command_question("c1", "rm -rf build", &[]))));
    program.wait(400);
    assert!(!program.shown().contains("always"), "{}", program.shown());
    for key in ["a", "s", "e"] {
        assert!(program.press(key).is_empty(), "{key}");
    }
    assert!(program.state.questions.shown().is_some());
    assert!(decided(&program.press("y")).is_some());
}

#[test]
fn a_note_goes_with_the_answer() {
    let mut program = Harness::open(80, 24);
    program.prompt("fix it");
    program.send(Event::Asked(Box::new(edit_question("c1"))));
    program.wait(400);
    program.press("tab");
    program.type_text("not yet");
    assert!(program.press("enter").is_empty());
    assert!(program.shown().contains("note: not yet"), "{}", program.shown());
    let effects = program.press("n");
    assert_eq!(decided(&effects), Some(("c1", &Decided::Deny, Some("not yet"))));
}

#[test]
fn a_rule_is_edited_tested_and_only_then_saved() {
    let mut program = Harness::open(80, 24);
    program.prompt("run it");
    let asked = command_question("c1", "cargo test -p core", &["Bash(cargo test -p core)"]);
    program.send(Event::Asked(Box::new(asked)));
    program.wait(400);
    let effects = program.press("e");
    assert!(
        matches!(effects.as_slice(), [Effect::TestRule { rule, .. }] if rule == "Bash(cargo test -p core)")
    );
    for _ in 0.." -p core)".len() {
        program.press("backspace");
    }
    let effects = program.type_text(" *)");
    let Some(Effect::TestRule { rule, .. }) = effects.last() else { panic!("{effects:?}") };
    assert_eq!(rule, "Bash(cargo test *)");
    assert!(program.press("enter").is_empty(), "the rule is not tested yet");
    let meaning = RuleMeaning { covers: true, also: vec!["cargo test --help".to_owned()] };
    let outcome = Ok(meaning);
    let (call, rule) = (CallId::from("c1"), "Bash(cargo test *)".to_owned());
    program.send(Event::RuleTested(RuleTest { call, rule, outcome }));
    assert!(program.shown().contains("would also allow: cargo test --help"), "{}", program.shown());
    let effects = program.press("enter");
    let rules = vec!["Bash(cargo test *)".to_owned()];
    assert_eq!(decided(&effects), Some(("c1", &Decided::AllowRules(Scope::Always, rules), None)));
}

#[test]
fn several_questions_are_counted_and_each_has_its_quiet_time() {
    let mut program = Harness::open(80, 24);
    program.prompt("do three things");
    for call in ["c1", "c2", "c3"] {
        let asked = command_question(call, &format!("make {call}"), &["Bash(make c1)"]);
        program.send(Event::Asked(Box::new(asked)));
    }
    program.wait(400);
    assert!(program.shown().contains("question 1/3"), "{}", program.shown());
    assert!(decided(&program.press("y")).is_some());
    assert!(program.shown().contains("question 2/3"), "{}", program.shown());
    assert!(decided(&program.press("y")).is_none(), "the second question was not read yet");
    program.press("backspace");
    program.wait(400);
    assert_eq!(decided(&program.press("n")), Some(("c2", &Decided::Deny, None)));
    program.session(InteractiveEvent::ApprovalDecided { call: CallId::from("c3") });
    assert!(program.state.questions.shown().is_none(), "another client answered it");
}

#[test]
fn always_waits_until_the_whole_change_was_seen() {
    let mut program = Harness::open(80, 24);
    program.prompt("rewrite");
    let new: String = (1..=200).map(|line| format!("line {line}\n")).collect();
    let mut asked = edit_question("c1");
    let lines = crate::terminal::diff::between("", &new);
    asked.preview = crate::terminal::event::Preview::Diff { path: "a.txt".to_owned(), lines };
    program.send(Event::Asked(Box::new(asked)));
    program.wait(400);
    assert!(program.shown().contains("more changed lines ↓"), "{}", program.shown());
    assert!(program.press("a").is_empty());
    for _ in 0..40 {
        program.press("pagedown");
    }
    assert!(program.shown().contains("line 200"), "{}", program.shown());
    assert!(decided(&program.press("a")).is_some());
}

#[test]
fn esc_stops_the_turn_at_once() {
    let mut program = Harness::open(80, 24);
    program.prompt("work");
    program.text("Working");
    assert!(matches!(program.press("esc").as_slice(), [Effect::Interrupt]));
    assert!(program.shown().contains("stopping 0:00"), "{}", program.shown());
    program.end_turn(TurnEnd::Interrupted);
    assert!(program.shown().contains("Working"), "what was written stays");
    assert!(program.shown().contains("Stopped."), "{}", program.shown());
}

#[test]
fn esc_in_a_question_stops_the_turn() {
    let mut program = Harness::open(80, 24);
    program.prompt("work");
    program.send(Event::Asked(Box::new(edit_question("c1"))));
    program.wait(400);
    assert!(matches!(program.press("esc").as_slice(), [Effect::Interrupt]));
}

#[test]
fn ctrl_c_clears_and_twice_quits() {
    let mut program = Harness::open(80, 24);
    program.type_text("draft");
    assert!(program.press("ctrl+c").is_empty());
    assert!(program.state.composer.is_empty());
    assert!(program.shown().contains("press Ctrl+C again to quit"), "{}", program.shown());
    program.wait(2_001);
    assert!(!program.shown().contains("again"), "{}", program.shown());
    assert!(program.press("ctrl+c").is_empty(), "the first press was too long ago");
    assert!(matches!(program.press("ctrl+c").as_slice(), [Effect::Quit]));
    assert!(program.shown().contains("ending"), "{}", program.shown());
}

#[test]
fn another_key_between_two_ctrl_c_keeps_the_program() {
    let mut program = Harness::open(80, 24);
    program.press("ctrl+c");
    program.type_text("x");
    assert!(program.press("ctrl+c").is_empty());
}

#[test]
fn shift_tab_goes_through_ask_edits_and_plan_and_nothing_more_permissive() {
    let mut program = Harness::open(80, 24);
    let mut seen = Vec::new();
    for _ in 0..4 {
        let effects = program.press("shift+tab");
        let [Effect::SetMode(mode)] = effects.as_slice() else { panic!("{effects:?}") };
        seen.push(*mode);
        let mode = *mode;
        program.session(InteractiveEvent::ModeChanged { mode });
    }
    assert_eq!(seen, [Mode::AcceptEdits, Mode::Plan, Mode::Default, Mode::AcceptEdits]);
}

#[test]
fn prompts_sent_while_a_turn_runs_wait_visibly_and_up_edits_the_last() {
    let mut program = Harness::open(80, 24);
    program.prompt("first");
    for (input, text) in [("q1", "second"), ("q2", "third")] {
        let (input, text) = (InputId::from(input), text.to_owned());
        program.session(InteractiveEvent::PromptAccepted { input, text });
    }
    let shown = program.shown();
    assert!(shown.contains("queued second") && shown.contains("queued third"), "{shown}");
    let effects = program.press("up");
    assert!(matches!(effects.as_slice(), [Effect::CancelPrompt(input)] if input.as_str() == "q2"));
    assert_eq!(program.state.composer.text(), "third");
    let effects = program.press("ctrl+enter");
    assert!(matches!(effects.as_slice(), [Effect::EnterNow(draft)] if draft.text == "third"));
    let effects = program.press("ctrl+enter");
    assert!(matches!(effects.as_slice(), [Effect::StartNext]), "sends what waits: {effects:?}");
}

#[test]
fn a_prompt_that_waits_in_another_process_stays_in_the_list() {
    let mut program = Harness::open(80, 24);
    let (input, text) = (InputId::from("q1"), "second".to_owned());
    program.session(InteractiveEvent::PromptAccepted { input, text });
    program.state.phase = Phase::Following;
    assert!(program.press("up").is_empty());
    assert_eq!(program.state.queue.len(), 1);
    assert!(program.state.composer.is_empty());
    assert!(program.shown().contains("another process writes"), "{}", program.shown());
}

#[test]
fn prompts_that_are_cancelled_with_the_turn_are_in_the_composer_again() {
    let mut program = Harness::open(80, 24);
    program.prompt("first");
    for (input, text) in [("q1", "second"), ("q2", "third")] {
        let (input, text) = (InputId::from(input), text.to_owned());
        program.session(InteractiveEvent::PromptAccepted { input, text });
    }
    let effects = program.press("esc");
    assert!(matches!(effects.as_slice(), [Effect::Interrupt]), "{effects:?}");
    for input in ["q1", "q2"] {
        let input = InputId::from(input);
        program.session(InteractiveEvent::PromptCancelled { input, reason: None });
    }
    assert_eq!(program.state.composer.text(), "second\nthird");
    assert!(!program.shown().contains("queued"), "{}", program.shown());
}

#[test]
fn a_prompt_that_another_client_cancels_does_not_change_the_composer() {
    let mut program = Harness::open(80, 24);
    program.prompt("first");
    let (input, text) = (InputId::from("q1"), "second".to_owned());
    program.session(InteractiveEvent::PromptAccepted { input: input.clone(), text });
    program.session(InteractiveEvent::PromptCancelled { input, reason: None });
    assert!(program.state.composer.is_empty());
}

#[test]
fn a_shell_command_goes_through_the_session() {
    let mut program = Harness::open(80, 24);
    program.type_text("! ls -l");
    let effects = program.press("enter");
    assert!(matches!(effects.as_slice(), [Effect::Shell(command)] if command == "ls -l"));
}

#[test]
fn trust_is_asked_before_the_session_opens_and_type_ahead_does_not_answer() {
    let mut program = Harness::starting(80, 24);
    program.send(Event::TrustNeeded(vec!["settings.json: `hooks` = …".to_owned()]));
    assert!(program.type_text("t").is_empty());
    assert_eq!(program.state.composer.text(), "t");
    program.wait(400);
    assert!(matches!(program.type_text("t").as_slice(), [Effect::Trust(true)]));
    assert!(program.state.trust.is_none());
}

#[test]
fn a_follower_changes_nothing() {
    let mut program = Harness::starting(80, 24);
    let follows = Some("pid 42".to_owned());
    program.send(Event::Opened(Box::new(Opened { follows, ..Opened::default() })));
    program.type_text("hello");
    assert!(program.press("enter").is_empty());
    assert!(program.press("shift+tab").is_empty());
    program.wait(2_001);
    assert!(program.shown().contains("read-only, written by pid 42"), "{}", program.shown());
}

#[test]
fn nothing_ticks_while_nothing_moves() {
    let mut program = Harness::open(80, 24);
    assert_eq!(program.state.next_change(), None);
    program.prompt("work");
    let next = program.state.next_change().unwrap();
    assert_eq!(next.saturating_sub(program.state.now), std::time::Duration::from_secs(1));
    program.end_turn(TurnEnd::Complete);
    assert_eq!(program.state.next_change(), None);
}

#[test]
fn a_refused_call_says_so() {
    let mut program = Harness::open(80, 24);
    program.prompt("clean");
    program.send(Event::Asked(Box::new(command_question("c1", "make clean", &[]))));
    program.wait(400);
    program.press("n");
    program.end_tool(ended("c1", "Bash", "make clean", ToolEnd::Denied));
    assert!(program.shown().contains("✗ Refused make clean"), "{}", program.shown());
}

#[test]
fn help_opens_with_a_question_mark_in_an_empty_composer_only() {
    let mut program = Harness::open(80, 24);
    program.type_text("what?");
    assert!(program.state.page.is_none());
    program.press("ctrl+c");
    program.type_text("?");
    assert!(program.shown().starts_with("Keys"), "{}", program.shown());
    program.press("esc");
    assert!(program.state.page.is_none());
}

#[test]
fn a_waiting_prompt_is_moved_by_one_place_per_key() {
    let mut program = Harness::open(80, 24);
    program.prompt("first");
    for (input, text) in [("q1", "one"), ("q2", "two"), ("q3", "three")] {
        let (input, text) = (InputId::from(input), text.to_owned());
        program.send(Event::Session(InteractiveEvent::PromptAccepted { input, text }));
    }
    let order = |program: &Harness| {
        program.state.queue.iter().map(|queued| queued.text.clone()).collect::<Vec<_>>().join(" ")
    };
    let effects = program.press("alt+up");
    assert!(matches!(effects.as_slice(), [Effect::MovePrompt(input, 1)] if input.as_str() == "q3"));
    assert_eq!(order(&program), "one three two");
    // The same one is moved on, and stays at the front.
    let effects = program.press("alt+up");
    assert!(matches!(effects.as_slice(), [Effect::MovePrompt(input, 0)] if input.as_str() == "q3"));
    assert!(program.press("alt+up").is_empty());
    let effects = program.press("alt+down");
    assert!(matches!(effects.as_slice(), [Effect::MovePrompt(input, 1)] if input.as_str() == "q3"));
    assert_eq!(order(&program), "one three two");
    // After another key it is the last one again.
    program.type_text("x");
    let effects = program.press("alt+up");
    assert!(matches!(effects.as_slice(), [Effect::MovePrompt(input, 1)] if input.as_str() == "q2"));
}
