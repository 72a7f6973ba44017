#![allow(clippy::unwrap_used)]
use super::*;

fn tool(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition::read(
        json!({"name": name, "description": description, "inputSchema": {"type": "object"}}),
    )
    .unwrap()
}

#[test]
fn the_hash_covers_everything_but_the_order_of_keys() {
    let one =
        ToolDefinition::read(json!({"name": "a", "description": "x", "inputSchema": {}})).unwrap();
    let two =
        ToolDefinition::read(json!({"inputSchema": {}, "description": "x", "name": "a"})).unwrap();
    assert_eq!(one.hash(), two.hash());
    for other in [
        json!({"name": "a", "description": "y", "inputSchema": {}}),
        json!({"name": "a", "description": "x", "inputSchema": {"type": "object"}}),
        json!({"name": "a", "description": "x", "inputSchema": {}, "annotations": {"readOnlyHint": true}}),
        json!({"name": "a", "description": "x", "inputSchema": {}, "_meta": {"k": 1}}),
    ] {
        assert_ne!(one.hash(), ToolDefinition::read(other).unwrap().hash());
    }
}

#[test]
fn changes_are_named_and_a_renamed_tool_is_new() {
    let approved = [tool("same", "1"), tool("edited", "1"), tool("old", "1")];
    let now = [tool("same", "1"), tool("edited", "2"), tool("new", "1")];
    let changes = ToolChanges::between(&approved, &now);
    assert_eq!(changes.to_string(), "new: new; changed: edited; gone: old");
    assert!(changes.need_approval() && changes.concern("edited") && !changes.concern("same"));
    assert!(!ToolChanges::between(&approved, &approved[..1]).need_approval());
}

#[test]
fn descriptions_are_cleaned_for_models_but_not_for_the_hash() {
    let hidden = tool("a", "read\u{200b} a file");
    assert_eq!(hidden.description(), "read a file");
    assert_ne!(hidden.hash(), tool("a", "read a file").hash());
}
