use serde_json::json;

use super::*;

#[test]
fn answers_of_hosts_are_read_with_and_without_optional_fields() {
    let allow = json!({"behavior": "allow", "updatedInput": {"a": 1}, "updatedPermissions": null,
        "toolUseID": "t", "decisionClassification": "user_temporary"});
    assert!(matches!(
        serde_json::from_value(allow).unwrap(),
        Decision::Allow { updated_input: Some(_), .. }
    ));
    assert!(matches!(
        serde_json::from_value(json!({"behavior": "allow"})).unwrap(),
        Decision::Allow { updated_input: None, .. }
    ));
    assert!(matches!(
        serde_json::from_value(json!({"behavior": "deny", "message": "no"})).unwrap(),
        Decision::Deny { interrupt: false, .. }
    ));
    assert!(serde_json::from_value::<Decision>(json!({"behavior": "maybe"})).is_err());
    assert!(serde_json::from_value::<Decision>(json!({})).is_err());
}

#[test]
fn sdk_08_optional_fields_of_another_type_change_no_decision() {
    let deny = json!({"behavior": "deny", "message": 5, "interrupt": null});
    assert!(matches!(
        serde_json::from_value(deny).unwrap(),
        Decision::Deny { message: None, interrupt: false }
    ));
    for update in [
        json!({"type": "addRules", "behavior": "allow", "destination": "session"}),
        json!({"type": "addRules", "rules": null, "behavior": null, "destination": null}),
        json!({"type": "removeDirectories", "directories": null}),
        json!({"type": "setMode", "mode": null}),
        json!({"type": "fromTheFuture", "rules": 3}),
    ] {
        let allow = json!({"behavior": "allow", "updatedPermissions": [update]});
        let decision = serde_json::from_value(allow);
        assert!(matches!(decision, Ok(Decision::Allow { .. })), "{update}: {decision:?}");
    }
}
