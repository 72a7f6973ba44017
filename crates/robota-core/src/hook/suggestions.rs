//! Permission rules in the form in which hooks receive and return them (`permission_suggestions`,
//! `updatedPermissions`).

use serde_json::{Value, json};

use crate::approve::Scope;

/// Returns what a PermissionRequest hook may answer besides allowing the call: to save its rules.
pub(super) fn of_rules(rules: &[String]) -> Vec<Value> {
    if rules.is_empty() {
        return Vec::new();
    }
    let rules: Vec<_> = rules.iter().map(|rule| to_value(rule)).collect();
    vec![json!({
        "type": "addRules", "rules": rules, "behavior": "allow", "destination": "localSettings",
    })]
}

/// Returns the rules that a hook accepts, and how far they reach; none if it accepts none. Other
/// changes of permissions are not for hooks.
pub(super) fn accepted(updates: &[Value]) -> Option<(Scope, Vec<String>)> {
    let mut scope = Scope::Always;
    let mut rules = Vec::new();
    for update in updates.iter().filter(|update| allows(update)) {
        // The answer has one scope for all rules: a rule for the session must never be saved, so with one
        // of those the others are for the session, too.
        if update["destination"] == "session" {
            scope = Scope::Session;
        }
        rules.extend(update["rules"].as_array().into_iter().flatten().filter_map(from_value));
    }
    (!rules.is_empty()).then_some((scope, rules))
}

/// Returns whether an update adds rules that allow.
pub(super) fn allows(update: &Value) -> bool {
    update["type"] == "addRules" && update["behavior"] == "allow"
}

fn to_value(rule: &str) -> Value {
    let parts = rule.split_once('(').and_then(|(tool, rest)| Some((tool, rest.strip_suffix(')')?)));
    match parts {
        Some((tool, content)) => json!({"toolName": tool, "ruleContent": content}),
        None => json!({"toolName": rule}),
    }
}

fn from_value(value: &Value) -> Option<String> {
    let tool = value["toolName"].as_str()?;
    Some(match value["ruleContent"].as_str() {
        Some(content) => format!("{tool}({content})"),
        None => tool.to_owned(),
    })
}
