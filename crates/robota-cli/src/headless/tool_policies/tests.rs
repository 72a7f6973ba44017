use serde_json::json;

use super::*;

#[test]
fn unknown_policies_ask_and_entries_without_a_name_are_dropped() {
    let servers = json!({"my calc": {"tools": [
        {"name": "add", "permission_policy": "always_deny"},
        {"name": "sub", "permission_policy": "always_ask"},
        {"name": "mul", "permission_policy": "sometimes"},
        {"name": "div", "permission_policy": "always_allow"},
        {"permission_policy": "always_deny"},
    ]}, "other": {"timeout": 1000}});
    let policies = ToolPolicies::read(&servers);
    let expected = BTreeMap::from([
        (ASK, vec!["mcp__my_calc__sub".to_owned(), "mcp__my_calc__mul".to_owned()]),
        (DENY, vec!["mcp__my_calc__add".to_owned()]),
    ]);
    assert_eq!(policies, ToolPolicies(expected));
}
