use serde_json::json;

use super::*;

fn replaced(output: Value) -> String {
    let hooks = HookOutput { updated_output: Some(output), ..HookOutput::default() };
    match hooks.into_post_tool(&ToolOutcome::ok("old")) {
        PostToolDecision::Replace { outcome } => {
            assert!(outcome.ok, "the rest of the outcome stays");
            outcome.text()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn core_22_a_new_result_is_text_parts_of_mcp_or_json() {
    assert_eq!(replaced(json!("new")), "new");
    let parts = json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]);
    let of_parts = replaced(parts.clone());
    assert!(of_parts.contains("one") && of_parts.contains("two"), "{of_parts}");
    assert!(!of_parts.contains("type"), "{of_parts}");
    assert_eq!(replaced(json!({"content": parts, "isError": false})), of_parts);
    // What is not text only is not interpreted: nothing that a hook printed is dropped.
    for other in [json!([{"type": "image", "data": "x"}]), json!({"x": 1}), json!([1]), json!([])] {
        assert_eq!(replaced(other.clone()), other.to_string());
    }
}
