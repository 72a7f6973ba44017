//! CORE-15: which calls may overlap, and in which order the model gets the results.

use serde_json::json;

use super::harness::{Run, TurnConfig, config};
use super::invariants::assert_ended;
use crate::event::Event;
use crate::permission::Verdict;
use crate::tool::ToolOutcome;
use crate::turn::ToolConcurrency;

fn run_of(concurrency: ToolConcurrency, names: &[&str]) -> Run {
    let mut run = Run::new(TurnConfig { concurrency, ..config() });
    run.calls(names);
    run.judge(Verdict::Allow);
    run.end();
    run
}

#[test]
fn core_15_read_only_calls_overlap_and_results_keep_the_order_of_the_calls() {
    let mut run = run_of(ToolConcurrency::Parallel { max: None }, &["read", "grep", "read"]);
    assert_eq!(run.running(), ["read", "grep", "read"]);
    run.finish("grep", ToolOutcome::ok("second"));
    run.finish("read", ToolOutcome::failed("io", "first"));
    run.finish("read", ToolOutcome::ok("third"));
    let texts: Vec<_> = run.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["first", "second", "third"]);
    let finished: Vec<_> = run
        .journal
        .iter()
        .filter_map(|line| match &line.event {
            Event::ToolFinished(data) => Some(data.outcome.text()),
            _ => None,
        })
        .collect();
    assert_eq!(finished, ["second", "first", "third"], "in the order in which they ended");
}

#[test]
fn core_15_sequential_runs_one_after_the_other() {
    let mut run = run_of(ToolConcurrency::Sequential, &["read", "grep"]);
    assert_eq!(run.running(), ["read"]);
    run.finish("read", ToolOutcome::ok("a"));
    assert_eq!(run.running(), ["grep"]);
}

#[test]
fn core_15_the_limit_holds_and_zero_counts_as_one() {
    let names = ["read"; 5];
    for (max, expected) in [(Some(2), 2), (Some(0), 1), (Some(9), 5), (None, 5)] {
        let run = run_of(ToolConcurrency::Parallel { max }, &names);
        assert_eq!(run.running().len(), expected, "{max:?}");
    }
}

#[test]
fn core_15_a_call_with_effects_runs_alone_and_nothing_overtakes_it() {
    let names = ["read", "grep", "edit", "read", "bash"];
    let mut run = run_of(ToolConcurrency::Parallel { max: None }, &names);
    assert_eq!(run.running(), ["read", "grep"]);
    run.finish("read", ToolOutcome::ok(""));
    assert_eq!(run.running(), ["grep"]);
    run.finish("grep", ToolOutcome::ok(""));
    assert_eq!(run.running(), ["edit"]);
    run.finish("edit", ToolOutcome::ok(""));
    assert_eq!(run.running(), ["read"]);
    run.finish("read", ToolOutcome::ok(""));
    assert_eq!(run.running(), ["bash"]);
    run.finish("bash", ToolOutcome::ok(""));
    run.answer("done");
    assert_ended(&run);
}

#[test]
fn core_15_a_read_only_call_starts_while_the_answer_streams_and_effects_wait() {
    let mut run = Run::new(config());
    run.call("call_0", "read", json!({}));
    run.judge(Verdict::Allow);
    assert_eq!(run.running(), ["read"]);
    run.call("call_1", "edit", json!({}));
    run.judge(Verdict::Allow);
    run.finish("read", ToolOutcome::ok("contents"));
    assert_eq!(run.running(), Vec::<String>::new(), "the answer is not committed");
    run.text("and so on");
    run.end();
    assert_eq!(run.running(), ["edit"]);
}

#[test]
fn core_15_failures_are_counted_and_reported_when_all_calls_have_ended() {
    let mut run = run_of(ToolConcurrency::default(), &["read", "nope", "grep"]);
    run.finish("grep", ToolOutcome::failed("io", "gone"));
    assert!(run.model().is_none(), "the model waits for all of them");
    run.finish("read", ToolOutcome::ok("contents"));
    let batch = run.journal.iter().find_map(|line| match &line.event {
        Event::ToolBatchFinished(data) => Some((data.added, data.skipped, data.failed)),
        _ => None,
    });
    assert_eq!(batch, Some((3, 0, 2)));
    run.answer("Two failed.");
    let failed: Vec<_> = run
        .report()
        .failed_calls
        .iter()
        .map(|call| (&*call.tool, call.code.as_deref(), &*call.text))
        .collect();
    let [(nope, Some("unknown_tool"), text), grep] = failed.as_slice() else {
        panic!("{failed:?}")
    };
    assert_eq!((*nope, *grep), ("nope", ("grep", Some("io"), "gone")));
    assert!(text.contains("nope"), "{text}");
}
