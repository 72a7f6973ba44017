use robota_core::permission::PermissionUpdate;
use serde_json::json;

use super::*;

#[test]
fn rules_survive_the_way_to_the_host_and_back() {
    for rule in ["Bash(git log *)", "Bash(echo (a))", "Edit", "Read(//etc/**)"] {
        let update = json!({"type": "addRules", "rules": [rule_value(rule)], "behavior": "allow",
            "destination": "session"});
        let back: PermissionUpdate = serde_json::from_value(update).unwrap();
        assert_eq!(back.allowed_rules(), [rule]);
    }
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
