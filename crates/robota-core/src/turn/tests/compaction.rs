//! Compaction before a turn and between its rounds.

use serde_json::json;

use super::harness::{Job, Run, Setup, TurnConfig, config, say};
use super::invariants::assert_ended;
use crate::catalogue::Catalogue;
use crate::compact::Compaction;
use crate::error::{ErrorData, ErrorKind};
use crate::event::{MessageInjected, TurnEnd};
use crate::ids::CountingIds;
use crate::message::Message;
use crate::permission::Verdict;
use crate::provider::{FailureReason, ModelLimits, ProviderError};
use crate::state::State;
use crate::tool::ToolOutcome;
use crate::turn::{CAREFUL_MAX_OUTPUT, Effect, Input, TurnRules};

fn message(id: &str, text: String) -> Message {
    let mut message = Message::user(&CountingIds::default(), text);
    message.id = id.into();
    message
}

fn long_run(chars: usize, compact_at: Option<f64>) -> Run {
    let old = message("old", "x".repeat(chars));
    Run::begin(Setup {
        config: TurnConfig { context_window: 1000, compact_at, has_compactor: true, ..config() },
        before: vec![MessageInjected { message: old.into() }.into()],
        input: say("hello"),
        fail_at: None,
        reload: true,
    })
}

fn summary(run: &Run) -> Compaction {
    let keep_from = run.messages().last().map(|message| message.id.clone());
    Compaction { summary: message("summary", "in short".to_owned()), keep_from }
}

fn compactions(run: &Run) -> usize {
    run.effects.iter().filter(|effect| matches!(effect, Effect::Compact(_))).count()
}

#[test]
fn core_10_a_full_conversation_is_compacted_before_the_first_call() {
    let mut run = long_run(3600, Some(0.835));
    assert!(run.model().is_none());
    let compacted = summary(&run);
    run.compacted(Ok(compacted));
    let texts: Vec<_> = run.messages().iter().map(Message::text).collect();
    assert_eq!(texts, ["in short", "hello"]);
    assert!(run.model().is_some());
    let kinds = run.kinds();
    let at = kinds.iter().position(|kind| kind == "compaction_finished").unwrap();
    assert_eq!(kinds[at + 1], "prefix_changed");
    run.answer("done");
    assert_ended(&run);
}

#[test]
fn core_10_a_conversation_is_compacted_between_rounds() {
    let mut run = long_run(100, Some(0.5));
    run.call("call_0", "read", json!({}));
    run.judge(Verdict::Allow);
    run.end();
    run.finish("read", ToolOutcome::ok("y".repeat(2000)));
    assert_eq!(compactions(&run), 1);
    let summary = message("summary", "in short".to_owned());
    run.compacted(Ok(Compaction { summary, keep_from: None }));
    assert_eq!(run.messages().len(), 1);
    run.answer("done");
    assert_ended(&run);
}

#[test]
fn core_10_after_a_failed_compaction_below_the_guard_the_turn_continues() {
    let mut run = long_run(3500, Some(0.5));
    run.compacted(Err(ErrorData::new(ErrorKind::Provider, "no")));
    assert!(run.model().is_some(), "{:?}", run.jobs);
    assert_eq!(run.messages().len(), 2);
}

#[test]
fn core_10_the_guard_stops_only_after_a_compaction_did_not_help() {
    let mut run = long_run(8000, None);
    assert_eq!(compactions(&run), 1, "above the guard it is tried, also below the threshold");
    run.compacted(Err(ErrorData::new(ErrorKind::Provider, "no")));
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::ContextFull);
    assert_eq!(run.model_calls(), 0);

    let mut run = long_run(8000, None);
    let summary = message("summary", "z".repeat(8000));
    run.compacted(Ok(Compaction { summary, keep_from: None }));
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::ContextFull);
    assert_eq!(compactions(&run), 1, "only once");
}

#[test]
fn core_10_without_a_compactor_or_a_threshold_nothing_is_compacted() {
    let run = Run::new(TurnConfig { compact_at: None, has_compactor: true, ..config() });
    assert_eq!(compactions(&run), 0);
    let run = Run::new(TurnConfig { compact_at: Some(0.0), has_compactor: false, ..config() });
    assert_eq!(compactions(&run), 0);
}

fn too_long(window: Option<u64>) -> ProviderError {
    ProviderError::new(ErrorKind::Validation, "prompt is too long")
        .with_reason(FailureReason::ContextTooLong)
        .with_context_window(window)
}

#[test]
fn core_10_a_conversation_that_the_service_refuses_is_compacted_and_sent_once_more() {
    let mut run = long_run(3000, None);
    assert_eq!(compactions(&run), 0);
    run.fail_model(too_long(Some(500)));
    assert_eq!(compactions(&run), 1);
    let compacted = summary(&run);
    run.compacted(Ok(compacted));
    let call = run.model().unwrap().clone();
    assert_eq!((call.round, call.attempt), (1, 2), "the same round");
    assert!(call.max_output <= 250, "the window that the service named: {}", call.max_output);
    run.answer("done");
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::Complete);
    assert_eq!(run.turn.rules().context_window, 500);
}

#[test]
fn core_10_a_second_refusal_is_final() {
    let mut run = long_run(3000, None);
    run.fail_model(too_long(None));
    let compacted = summary(&run);
    run.compacted(Ok(compacted));
    run.fail_model(too_long(None));
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::ProviderFailed);
    assert_eq!(compactions(&run), 1);
}

#[test]
fn core_10_a_refused_conversation_that_cannot_be_compacted_ends_the_turn() {
    let mut run = long_run(3000, None);
    run.fail_model(too_long(None));
    run.compacted(Err(ErrorData::new(ErrorKind::Provider, "no")));
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::ContextFull);
}

#[test]
fn core_10_the_service_is_asked_for_the_limits_when_the_conversation_gets_long() {
    let old = message("old", "x".repeat(100_000));
    let mut run = Run::begin(Setup {
        config: TurnConfig { assumed_limits: true, has_compactor: true, ..config() },
        before: vec![MessageInjected { message: old.into() }.into()],
        input: say("hello"),
        fail_at: None,
        reload: true,
    });
    assert_eq!(run.jobs, [Job::Limits]);
    let limits = ModelLimits { context_window: Some(26_000), max_output: Some(26_000) };
    run.feed(Input::LimitsFound(Some(limits)));
    assert_eq!(compactions(&run), 1, "above the threshold of the real window");
    let compacted = summary(&run);
    run.compacted(Ok(compacted));
    assert!(run.model().unwrap().max_output <= 13_000, "never the whole window");
    run.answer("done");
    assert_ended(&run);

    let run = Run::new(TurnConfig { assumed_limits: true, ..config() });
    assert!(run.model().is_some(), "a short conversation fits into any window");
}

#[test]
fn core_10_an_answer_never_gets_the_whole_window() {
    for model in Catalogue::builtin().models() {
        let rules = TurnRules::of_model(model.id.as_str());
        let limit = rules.output_limit(&State::default().context(rules.context_window));
        assert!(limit <= rules.context_window / 2, "{}: {limit}", model.id);
        assert!(rules.short_request_output() <= rules.context_window / 2, "{}", model.id);
    }
    // Servers refuse a limit above their own, so a model that is not known gets a low one.
    let rules = TurnRules::of_model("house-model");
    let limit = rules.output_limit(&State::default().context(rules.context_window));
    assert_eq!(limit, CAREFUL_MAX_OUTPUT);
}
