//! How the stop reason of an answer decides what follows.

use serde_json::json;

use super::harness::{Run, TurnConfig, config};
use super::invariants::assert_ended;
use crate::event::{Event, TurnEnd, TurnFinished, TurnStatus};
use crate::message::Message;
use crate::permission::Verdict;
use crate::provider::{Delta, StopReason};

fn stop(run: &mut Run, text: &str, reason: StopReason) {
    run.text(text);
    run.delta(Delta::End(reason));
}

fn finished(run: &Run) -> TurnFinished {
    let events = run.journal.iter().map(|line| line.event.clone());
    events
        .filter_map(|event| match event {
            Event::TurnFinished(data) => Some(data),
            _ => None,
        })
        .next_back()
        .unwrap()
}

#[test]
fn core_08_a_cut_answer_is_continued_and_its_text_joined() {
    let mut run = Run::new(config());
    stop(&mut run, "first ", StopReason::MaxTokens);
    let call = run.model().unwrap().clone();
    assert!(call.instruction.unwrap().contains("cut off"));
    run.answer("second");
    assert_ended(&run);
    assert_eq!(run.report().text, "first second");
    assert_eq!(run.report().status(), TurnStatus::Done);
    assert_eq!(finished(&run).stop, None);
    let texts: Vec<_> = run.messages().iter().map(Message::text).collect();
    assert_eq!(texts, ["hello", "first ", "second"], "the instruction is not in the conversation");
    let continues: Vec<_> = run
        .journal
        .iter()
        .filter_map(|line| match &line.event {
            Event::ModelRequested(data) => Some(data.continues),
            _ => None,
        })
        .collect();
    assert_eq!(continues, [false, true]);
}

#[test]
fn core_08_an_answer_that_stays_cut_ends_as_a_limit() {
    for reason in [StopReason::MaxTokens, StopReason::WindowFull] {
        let mut run = Run::new(TurnConfig { max_continues: 2, ..config() });
        for text in ["a", "b", "c"] {
            stop(&mut run, text, reason.clone());
        }
        assert_ended(&run);
        assert_eq!(run.report().text, "abc");
        assert_eq!(run.report().end, TurnEnd::Complete);
        assert_eq!(run.report().status(), TurnStatus::Limit);
        assert_eq!(finished(&run).stop, Some(reason));
    }
}

#[test]
fn core_08_a_limit_that_left_no_text_is_not_continued() {
    let mut run = Run::new(config());
    run.delta(Delta::Thinking("hm".to_owned()));
    run.delta(Delta::End(StopReason::MaxTokens));
    assert_ended(&run);
    assert_eq!(run.model_calls(), 1);
    assert_eq!(run.report().status(), TurnStatus::Limit);
}

#[test]
fn core_08_refused_and_filtered_answers_are_ends_of_their_own() {
    for reason in [StopReason::Refusal, StopReason::Filtered] {
        let mut run = Run::new(config());
        stop(&mut run, "half of it", reason.clone());
        assert_ended(&run);
        assert_eq!(run.report().status(), TurnStatus::Refused);
        assert_eq!(finished(&run).stop, Some(reason));
        let message = run.last_message();
        assert_eq!(message.text(), "half of it", "users see what arrived");
        assert!(!message.for_api().text().contains("half of it"), "models do not");
    }
}

#[test]
fn core_08_the_calls_of_a_refused_answer_do_not_run() {
    let mut run = Run::new(config());
    run.call("call_0", "edit", json!({"path": "a"}));
    run.judge(Verdict::Allow);
    run.delta(Delta::End(StopReason::Refusal));
    assert_eq!(run.ran(), Vec::<String>::new());
    assert!(run.results()[0].1.contains("not executed"));
    assert_ended(&run);
    assert_eq!(run.report().status(), TurnStatus::Refused, "the model is not asked again");
}

#[test]
fn core_08_a_call_whose_arguments_were_cut_off_does_not_run() {
    let mut run = Run::new(config());
    run.call("call_0", "edit", json!({"path": "a"}));
    run.call("call_1", "bash", json!({}));
    run.judge(Verdict::Allow);
    run.judge(Verdict::Allow);
    run.delta(Delta::End(StopReason::MaxTokens));
    run.finish("edit", crate::tool::ToolOutcome::ok("edited"));
    assert_eq!(run.ran(), ["edit"]);
    run.answer("done");
    assert_ended(&run);
    assert!(run.results()[1].1.contains("output limit"), "{:?}", run.results());
}

#[test]
fn core_08_an_answer_that_is_paused_for_ever_ends_as_a_limit() {
    let mut run = Run::new(TurnConfig { max_rounds: 0, ..config() });
    for _ in 0..17 {
        assert!(run.report.is_none());
        stop(&mut run, "x", StopReason::Pause);
    }
    assert_ended(&run);
    assert_eq!(run.report().text, "x".repeat(17));
    assert_eq!(run.report().status(), TurnStatus::Limit);
}

#[test]
fn core_08_the_round_limit_counts_continued_answers() {
    let mut run = Run::new(TurnConfig { max_rounds: 1, ..config() });
    stop(&mut run, "half", StopReason::MaxTokens);
    assert_ended(&run);
    assert_eq!((run.report().text.as_str(), run.model_calls()), ("half", 1));
    assert_eq!(run.report().status(), TurnStatus::Limit);
}

/// The limit is one of each answer: the answers between the tool calls of a long turn do not use it up
/// for the last one.
#[test]
fn core_08_each_answer_of_a_turn_is_continued() {
    for reason in [StopReason::MaxTokens, StopReason::Pause] {
        let mut run = Run::new(TurnConfig { max_rounds: 0, max_continues: 1, ..config() });
        for number in 0..20 {
            stop(&mut run, "I look ", reason.clone());
            run.call(&format!("call_{number}"), "edit", json!({"path": "a", "number": number}));
            run.judge(Verdict::Allow);
            run.delta(Delta::End(StopReason::ToolUse));
            run.finish("edit", crate::tool::ToolOutcome::ok("edited"));
        }
        stop(&mut run, "first ", reason);
        run.answer("second");
        assert_ended(&run);
        assert_eq!(run.report().text, "first second");
        assert_eq!(run.report().status(), TurnStatus::Done);
    }
}
