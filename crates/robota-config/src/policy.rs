//! Turns settings into a policy: gives the rules of each layer their anchor.

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
    /// Returns the specification of a policy: the mode, the workspace, the built-in rules, and the
    /// rules of all layers with their origins and anchors.
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
                // What an invalid rule was meant to forbid is unknown, so every call needs approval.
                if list != List::Allow && !is_valid(list, &rule.text, places) {
                    spec = spec.rules(List::Ask, source.clone(), ["*"]);
                }
                spec = spec.rules(list, source, [rule.text.as_str()]);
            }
        }
        spec.protect(self.named_files.paths())
    }
}

/// Returns a function that checks the syntax of a rule with `robota-policy`.
pub fn rule_check(places: &Places) -> impl Fn(RuleList, &str) -> Result<(), String> + use<> {
    let workspace = workspace(places);
    move |list, rule| {
        let spec =
            PolicySpec::new(workspace.clone()).rules(list.into(), RuleSource::session(), [rule]);
        // Without the file system: a check must not depend on which files exist.
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

fn is_valid(list: List, rule: &str, places: &Places) -> bool {
    let spec = PolicySpec::new(workspace(places)).rules(list, RuleSource::session(), [rule]);
    Policy::new(&spec, &LexicalPaths).1.is_empty()
}

fn workspace(places: &Places) -> Workspace {
    // Without a home folder, `~` must match no path.
    let home = places.home.clone().unwrap_or_else(|| PathBuf::from("/nonexistent"));
    Workspace::new(&places.cwd, home)
}

fn source(rule: &RuleText, places: &Places) -> RuleSource {
    RuleSource::file(rule.origin.to_string(), places.anchor(rule.origin.layer))
}
