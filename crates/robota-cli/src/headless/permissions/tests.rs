use serde_json::json;

use super::*;

#[test]
fn rules_survive_the_way_to_the_host_and_back() {
    for rule in ["Bash(git log *)", "Bash(echo (a))", "Edit", "Read(//etc/**)"] {
        let value = serde_json::to_value(rule_value(rule)).unwrap();
        let back: permission_updates::RuleInput = serde_json::from_value(value).unwrap();
        assert_eq!(back.text(), rule);
    }
}

#[test]
fn answers_of_hosts_are_read_with_and_without_optional_fields() {
    let allow = json!({"behavior": "allow", "updatedInput": {"a": 1}, "updatedPermissions": null,
        "toolUseID": "t", "decisionClassification": "user_temporary"});
    assert!(matches!(
        serde_json::from_value(allow).unwrap(),
        HostDecision::Allow { updated_input: Some(_), .. }
    ));
    assert!(matches!(
        serde_json::from_value(json!({"behavior": "allow"})).unwrap(),
        HostDecision::Allow { updated_input: None, .. }
    ));
    assert!(matches!(
        serde_json::from_value(json!({"behavior": "deny", "message": "no"})).unwrap(),
        HostDecision::Deny { interrupt: false, .. }
    ));
    assert!(serde_json::from_value::<HostDecision>(json!({"behavior": "maybe"})).is_err());
    assert!(serde_json::from_value::<HostDecision>(json!({})).is_err());
}

#[test]
fn the_path_outside_of_the_workspace_is_named() {
    let workspace = [PathBuf::from("/project")];
    let outside = |input: &Value| outside_path(input, &workspace).map(str::to_owned);
    assert_eq!(outside(&json!({"file_path": "/etc/hosts"})).as_deref(), Some("/etc/hosts"));
    assert_eq!(outside(&json!({"file_path": "/project/a"})), None);
    assert_eq!(outside(&json!({"path": "a"})), None);
    assert_eq!(outside(&json!({"command": "ls"})), None);
}
