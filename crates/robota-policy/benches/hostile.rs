//! Prints the time of the slowest verdicts over hostile commands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

#[path = "../tests/common/hostile.rs"]
mod hostile;

use std::time::{Duration, Instant};

use hostile::{WidePaths, input, policy};
use robota_core::permission::{Class, Mode};
use robota_policy::ToolCall;
use serde_json::json;

const INPUTS: u64 = 10_000;

fn main() {
    let paths = WidePaths::default();
    let policies = [Mode::Default, Mode::BypassPermissions].map(|mode| policy(mode, &paths));
    let mut times: Vec<(Duration, u64, u64)> = Vec::new();
    for number in 0..INPUTS {
        let input = json!({ "command": input(number) });
        let call = ToolCall { tool: "Bash", input: &input, class: Class::Execute };
        for policy in &policies {
            paths.take_asked();
            let started = Instant::now();
            std::hint::black_box(policy.judge(&call, &paths));
            times.push((started.elapsed(), number, paths.take_asked()));
        }
    }
    times.sort();
    let total: Duration = times.iter().map(|(time, ..)| time).sum();
    println!("{} verdicts in {total:?}", times.len());
    println!(
        "median {:?}, 99 % below {:?}",
        times[times.len() / 2].0,
        times[times.len() * 99 / 100].0
    );
    for (time, number, asked) in times.iter().rev().take(10) {
        println!("{time:?} for input {number}, the disk was asked {asked} times");
    }
}
