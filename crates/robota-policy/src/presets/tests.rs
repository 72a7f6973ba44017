use robota_core::permission::{Class, Verdict};
use serde_json::json;

use super::presets;
use crate::{LexicalPaths, List, Policy, PolicySpec, RuleSource, ToolCall, Workspace, too_broad};

fn verdict(command: &str) -> Verdict {
    let rules = presets().iter().flat_map(|preset| preset.rules);
    let spec = PolicySpec::new(Workspace::new("/proj/app", "/home/ada")).rules(
        List::Allow,
        RuleSource::session(),
        rules.copied(),
    );
    let (policy, errors) = Policy::new(&spec, &LexicalPaths);
    assert!(errors.is_empty(), "{errors:?}");
    let input = json!({ "command": command });
    let call = ToolCall { tool: "Bash", input: &input, class: Class::Execute };
    policy.judge(&call, &LexicalPaths).verdict
}

#[test]
fn every_rule_is_read_and_none_is_too_broad() {
    let mut seen = std::collections::BTreeSet::new();
    for preset in presets() {
        for rule in preset.rules {
            assert!(seen.insert(rule), "{rule} stands twice");
            // Options that make a program harmless are no subcommand.
            assert!(rule.contains(" -") || !too_broad(rule), "{rule}");
        }
    }
}

#[test]
fn queries_are_allowed() {
    for command in ["docker ps -a", "kubectl get pods -A", "gh pr view 1", "npm ls --depth=0"] {
        assert_eq!(verdict(command), Verdict::Allow, "{command}");
    }
}
