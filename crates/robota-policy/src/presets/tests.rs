use std::sync::LazyLock;

use robota_core::permission::{Class, Verdict};
use serde_json::json;

use super::presets;
use crate::program::args::Args;
use crate::program::{Arity, Effect, Opt};
use crate::shell::Word;
use crate::{LexicalPaths, List, Policy, PolicySpec, RuleSource, ToolCall, Workspace, too_broad};

fn policy() -> Policy {
    let rules = presets().iter().flat_map(|preset| preset.rules);
    let spec = PolicySpec::new(Workspace::new("/proj/app", "/home/ada")).rules(
        List::Allow,
        RuleSource::session(),
        rules.copied(),
    );
    let (policy, errors) = Policy::new(&spec, &LexicalPaths);
    assert!(errors.is_empty(), "{errors:?}");
    policy
}

fn verdict(command: &str) -> Verdict {
    static POLICY: LazyLock<Policy> = LazyLock::new(policy);
    let input = json!({ "command": command });
    let call = ToolCall { tool: "Bash", input: &input, class: Class::Execute };
    POLICY.judge(&call, &LexicalPaths).verdict
}

#[test]
fn every_rule_is_read_and_none_is_too_broad() {
    let mut seen = std::collections::BTreeSet::new();
    for preset in presets() {
        for rule in preset.rules {
            assert!(seen.insert(rule), "{rule} is listed twice");
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

/// Returns every option of the rule's command that runs, loads or writes something, as words.
fn dangers(words: &[&str]) -> Vec<String> {
    let plain: Vec<Word> = words.iter().map(|word| Word::plain(word)).collect();
    let Some(args) = Args::parse(&plain) else { return Vec::new() };
    let effects = |opt: &&Opt| {
        matches!(
            opt.effect,
            Effect::Run
                | Effect::Shell
                | Effect::Load
                | Effect::Write
                | Effect::Danger
                | Effect::InPlace
        )
    };
    let spelled = |opt: &Opt| match opt.arity {
        Arity::None => opt.name.to_owned(),
        Arity::Attached if opt.name.starts_with("--") => format!("{}=./ext-evil", opt.name),
        Arity::Attached => format!("{}./ext-evil", opt.name),
        Arity::Required => format!("{} ./ext-evil", opt.name),
        Arity::Pair => format!("{} a ./ext-evil", opt.name),
        Arity::Command => format!("{} ./ext-evil {{}} +", opt.name),
    };
    args.spec.options.iter().chain(&args.program.options).filter(effects).map(spelled).collect()
}

/// An option that runs or writes something is asked about, even if a rule covers the command.
#[test]
fn no_rule_covers_an_option_that_runs_or_writes() {
    let (mut tried, mut allowed) = (0, Vec::new());
    for rule in presets().iter().flat_map(|preset| preset.rules) {
        let Some(stem) = rule.strip_prefix("Bash(").and_then(|rule| rule.strip_suffix(" *)"))
        else {
            continue;
        };
        let words: Vec<&str> = stem.split(' ').collect();
        for danger in dangers(&words) {
            tried += 1;
            let command = format!("{stem} {danger} src/x.rs");
            if verdict(&command) == Verdict::Allow {
                allowed.push(command);
            }
        }
    }
    assert!(tried > 100, "only {tried}");
    assert!(allowed.is_empty(), "{} of {tried}: {allowed:#?}", allowed.len());
}
