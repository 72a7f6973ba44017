use serde_json::json;

use super::*;

#[test]
fn sdk_08_every_kind_of_change_is_read_and_written_in_the_form_of_hosts() {
    let rules = json!([{"toolName": "Bash", "ruleContent": "git log *"}, {"toolName": "Read"}]);
    let mut updates = Vec::new();
    for kind in ["addRules", "replaceRules", "removeRules"] {
        for behavior in ["allow", "ask", "deny"] {
            updates.push(json!({"type": kind, "rules": rules, "behavior": behavior,
                "destination": "localSettings"}));
        }
    }
    for destination in ["session", "cliArg", "localSettings", "projectSettings", "userSettings"] {
        updates.push(json!({"type": "setMode", "mode": "plan", "destination": destination}));
        for kind in ["addDirectories", "removeDirectories"] {
            updates
                .push(json!({"type": kind, "directories": ["/data"], "destination": destination}));
        }
    }
    let (read, problems) = PermissionUpdate::read_all(updates.clone());
    assert_eq!((serde_json::to_value(&read).unwrap(), problems), (json!(updates), Vec::new()));
    assert_eq!(read[0].allowed_rules(), ["Bash(git log *)", "Read"]);
    assert!(read[2].allowed_rules().is_empty(), "rules that deny");
    assert!(read[6].allowed_rules().is_empty(), "rules that are removed");
}

#[test]
fn sdk_08_a_change_that_cannot_be_read_is_reported_and_the_others_count() {
    let good = json!({"type": "setMode", "mode": "manual", "destination": "session"});
    for bad in [
        json!({"type": "fromTheFuture"}),
        json!({"type": "addRules", "behavior": "allow", "destination": "session"}),
        json!({"type": "addRules", "rules": null, "behavior": "allow", "destination": "session"}),
        json!({"type": "addRules", "rules": [], "behavior": "perhaps", "destination": "session"}),
        json!({"type": "addRules", "rules": [], "behavior": "allow", "destination": "elsewhere"}),
        // Without a destination it is not known how long the rule is to last.
        json!({"type": "addRules", "rules": [], "behavior": "allow"}),
        json!({"type": "setMode", "mode": "everything", "destination": "session"}),
        json!({"type": "removeDirectories", "directories": null, "destination": "session"}),
        json!(3),
    ] {
        let (read, problems) = PermissionUpdate::read_all(vec![bad.clone(), good.clone()]);
        let destination = UpdateDestination::Session;
        assert_eq!(read, [PermissionUpdate::SetMode { mode: Mode::Default, destination }], "{bad}");
        assert_eq!(problems.len(), 1, "{bad}: {problems:?}");
    }
}
