//! Judging ends within a bounded amount of work, however a command is written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::hostile::{WidePaths, input, policy};
use robota_core::permission::{Class, Mode, Verdict};
use robota_policy::ToolCall;
use serde_json::json;

const INPUTS: u64 = 10_000;

/// The maximum number of disk lookups of one verdict.
const MOST_ASKED: u64 = 40_000;

#[test]
fn hostile_commands_are_judged_with_bounded_work() {
    let paths = WidePaths::default();
    let policies = [Mode::Default, Mode::BypassPermissions].map(|mode| policy(mode, &paths));
    let (mut most, mut allowed) = ((0, 0), 0);
    for (number, policy) in (0..INPUTS).zip(policies.iter().cycle()) {
        let input = json!({ "command": input(number) });
        let call = ToolCall { tool: "Bash", input: &input, class: Class::Execute };
        paths.take_asked();
        let judged = policy.judge(&call, &paths);
        assert!(!judged.reasons.is_empty(), "input {number}");
        most = most.max((paths.take_asked(), number));
        allowed += u64::from(judged.verdict == Verdict::Allow);
    }
    assert!(most.0 <= MOST_ASKED, "input {}: the disk was asked {} times", most.1, most.0);
    // The inputs are not all refused at once.
    assert!(allowed > INPUTS / 20, "only {allowed} were allowed");
}
