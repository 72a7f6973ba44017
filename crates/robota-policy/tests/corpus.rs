//! The bypass corpus: what each call must get, and why. Verdicts are exact.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Case, MemoryPaths, fixture};
use robota_core::permission::{Class, Mode, Verdict};
use robota_policy::ToolCall;

/// Returns the class that a tool declares.
fn declared(tool: &str) -> Class {
    match tool {
        "Read" | "Grep" | "Glob" | "WebFetch" | "WebSearch" | "TodoRead" => Class::Inspect,
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => Class::Modify,
        _ => Class::Execute,
    }
}

fn cases(file: &str) -> Vec<Case> {
    fixture(file)
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(i, line)| {
            serde_json::from_str(line).unwrap_or_else(|e| panic!("{file}:{}: {e}", i + 1))
        })
        .collect()
}

fn run(file: &str) -> Vec<Case> {
    let paths = MemoryPaths::load();
    let cases = cases(file);
    let mut wrong = Vec::new();
    let mut ids = std::collections::BTreeSet::new();
    for case in &cases {
        assert!(ids.insert(&case.id), "{file}: two cases are called {}", case.id);
        let policy = case.policy(&paths);
        let call = ToolCall { tool: &case.tool, input: &case.input, class: declared(&case.tool) };
        let got = policy.judge(&call, &paths);
        if got.verdict != case.verdict {
            wrong.push(format!(
                "{}: {} {}\n  must be {:?} ({})\n  but is {:?}: {:?}",
                case.id,
                case.tool,
                case.input,
                case.verdict,
                case.why,
                got.verdict,
                got.reasons.iter().map(|r| r.text.as_str()).collect::<Vec<_>>(),
            ));
        }
        assert!(!got.reasons.is_empty(), "{}: a verdict must explain itself", case.id);
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    cases
}

#[test]
fn core_21_shell_commands_get_their_verdict() {
    let cases = run("shell.jsonl");
    assert!(cases.len() >= 300, "only {} shell cases", cases.len());
    // Without a rule and in the default mode: no rule had to allow them.
    let free = |case: &&Case| {
        case.verdict == Verdict::Allow && case.allow.is_empty() && case.mode == Mode::Default
    };
    let harmless = cases.iter().filter(free).count();
    assert!(harmless >= 150, "only {harmless} harmless everyday commands");
    assert!(cases.iter().filter(|case| case.doc).count() >= 30, "too few examples are shown");
}

#[test]
fn core_21_rules_get_their_verdict() {
    let cases = run("rules.jsonl");
    assert!(cases.len() >= 150, "only {} rule cases", cases.len());
    assert!(cases.iter().filter(|case| case.doc).count() >= 10, "too few examples are shown");
}
