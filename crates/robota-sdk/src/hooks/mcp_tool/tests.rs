use serde_json::json;

use super::*;

#[test]
fn fields_of_the_event_replace_their_placeholders() {
    let event = json!({"tool_name": "Write", "tool_input": {"file_path": "/a b", "lines": 3,
        "edits": [{"old": "x"}]}});
    let input = json!({"path": "${tool_input.file_path}", "lines": "${tool_input.lines}",
        "list": ["${tool_input.edits.0.old}", 7], "plain": "no $1 ${",
        "text": "${tool_name}: ${tool_input.lines} of ${tool_input.edits}"});
    let expected = json!({"path": "/a b", "lines": 3, "list": ["x", 7], "plain": "no $1 ${",
        "text": "Write: 3 of [{\"old\":\"x\"}]"});
    assert_eq!(filled(&input, &event), Ok(expected));
}

#[test]
fn a_placeholder_without_its_field_is_a_failure() {
    let event = json!({"tool_input": {"list": [1]}});
    for path in ["tool_input.file_path", "tool_input.list.1", "tool_input.list.x", "HOME", ""] {
        let input = json!({"path": format!("a ${{{path}}}")});
        let error = filled(&input, &event).unwrap_err();
        assert_eq!(error, format!("the event has no field `{path}`"));
    }
    // What the event brings is not searched for placeholders again.
    let event = json!({"tool_input": {"a": "${tool_input.b}"}});
    assert_eq!(fill("x${tool_input.a}", &event), Ok(json!("x${tool_input.b}")));
}

#[test]
fn the_texts_of_a_result_are_the_output() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": "", "mimeType": "image/png"});
    assert_eq!(text_of(&json!({"content": [text("a"), image, text("b")]})), "a\nb");
    let data = json!({"decision": "block"});
    assert_eq!(text_of(&json!({"content": [], "structuredContent": data})), data.to_string());
    assert_eq!(text_of(&json!({"content": [text("a")], "structuredContent": data})), "a");
    assert_eq!(text_of(&json!({})), "");
}
