//! Commands that people run every day: few of them may lead to a question.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{MemoryPaths, fixture};
use robota_core::permission::{Class, Verdict};
use robota_policy::{List, Policy, PolicySpec, RuleSource, ToolCall, Workspace, presets};
use serde_json::json;

/// Returns the commands of the list that ask.
fn asked(rules: &[&str]) -> Vec<String> {
    let paths = MemoryPaths::load();
    let spec = PolicySpec::new(Workspace::new("/proj/app", "/home/ada")).rules(
        List::Allow,
        RuleSource::session(),
        rules.iter().copied(),
    );
    let (policy, errors) = Policy::new(&spec, &paths);
    assert!(errors.is_empty(), "{errors:?}");
    let asks = |command: &&str| {
        let input = json!({ "command": command });
        let call = ToolCall { tool: "Bash", input: &input, class: Class::Execute };
        policy.judge(&call, &paths).verdict != Verdict::Allow
    };
    fixture("everyday.txt").lines().filter(asks).map(str::to_owned).collect()
}

#[test]
fn few_everyday_commands_ask() {
    let plain = asked(&[]);
    let preset = presets().iter().find(|preset| preset.name == "queries").unwrap();
    let with_queries = asked(preset.rules);
    assert!(with_queries.len() <= 35, "{}: {with_queries:#?}", with_queries.len());
    assert!(plain.len() <= 110, "{}: {plain:#?}", plain.len());
}
