//! From settings to a policy: the one place where the rules of all layers meet their anchors.

use std::path::PathBuf;

use robota_policy::{LexicalPaths, List, Policy, PolicySpec, RuleSource, Workspace};

use crate::places::Places;
use crate::settings::{RuleList, RuleText, Settings};

impl From<RuleList> for List {
    fn from(list: RuleList) -> Self {
        match list {
            RuleList::Allow => Self::Allow,
            RuleList::Ask => Self::Ask,
            RuleList::Deny => Self::Deny,
        }
    }
}

impl Settings {
    /// What a policy is made from: the mode, the folders, the rules of all layers, each with
    /// its origin and its anchor, and the rules every session starts with.
    #[must_use]
    pub fn policy_spec(&self, places: &Places) -> PolicySpec {
        let permissions = &self.permissions;
        let mut workspace = workspace(places);
        for folder in &permissions.additional_directories {
            let folder = workspace.resolve(&folder.text);
            workspace = workspace.with_additional(folder);
        }
        let mut spec = PolicySpec::new(workspace).mode(permissions.mode).with_defaults();
        for (list, rules) in [
            (List::Allow, &permissions.allow),
            (List::Ask, &permissions.ask),
            (List::Deny, &permissions.deny),
        ] {
            for rule in rules {
                let source = source(rule, places);
                // It is not known what a rule forbids that cannot be read: ask about everything.
                if list != List::Allow && !readable(list, &rule.text, places) {
                    spec = spec.rules(List::Ask, source.clone(), ["*"]);
                }
                spec = spec.rules(list, source, [rule.text.as_str()]);
            }
        }
        spec
    }
}

/// Says whether a rule is well-formed, as `robota-policy` reads it.
pub fn rule_check(places: &Places) -> impl Fn(RuleList, &str) -> Result<(), String> + use<> {
    let workspace = workspace(places);
    move |list, rule| {
        let spec =
            PolicySpec::new(workspace.clone()).rules(list.into(), RuleSource::session(), [rule]);
        let (_, errors) = Policy::new(&spec, &LexicalPaths);
        match errors.into_iter().next() {
            None => Ok(()),
            Some(error) => Err(match error.advice {
                Some(advice) => format!("{}; {advice}", error.problem),
                None => error.problem,
            }),
        }
    }
}

fn readable(list: List, rule: &str, places: &Places) -> bool {
    let spec = PolicySpec::new(workspace(places)).rules(list, RuleSource::session(), [rule]);
    Policy::new(&spec, &LexicalPaths).1.is_empty()
}

fn workspace(places: &Places) -> Workspace {
    // Without a home, `~` is a folder that nothing is in.
    let home = places.home.clone().unwrap_or_else(|| PathBuf::from("/nonexistent"));
    Workspace::new(&places.cwd, home)
}

fn source(rule: &RuleText, places: &Places) -> RuleSource {
    RuleSource::file(rule.origin.to_string(), places.anchor(rule.origin.layer))
}
