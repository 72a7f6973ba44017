//! The same failing call, again and again.

use serde_json::json;

use super::harness::{Run, TurnConfig, config};
use super::invariants::assert_ended;
use crate::event::{Purpose, TurnEnd};
use crate::message::ToolInput;
use crate::permission::Verdict;
use crate::tool::ToolOutcome;

fn unlimited(max_repeats: u32) -> Run {
    Run::new(TurnConfig { max_rounds: 0, max_repeats, ..config() })
}

/// One round with one call of a tool.
fn round(run: &mut Run, tool: &str, input: serde_json::Value, outcome: ToolOutcome) {
    run.call("call_0", tool, input);
    run.judge(Verdict::Allow);
    run.end();
    run.finish(tool, outcome);
}

fn failed() -> ToolOutcome {
    ToolOutcome::failed("exit", "no such file")
}

#[test]
fn core_16_the_same_failing_call_ends_the_turn_without_tools() {
    let mut run = unlimited(3);
    for _ in 0..3 {
        assert_eq!(run.model().unwrap().purpose, Purpose::Answer);
        round(&mut run, "read", json!({"path": "x"}), failed());
    }
    let call = run.model().unwrap().clone();
    assert_eq!(call.purpose, Purpose::SummaryWithoutTools);
    let instruction = call.instruction.unwrap();
    assert!(instruction.contains("read") && instruction.contains("failed"), "{instruction}");
    run.answer("it does not exist");
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::UnknownTools);
    assert_eq!(run.report().text, "it does not exist");
}

#[test]
fn core_16_malformed_arguments_count_even_when_they_differ() {
    let mut run = unlimited(3);
    for raw in ["{\"a\": ", "{\"b\": ", "{\"c\": "] {
        let input = ToolInput::parse(raw);
        run.delta(super::harness::tool_call("call_0", "edit", input));
        run.end();
    }
    assert_eq!(run.model().unwrap().purpose, Purpose::SummaryWithoutTools);
}

#[test]
fn core_16_failures_of_two_calls_in_turn_count_too() {
    let mut run = unlimited(3);
    for path in ["x", "y", "x", "y", "x"] {
        round(&mut run, "read", json!({ "path": path }), failed());
    }
    assert_eq!(run.model().unwrap().purpose, Purpose::SummaryWithoutTools);
}

#[test]
fn core_16_a_change_in_between_starts_a_new_count() {
    let mut run = unlimited(3);
    for _ in 0..4 {
        round(&mut run, "bash", json!({"command": "make test"}), failed());
        round(&mut run, "bash", json!({"command": "make test"}), failed());
        round(&mut run, "edit", json!({"path": "x"}), ToolOutcome::ok("edited"));
    }
    assert_eq!(run.model().unwrap().purpose, Purpose::Answer);
}

#[test]
fn core_16_zero_switches_the_guard_off() {
    let mut run = unlimited(0);
    for _ in 0..20 {
        round(&mut run, "read", json!({"path": "x"}), failed());
    }
    assert_eq!(run.model().unwrap().purpose, Purpose::Answer);
}
