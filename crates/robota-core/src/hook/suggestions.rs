//! Permission rules in the form in which hooks receive them (`permission_suggestions`).

use serde_json::Value;

use crate::permission::{PermissionUpdate, RuleUpdate, UpdateDestination, Verdict};

/// Returns what a PermissionRequest hook may answer besides allowing the call: to save its rules.
pub(super) fn of_rules(rules: &[String]) -> Vec<Value> {
    if rules.is_empty() {
        return Vec::new();
    }
    let update = PermissionUpdate::AddRules(RuleUpdate {
        rules: rules.to_vec(),
        behavior: Verdict::Allow,
        destination: UpdateDestination::LocalSettings,
    });
    // Plain data always serialises.
    serde_json::to_value(update).into_iter().collect()
}
