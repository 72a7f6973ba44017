//! Tests a rule that the user edits, with the policy that will apply it.

use std::sync::Arc;

use robota_core::message::ToolUse;
use robota_core::permission::Verdict;
use robota_exec::OsPaths;
use robota_policy::{List, RuleSource, explain_rule};

use crate::commands::permissions::judge;
use crate::setup::Setup;
use crate::terminal::event::RuleMeaning;
use crate::terminal::update::split_rules;

/// How many other calls are named.
const EXAMPLES: usize = 4;

/// Says what rules mean: whether they allow the call, and what else they would allow.
///
/// # Errors
/// If a rule is not valid; the text says why.
pub(super) fn test(setup: &Setup, call: &ToolUse, text: &str) -> Result<RuleMeaning, String> {
    let rules = split_rules(text);
    if rules.is_empty() {
        return Err("there is no rule".to_owned());
    }
    // A copy: the rule must not apply while it is typed.
    let mut policy = setup.policy.clone();
    let source = Arc::new(RuleSource::session());
    let mut also = Vec::new();
    let input = call.input.json().cloned().unwrap_or_default();
    let own = input.get("command").and_then(|command| command.as_str()).unwrap_or_default();
    for rule in &rules {
        policy.add(List::Allow, &source, rule, &OsPaths).map_err(|error| error.to_string())?;
        let meaning = explain_rule(rule, List::Allow, &setup.workspace())
            .map_err(|error| error.to_string())?;
        let others = meaning.covered.into_iter().map(|example| example.call);
        also.extend(others.filter(|example| example != own && example != rule));
    }
    also.truncate(EXAMPLES);
    let covers = judge(&policy, &call.name, &input).verdict.verdict == Verdict::Allow;
    Ok(RuleMeaning { covers, also })
}
