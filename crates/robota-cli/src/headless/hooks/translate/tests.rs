use serde_json::json;

use super::*;

fn posted() -> Value {
    json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "toolu_1",
        "tool_input": {"command": "echo a"}, "tool_output": "a\n", "cwd": "/project",
        "tool_response": {"success": true, "output": "a\n", "metadata": {"exit_code": 0}}})
}

#[test]
fn a_result_has_the_fields_that_hosts_know() {
    let called = input(posted());
    let response = &called["tool_response"];
    assert_eq!((&response["stdout"], &response["interrupted"]), (&json!("a"), &json!(false)));
    assert_eq!(
        (&response["success"], &response["metadata"]["exit_code"]),
        (&json!(true), &json!(0))
    );
    let other = json!({"hook_event_name": "Stop"});
    assert_eq!(input(other.clone()), other);
}
