//! When a call fails: how long to wait, and when to stop trying.

use std::time::Duration;

use serde_json::json;

use super::harness::{Run, TurnConfig, config};
use super::invariants::assert_ended;
use crate::error::ErrorKind;
use crate::event::{Event, TurnEnd};
use crate::message::{Cause, MessageState};
use crate::permission::Verdict;
use crate::provider::{FailureReason, ProviderError, RetryPolicy};
use crate::tool::ToolOutcome;
use crate::usage::Usage;

fn busy() -> ProviderError {
    ProviderError::new(ErrorKind::RateLimit, "slow down")
}

fn with(retry: RetryPolicy) -> Run {
    Run::new(TurnConfig { retry, ..config() })
}

#[test]
fn core_11_a_failed_stream_is_void_and_the_same_request_is_sent_again() {
    let mut run = Run::new(config());
    run.text("half an ans");
    run.fail_model(busy());
    assert!(run.kinds().contains(&"stream_reset".to_owned()));
    run.wait_over();
    run.answer("a whole answer");
    assert_ended(&run);
    assert_eq!(run.last_message().text(), "a whole answer");
    assert_eq!(run.report().rounds, 1);
    let attempts: Vec<_> = run
        .journal
        .iter()
        .filter_map(|line| match &line.event {
            Event::ModelRequested(data) => Some((data.round, data.attempt)),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [(1, 1), (1, 2)]);
}

#[test]
fn core_11_nothing_is_void_when_nothing_was_seen() {
    let mut run = Run::new(config());
    run.usage(1, 1);
    run.fail_model(busy());
    assert!(!run.kinds().contains(&"stream_reset".to_owned()));
}

#[test]
fn core_24_the_tokens_of_a_discarded_answer_count() {
    let mut run = Run::new(config());
    run.usage(100, 1);
    run.text("half");
    // Services report running totals.
    run.usage(100, 3);
    run.fail_model(busy());
    run.wait_over();
    // It fails before the service has counted anything.
    run.fail_model(busy());
    run.wait_over();
    run.usage(100, 9);
    run.answer("a whole answer");
    assert_ended(&run);
    let asked = run.journal.iter().filter_map(|line| match &line.event {
        Event::ModelAsked(data) => Some((data.usage, data.error.clone().unwrap().message)),
        _ => None,
    });
    let asked: Vec<_> = asked.collect();
    assert_eq!(asked, [(Some(Usage::new(100, 3)), "slow down".to_owned())]);
    assert_eq!(run.state.usage, Usage::new(200, 12));
    assert_eq!(run.report().usage, Usage::new(200, 12));
    assert_eq!(run.last_message().usage, Some(Usage::new(100, 9)), "its own tokens only");
}

#[test]
fn core_24_the_tokens_of_an_answer_that_was_refused_as_too_long_count() {
    let mut run = Run::new(TurnConfig { has_compactor: true, ..config() });
    run.usage(100, 0);
    let refused = ProviderError::new(ErrorKind::Validation, "prompt is too long");
    run.fail_model(refused.with_reason(FailureReason::ContextTooLong));
    assert_eq!(run.state.usage, Usage::new(100, 0));
}

#[test]
fn core_11_a_stream_that_fails_after_a_call_started_keeps_it_and_continues() {
    let mut run = Run::new(config());
    run.text("I look");
    run.calls(&["read", "edit"]);
    run.judge(Verdict::Allow);
    run.fail_model(busy());
    assert!(run.waits().is_none(), "first the calls");
    run.finish("read", ToolOutcome::ok("contents"));
    run.finish("edit", ToolOutcome::ok("edited"));
    assert!(run.waits().is_some());
    run.wait_over();
    let cut = run.messages()[1].clone();
    assert_eq!(cut.state(), MessageState::Interrupted(Cause::Provider));
    run.answer("done");
    assert_ended(&run);
    assert_eq!(run.report().rounds, 2);
    assert_eq!(run.ran(), ["read", "edit"], "once each");
}

#[test]
fn core_11_the_service_says_how_long_to_wait() {
    let mut run = Run::new(config());
    run.fail_model(busy().with_retry_after(Duration::from_secs(42)));
    assert_eq!(run.waits(), Some(Duration::from_secs(42)));

    let mut run = Run::new(config());
    run.call("call_0", "read", json!({}));
    run.judge(Verdict::Allow);
    run.fail_model(busy().with_retry_after(Duration::from_secs(42)));
    run.finish("read", ToolOutcome::ok("contents"));
    assert_eq!(run.waits(), Some(Duration::from_secs(42)), "also in a new round");
}

#[test]
fn core_11_a_retry_after_of_zero_does_not_flood_the_service() {
    let mut run = Run::new(config());
    run.fail_model(busy().with_retry_after(Duration::ZERO));
    assert!(run.waits().unwrap() >= Duration::from_millis(250));
}

#[test]
fn core_11_retries_can_be_limited_by_number() {
    let retry = RetryPolicy { max_retries: Some(2), ..RetryPolicy::default() };
    let mut run = with(retry);
    for _ in 0..2 {
        run.fail_model(busy());
        assert!(run.waits().is_some());
        run.wait_over();
    }
    run.fail_model(busy());
    assert_eq!(run.waits(), None);
}

#[test]
fn core_11_delays_double_up_to_the_cap() {
    let retry = RetryPolicy {
        budget: Duration::from_secs(3600),
        base: Duration::from_secs(1),
        cap: Duration::from_secs(8),
        ..RetryPolicy::default()
    };
    let mut run = with(retry);
    for full in [1, 2, 4, 8, 8, 8].map(Duration::from_secs) {
        run.fail_model(busy());
        let delay = run.waits().unwrap();
        assert!(delay >= full / 2 && delay <= full, "{delay:?} of {full:?}");
        run.wait_over();
    }
}

#[test]
fn core_11_the_budget_is_time_since_the_first_failure() {
    let retry = RetryPolicy { budget: Duration::from_secs(10), ..RetryPolicy::default() };
    let mut run = with(retry);
    run.elapsed = Duration::from_secs(1000);
    run.fail_model(busy().with_retry_after(Duration::from_secs(6)));
    run.wait_over();
    run.fail_model(busy().with_retry_after(Duration::from_secs(4)));
    run.wait_over();
    run.fail_model(busy().with_retry_after(Duration::from_millis(1)));
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::ProviderFailed);
    assert_eq!(run.model_calls(), 3);
}

#[test]
fn core_11_an_answer_begins_a_new_budget() {
    let retry = RetryPolicy { budget: Duration::from_secs(10), ..RetryPolicy::default() };
    let mut run = with(retry);
    for _ in 0..3 {
        run.fail_model(busy().with_retry_after(Duration::from_secs(9)));
        run.wait_over();
        run.calls(&["read"]);
        run.judge(Verdict::Allow);
        run.end();
        run.finish("read", ToolOutcome::ok("contents"));
    }
    assert!(run.model().is_some());
}

#[test]
fn core_11_absurd_delays_end_the_turn_and_nothing_overflows() {
    for delay in [Duration::MAX, Duration::from_secs(u64::MAX / 1000)] {
        let mut run = Run::new(config());
        run.elapsed = Duration::from_secs(5);
        run.fail_model(busy().with_retry_after(delay));
        assert_eq!(run.report().end, TurnEnd::ProviderFailed);
    }
}

#[test]
fn core_11_never_is_never() {
    for error in [busy(), busy().with_retry_after(Duration::ZERO)] {
        let mut run = with(RetryPolicy::never());
        run.fail_model(error);
        assert_eq!(run.report().end, TurnEnd::ProviderFailed);
        assert_eq!(run.model_calls(), 1);
    }
}
