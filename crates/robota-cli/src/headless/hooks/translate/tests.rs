use super::*;

fn posted(success: bool) -> Value {
    json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "toolu_1",
        "tool_input": {"command": "echo a"}, "tool_output": "a\n", "cwd": "/project",
        "tool_response": {"success": success, "output": "a\n", "metadata": {"exit_code": 0}}})
}

#[test]
fn a_call_that_failed_is_an_event_of_its_own() {
    assert_eq!(HostEvent::find("PostToolUseFailure"), Some(HostEvent::Failure));
    assert_eq!(HostEvent::Same.input(posted(false)), None);
    assert_eq!(HostEvent::Failure.input(posted(true)), None);
    let failed = HostEvent::Failure.input(posted(false)).unwrap();
    assert_eq!(
        (&failed["hook_event_name"], &failed["error"]),
        (&json!("PostToolUseFailure"), &json!("a\n"))
    );
    assert_eq!((failed.get("tool_response"), &failed["is_interrupt"]), (None, &json!(false)));
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PostToolUseFailure", "additionalContext": "c"}});
    let answer = HostEvent::Failure.answer(answer.as_object().unwrap().clone());
    assert_eq!(
        answer["hookSpecificOutput"],
        json!({"hookEventName": "PostToolUse", "additionalContext": "c"})
    );
}

#[test]
fn a_result_has_the_fields_that_hosts_know() {
    let input = HostEvent::Same.input(posted(true)).unwrap();
    let response = &input["tool_response"];
    assert_eq!((&response["stdout"], &response["interrupted"]), (&json!("a"), &json!(false)));
    assert_eq!(
        (&response["success"], &response["metadata"]["exit_code"]),
        (&json!(true), &json!(0))
    );
    let other = json!({"hook_event_name": "Stop"});
    assert_eq!(HostEvent::Same.input(other.clone()), Some(other));
}

#[test]
fn the_decision_about_an_approval_is_that_about_a_call() {
    let asked = HostEvent::Permission.input(json!({"hook_event_name": "PreToolUse"})).unwrap();
    assert_eq!(asked["hook_event_name"], "PermissionRequest");
    let decided = |decision: Value| {
        let answer = json!({"hookSpecificOutput":
            {"hookEventName": "PermissionRequest", "decision": decision}});
        let answer = HostEvent::Permission.answer(answer.as_object().unwrap().clone());
        answer["hookSpecificOutput"].clone()
    };
    let changed = decided(json!({"behavior": "allow", "updatedInput": {"command": "ls"}}));
    assert_eq!(changed["permissionDecision"], "allow");
    assert_eq!(changed["updatedInput"], json!({"command": "ls"}));
    let denied = decided(json!({"behavior": "deny", "message": "not now"}));
    assert_eq!(denied["permissionDecision"], "deny");
    assert_eq!(denied["permissionDecisionReason"], "not now");
    assert_eq!(decided(Value::Null), json!({"hookEventName": "PreToolUse"}));
}
