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

#[test]
fn a_long_result_fits_into_a_line_and_the_arguments_stay() {
    let long = "a\n".repeat(400_000);
    let diff = format!("--- a\n+++ b\n@@ -1,2 +1,2 @@\n{}", "+b\n".repeat(100_000));
    let arguments =
        json!({"file_path": "/project/a", "old_string": "a", "new_string": "b".repeat(300_000)});
    let metadata = json!({"diff": diff, "replacements": 1});
    let event = json!({"hook_event_name": "PostToolUse", "tool_name": "Edit", "cwd": "/project",
        "tool_use_id": "toolu_1", "tool_input": arguments, "tool_output": long,
        "tool_response": {"success": true, "output": long, "metadata": metadata}});
    let input = input(event);
    assert!(input.to_string().len() < 1_000_000, "{}", input.to_string().len());
    assert_eq!(input["tool_input"], arguments);
    assert_eq!(input["tool_response"]["metadata"], json!({"replacements": 1}));
    assert!(input["tool_output"].as_str().unwrap().len() > 64_000, "only as much as needed");
}
