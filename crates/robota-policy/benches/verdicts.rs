//! Measures verdicts: for a small call and for a script of two hundred commands, without
//! rules and with a thousand. The claims are that a command of a script costs no more than one
//! without other rules, and that a thousand rules cost hardly more than none.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use robota_core::permission::{Class, Verdict};
use robota_policy::{LexicalPaths, List, Policy, PolicySpec, RuleSource, ToolCall, Workspace};
use serde_json::{Value, json};

const RULES: [usize; 2] = [0, 1_000];
const COMMANDS: [usize; 3] = [1, 20, 200];

/// Creates a policy with this many rules of every kind, and the few that match the calls.
fn policy(rules: usize) -> Policy {
    let written = |kind: usize| {
        (0..rules).filter(move |n| n % 5 == kind).map(move |n| match kind {
            0 => format!("Bash(tool{n} *)"),
            1 => format!("Bash(npm run task{n} *)"),
            2 => format!("Read(secrets{n}/**)"),
            3 => format!("Edit(/gen{n}/*.rs)"),
            _ => format!("mcp__server{n}"),
        })
    };
    let own = ["Bash(cargo *)", "Bash(git commit *)"];
    let spec = PolicySpec::new(Workspace::new("/proj/app", "/home/ada"))
        .rules(List::Allow, RuleSource::session(), own)
        .rules(List::Deny, RuleSource::session(), ["Bash(git push *)"])
        .rules(List::Allow, RuleSource::session(), written(0).chain(written(4)))
        .rules(List::Ask, RuleSource::session(), written(1).chain(written(3)))
        .rules(List::Deny, RuleSource::session(), written(2));
    let (policy, errors) = Policy::new(&spec, &LexicalPaths);
    assert!(errors.is_empty(), "{errors:?}");
    policy
}

/// Returns this many commands that agents typically write, all of them allowed.
fn script(commands: usize) -> Value {
    const LINES: [&str; 8] = [
        "cargo test --workspace",
        "git status --short",
        "grep -n TODO src/main.rs",
        "cat Cargo.toml",
        "ls -la src",
        "git commit -m 'one && two'",
        "head -n 3 \"src/lib.rs\"",
        "RUST_LOG=debug cargo run",
    ];
    let lines: Vec<&str> = (0..commands).map(|n| LINES[n % LINES.len()]).collect();
    json!({ "command": lines.join("\n") })
}

fn judged(policy: &Policy, tool: &str, class: Class, input: &Value) -> Verdict {
    policy.judge(&ToolCall { tool, input, class }, &LexicalPaths).verdict
}

fn small_calls(criterion: &mut Criterion) {
    let calls = [
        ("read", "Read", Class::Inspect, json!({"file_path": "src/main.rs"}), Verdict::Allow),
        ("read-only", "Bash", Class::Execute, json!({"command": "ls -la src"}), Verdict::Allow),
        ("ruled", "Bash", Class::Execute, json!({"command": "cargo test"}), Verdict::Allow),
        ("denied", "Bash", Class::Execute, json!({"command": "sudo git push"}), Verdict::Deny),
        // With the search for what "always" would save.
        ("asked", "Bash", Class::Execute, json!({"command": "make install"}), Verdict::Ask),
    ];
    let mut group = criterion.benchmark_group("small call");
    group.sample_size(20).warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(2)).throughput(Throughput::Elements(1));
    for (name, tool, class, input, verdict) in &calls {
        for rules in RULES {
            let policy = policy(rules);
            assert_eq!(judged(&policy, tool, *class, input), *verdict, "{name}");
            group.bench_function(BenchmarkId::new(*name, rules), |bencher| {
                bencher.iter(|| judged(black_box(&policy), tool, *class, black_box(input)));
            });
        }
    }
    group.finish();
}

fn scripts(criterion: &mut Criterion) {
    for rules in RULES {
        let policy = policy(rules);
        let mut group = criterion.benchmark_group(format!("script, {rules} rules"));
        group.sample_size(20).warm_up_time(Duration::from_millis(500));
        group.measurement_time(Duration::from_secs(2));
        for commands in COMMANDS {
            let input = script(commands);
            assert_eq!(judged(&policy, "Bash", Class::Execute, &input), Verdict::Allow);
            group.throughput(Throughput::Elements(commands as u64));
            group.bench_function(BenchmarkId::new("commands", commands), |bencher| {
                bencher
                    .iter(|| judged(black_box(&policy), "Bash", Class::Execute, black_box(&input)));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, small_calls, scripts);
criterion_main!(benches);
