//! Compaction before a turn and between its rounds.

use serde_json::json;

use super::harness::{Run, Setup, TurnConfig, config, say};
use super::invariants::assert_ended;
use crate::compact::Compaction;
use crate::error::{ErrorData, ErrorKind};
use crate::event::{MessageInjected, TurnEnd};
use crate::ids::CountingIds;
use crate::message::Message;
use crate::permission::Verdict;
use crate::tool::ToolOutcome;
use crate::turn::Effect;

fn message(id: &str, text: String) -> Message {
    let mut message = Message::user(&CountingIds::default(), text);
    message.id = id.into();
    message
}

fn long_run(chars: usize, compact_at: Option<f64>) -> Run {
    let old = message("old", "x".repeat(chars));
    Run::begin(Setup {
        config: TurnConfig { context_window: 1000, compact_at, has_compactor: true, ..config() },
        before: vec![MessageInjected { message: old }.into()],
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
    run.effects.iter().filter(|effect| **effect == Effect::Compact).count()
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
    assert_eq!(compactions(&run), 1, "above the guard it is tried whatever the threshold says");
    run.compacted(Err(ErrorData::new(ErrorKind::Provider, "no")));
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::ContextFull);
    assert_eq!(run.model_calls(), 0);

    let mut run = long_run(8000, None);
    let summary = message("summary", "z".repeat(8000));
    run.compacted(Ok(Compaction { summary, keep_from: None }));
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::ContextFull);
    assert_eq!(compactions(&run), 1, "once, not for ever");
}

#[test]
fn core_10_without_a_compactor_or_a_threshold_nothing_is_compacted() {
    let run = Run::new(TurnConfig { compact_at: None, has_compactor: true, ..config() });
    assert_eq!(compactions(&run), 0);
    let run = Run::new(TurnConfig { compact_at: Some(0.0), has_compactor: false, ..config() });
    assert_eq!(compactions(&run), 0);
}
