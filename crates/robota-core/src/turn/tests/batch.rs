//! The PostToolBatch hooks: once per answer, after all calls and before the model is called again.

use super::harness::{Job, Run, TurnConfig, config, judgement};
use super::invariants::assert_ended;
use crate::event::{Event, TurnEnd};
use crate::hook::{BatchDecision, HookAnswer, HookInput, HookPoint, HookReply, PostToolDecision};
use crate::permission::Verdict;
use crate::tool::ToolOutcome;
use crate::turn::{HookPoints, JudgeResult};

/// Creates a run whose two calls have ended; the first was denied.
fn after_calls(hooks: &[HookPoint]) -> Run {
    let hooks = HookPoints::new(hooks.iter().copied());
    let mut run = Run::new(TurnConfig { hooks, ..config() });
    run.calls(&["bash", "read"]);
    run.judge_with(|tool_use| {
        let verdict = if tool_use.name == "bash" { Verdict::Deny } else { Verdict::Allow };
        JudgeResult::Judgement(judgement(verdict, &tool_use.name))
    });
    run.end();
    run.finish("read", ToolOutcome::ok("text"));
    run
}

fn go_on(context: Option<&str>) -> HookAnswer {
    let context = context.map(str::to_owned);
    HookAnswer::PostToolBatch(BatchDecision::Continue { context })
}

fn stop(reason: &str) -> HookAnswer {
    HookAnswer::PostToolBatch(BatchDecision::Stop { reason: reason.to_owned() })
}

#[test]
fn core_22_a_batch_hook_sees_all_calls_before_the_model_gets_the_results() {
    let mut run = after_calls(&[HookPoint::PostToolBatch]);
    let HookInput::PostToolBatch { calls } = run.hook() else { panic!("another hook") };
    let seen: Vec<_> =
        calls.iter().map(|call| (call.tool_use.name.as_str(), call.outcome.ok)).collect();
    assert_eq!(seen, [("bash", false), ("read", true)]);
    assert!(run.results().is_empty() && run.model().is_none(), "the results wait for the hook");
    run.hooked(go_on(Some("mind the branch")));
    assert_eq!(run.results()[1].1, "textmind the branch");
    assert!(!run.results()[0].1.contains("branch"), "{:?}", run.results());
    assert!(run.model().is_some(), "the next round");
}

#[test]
fn core_22_a_batch_hook_stops_the_turn_with_all_results() {
    let answers = [stop("enough"), HookAnswer::PostToolUse(PostToolDecision::Continue)];
    for answer in answers {
        let mut run = after_calls(&[HookPoint::PostToolBatch]);
        run.hooked(answer.clone());
        assert_ended(&run);
        assert_eq!(run.report().end, TurnEnd::Stopped, "{answer:?}");
        let expected = match answer {
            HookAnswer::PostToolBatch(_) => "Stopped by hook: enough",
            _ => "Stopped by hook: the PostToolBatch hook answered for another point",
        };
        assert_eq!(run.report().text, expected);
        assert_eq!(run.results()[1].1, "text");
        let stopped = run.journal.iter().find_map(|line| match &line.event {
            Event::HookFinished(data) => Some((data.decision.clone(), data.stop.is_some())),
            _ => None,
        });
        assert_eq!(stopped, Some(("block".to_owned(), true)));
    }
}

#[test]
fn core_22_an_interrupt_cancels_a_batch_hook_and_keeps_the_results() {
    let mut run = after_calls(&[HookPoint::PostToolBatch]);
    run.abort();
    assert_ended(&run);
    assert!(run.jobs.is_empty(), "{:?}", run.jobs);
    assert_eq!(run.report().end, TurnEnd::Interrupted);
    assert_eq!(run.results()[1].1, "text");
    let cancelled = run.journal.iter().any(
        |line| matches!(&line.event, Event::HookFinished(data) if data.decision == "cancelled"),
    );
    assert!(cancelled, "{:?}", run.kinds());
}

#[test]
fn core_22_a_turn_that_another_hook_stops_has_no_batch_hook() {
    let mut run = after_calls(&[HookPoint::PostToolUse, HookPoint::PostToolBatch]);
    let answer = HookAnswer::PostToolUse(PostToolDecision::Continue);
    let reply = HookReply { stop: Some("enough".to_owned()), ..answer.into() };
    run.hook_replied(reply);
    assert_ended(&run);
    assert!(!run.jobs.iter().any(|job| matches!(job, Job::Hook(_))));
    assert_eq!(run.report().end, TurnEnd::Stopped);
}
