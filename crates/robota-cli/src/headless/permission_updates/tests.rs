use robota_core::ids::CallId;
use robota_core::message::{ToolInput, ToolUse};
use robota_core::permission::{Class, Mode};
use serde_json::{Value, json};

use super::*;

fn accepted(updates: Value) -> Accepted {
    let input = ToolInput::Json(json!({"command": "git push"}));
    let question = Question {
        call: ToolUse::new(CallId::from("c"), "t", "Bash", input),
        class: Class::Execute,
        reason: String::new(),
        rules: vec!["Bash(git push)".to_owned(), "Bash(git log *)".to_owned()],
        metadata: serde_json::Map::new(),
        agent: None,
    };
    accept(serde_json::from_value(updates).unwrap(), &question)
}

fn rules(kind: &str, behavior: &str, rule: &str, destination: &str) -> Value {
    let rules = json!([{"toolName": "Bash", "ruleContent": rule}]);
    json!([{"type": kind, "rules": rules, "behavior": behavior, "destination": destination}])
}

#[test]
fn sdk_08_suggested_rules_are_kept_where_the_host_says() {
    for (destination, scope, layers) in [
        ("session", Scope::Session, vec![]),
        ("cliArg", Scope::Session, vec![]),
        ("localSettings", Scope::Always, vec![Layer::ProjectRobotaLocal]),
        ("projectSettings", Scope::Always, vec![Layer::ProjectRobota]),
        ("userSettings", Scope::Always, vec![Layer::UserRobota]),
    ] {
        let kept = accepted(rules("addRules", "allow", "git push", destination));
        assert_eq!(kept.rules, ["Bash(git push)"], "only the rule that the host chose");
        assert_eq!((kept.scope, kept.layers, kept.note), (scope, layers, None), "{destination}");
    }
}

#[test]
fn sdk_08_nothing_wider_than_shown_is_kept() {
    for updates in [
        rules("addRules", "allow", "git *", "session"),
        rules("addRules", "allow", "git *", "userSettings"),
        rules("replaceRules", "allow", "*", "session"),
        rules("removeRules", "deny", "git push", "userSettings"),
        rules("removeRules", "ask", "git push", "session"),
        rules("replaceRules", "deny", "nothing", "userSettings"),
        rules("addRules", "whatever", "git push", "session"),
        json!([{"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow"}]),
        json!([{"type": "addRules", "rules": [], "behavior": "allow"}]),
        json!([{"type": "addDirectories", "directories": ["/"], "destination": "session"}]),
        json!([{"type": "setMode", "mode": "everything", "destination": "session"}]),
        json!([{"type": "fromTheFuture"}]),
    ] {
        let kept = accepted(updates.clone());
        assert_eq!((kept.rules.len(), kept.changes.len()), (0, 0), "{updates}");
        assert!(kept.note.is_some(), "{updates}");
    }
}

#[test]
fn sdk_08_rules_that_forbid_and_removals_are_taken() {
    let kept = accepted(rules("addRules", "deny", "rm *", "userSettings"));
    let deny = PermissionChange::Restrict {
        list: RuleList::Deny,
        rules: vec!["Bash(rm *)".to_owned()],
        layer: Some(Layer::UserRobota),
    };
    assert_eq!((kept.changes, kept.note), (vec![deny], None));
    let kept = accepted(rules("removeRules", "allow", "x", "session"));
    let removed = PermissionChange::Remove { rules: vec!["Bash(x)".to_owned()], layer: None };
    assert_eq!(kept.changes, [removed]);
    let kept = accepted(rules("replaceRules", "allow", "git push", "session"));
    assert_eq!(kept.changes, [PermissionChange::Clear { layer: None }]);
    assert_eq!(kept.rules, ["Bash(git push)"]);
    let plan = json!([{"type": "setMode", "mode": "plan", "destination": "userSettings"}]);
    let kept = accepted(plan);
    assert_eq!(kept.changes, [PermissionChange::SetMode(Mode::Plan)]);
    assert!(kept.note.is_some(), "a mode is not saved");
}
