//! CORE-12: a turn can be stopped in every phase, and nothing that happened is lost.

use std::time::Duration;

use serde_json::json;

use super::harness::{INPUT, Run, TurnConfig, config};
use super::invariants::assert_ended;
use crate::error::ErrorKind;
use crate::event::TurnEnd;
use crate::hook::HookPoint;
use crate::message::{Cause, MessageState};
use crate::permission::Verdict;
use crate::provider::ProviderError;
use crate::tool::ToolOutcome;
use crate::turn::{Effect, HookPoints, INTERRUPTED_TOOL, Input, Target};

fn interrupted(run: &Run) {
    assert_ended(run);
    assert_eq!(run.report().end, TurnEnd::Interrupted);
    assert!(run.report().interrupted());
    assert_eq!(run.report().error, None);
    assert_eq!(run.kinds().iter().filter(|kind| *kind == "interrupted").count(), 1);
}

fn with_hooks(points: &[HookPoint]) -> TurnConfig {
    TurnConfig { hooks: HookPoints::new(points.iter().copied()), ..config() }
}

#[test]
fn core_12_abort_while_streaming_commits_partial_text() {
    let mut run = Run::new(config());
    run.text("half an ans");
    run.usage(5, 1);
    run.abort();
    interrupted(&run);
    let message = run.last_message();
    assert_eq!(message.text(), "half an ans");
    assert_eq!(message.state(), MessageState::Interrupted(Cause::User));
    assert_eq!(run.report().text, "half an ans");
    assert!(run.effects.contains(&Effect::Cancel(Target::Model)));
}

#[test]
fn core_12_abort_before_the_first_chunk_commits_an_empty_answer() {
    let mut run = Run::new(config());
    run.abort();
    interrupted(&run);
    assert!(run.last_message().content.is_empty());
    assert_eq!(run.last_message().state(), MessageState::Interrupted(Cause::User));
}

#[test]
fn core_12_abort_while_streaming_calls_keeps_the_complete_ones() {
    let mut run = Run::new(config());
    run.calls(&["read", "edit"]);
    run.judge(Verdict::Allow);
    assert_eq!(run.running(), ["read"], "a look may begin before the answer ends");
    run.abort();
    assert!(run.report.is_none(), "a running call is waited for");
    run.finish("read", ToolOutcome::ok("contents"));
    interrupted(&run);
    let expected = [("read", "contents"), ("edit", INTERRUPTED_TOOL)];
    assert_eq!(run.results(), expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    assert_eq!(run.report().tools_executed, 1);
}

#[test]
fn core_12_finished_calls_keep_results_and_queued_ones_say_interrupted() {
    let mut run = Run::new(config());
    run.calls(&["read", "edit", "bash", "grep"]);
    run.judge(Verdict::Allow);
    run.end();
    run.finish("read", ToolOutcome::ok("contents"));
    assert_eq!(run.running(), ["edit"]);
    run.abort();
    run.abort();
    run.finish("edit", ToolOutcome::failed("cancelled", "stopped half-way"));
    interrupted(&run);
    let results: Vec<_> = run.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(results, ["contents", "stopped half-way", INTERRUPTED_TOOL, INTERRUPTED_TOOL]);
    assert_eq!(INTERRUPTED_TOOL, "Execution interrupted by user");
    assert_eq!(run.ran(), ["read", "edit"]);
    assert_eq!(run.model_calls(), 1);
}

#[test]
fn core_12_abort_while_a_user_is_asked_withdraws_the_question() {
    let mut run = Run::new(config());
    run.calls(&["edit"]);
    run.judge(Verdict::Ask);
    run.end();
    run.abort();
    interrupted(&run);
    assert!(run.effects.iter().any(|effect| matches!(effect, Effect::Cancel(Target::Question(_)))));
    assert_eq!(run.ran(), Vec::<String>::new());
    assert_eq!(run.results()[0].1, INTERRUPTED_TOOL);
}

#[test]
fn core_12_abort_before_the_judgement_runs_nothing_afterwards() {
    let mut run = Run::new(config());
    run.calls(&["read"]);
    run.end();
    run.abort();
    interrupted(&run);
    run.judge(Verdict::Allow);
    assert_eq!(run.ran(), Vec::<String>::new());
}

#[test]
fn core_12_abort_in_a_prompt_hook_cancels_the_input() {
    let mut run = Run::new(with_hooks(&[HookPoint::UserPromptSubmit]));
    assert!(run.state.inputs.contains_key(&crate::ids::InputId::from(INPUT)));
    run.abort();
    interrupted(&run);
    assert!(run.effects.contains(&Effect::Cancel(Target::Hook(None))));
    assert!(run.kinds().contains(&"input_cancelled".to_owned()));
    assert!(run.state.inputs.is_empty() && run.messages().is_empty());
}

#[test]
fn core_12_abort_in_a_tool_hook_seals_the_call() {
    let mut run = Run::new(with_hooks(&[HookPoint::PreToolUse]));
    run.calls(&["edit"]);
    run.judge(Verdict::Allow);
    run.end();
    run.abort();
    interrupted(&run);
    assert_eq!(run.results()[0].1, INTERRUPTED_TOOL);

    let mut run = Run::new(with_hooks(&[HookPoint::PostToolUse]));
    run.calls(&["edit"]);
    run.judge(Verdict::Allow);
    run.end();
    run.finish("edit", ToolOutcome::ok("secret"));
    run.abort();
    interrupted(&run);
    assert!(run.results()[0].1.contains("withheld"), "{:?}", run.results());
    assert_eq!(run.report().tools_executed, 1);
}

#[test]
fn core_12_abort_in_the_stop_hook_keeps_the_answer() {
    let mut run = Run::new(with_hooks(&[HookPoint::Stop]));
    run.answer("done");
    run.abort();
    interrupted(&run);
    assert_eq!(run.last_message().text(), "done");
    assert_eq!(run.last_message().state(), MessageState::Complete);
}

#[test]
fn core_12_abort_while_compacting_leaves_the_conversation() {
    let mut run = Run::new(TurnConfig { context_window: 10, has_compactor: true, ..config() });
    run.abort();
    interrupted(&run);
    assert!(run.effects.contains(&Effect::Cancel(Target::Compaction)));
    assert_eq!(run.messages().len(), 1);
}

#[test]
fn core_12_abort_while_waiting_for_a_retry_ends_immediately() {
    let mut run = Run::new(config());
    run.fail_model(ProviderError::new(ErrorKind::RateLimit, "slow down"));
    assert!(run.waits().is_some());
    run.abort();
    interrupted(&run);
    assert!(run.effects.contains(&Effect::Cancel(Target::Wait)));
}

#[test]
fn core_12_abort_while_a_new_round_waits_adds_no_second_answer() {
    let mut run = Run::new(config());
    run.text("I look");
    run.calls(&["read"]);
    run.judge(Verdict::Allow);
    let slow = ProviderError::new(ErrorKind::RateLimit, "slow down");
    run.fail_model(slow.with_retry_after(Duration::from_secs(9)));
    run.finish("read", ToolOutcome::ok("contents"));
    assert_eq!(run.waits(), Some(Duration::from_secs(9)));
    run.abort();
    interrupted(&run);
    assert_eq!(run.messages().len(), 3, "user, answer, results");
    assert_eq!(run.report().text, "I look");
}

#[test]
fn core_12_abort_cancels_what_was_sent_and_not_delivered() {
    let mut run = Run::new(config());
    run.send("input-2", "and this");
    run.abort();
    interrupted(&run);
    assert!(run.state.inputs.is_empty());
    assert_eq!(run.kinds().iter().filter(|kind| *kind == "input_cancelled").count(), 1);
}

#[test]
fn core_12_a_shutdown_does_not_mention_the_user() {
    let mut run = Run::new(config());
    run.call("call_0", "edit", json!({}));
    run.feed(Input::Abort {
        cause: Cause::Shutdown,
        note: Some("SIGTERM".to_owned()),
        keep_inputs: false,
    });
    interrupted(&run);
    assert!(!run.results()[0].1.contains("by user"));
    let cut = run.messages()[1].clone();
    assert_eq!(cut.state(), MessageState::Interrupted(Cause::Shutdown));
}
