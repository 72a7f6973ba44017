use serde_json::json;

use super::*;

#[test]
fn mistakes_are_named_all_at_once() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "limit": {"type": ["integer", "null"]},
            "mode": {"enum": ["a", "b"]},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    assert!(validate(&schema, &json!({"path": "x", "limit": 2.0, "mode": "a"})).is_ok());
    let error = validate(&schema, &json!({"limit": "2", "mode": "c", "file": 1})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid arguments: `path` is required; `limit` must be integer or null, not string; \
         `mode` must be one of \"a\", \"b\"; `file` is not known (known: path, limit, mode)"
    );
    let error = validate(&schema, &json!([])).unwrap_err();
    assert_eq!(error.to_string(), "invalid arguments: the arguments must be object, not array");
}

#[test]
fn a_deep_schema_does_not_overflow() {
    let mut schema = json!({"type": "string"});
    let mut value = json!(1);
    for _ in 0..10_000 {
        // `json!` would copy its argument once per level.
        let mut outer = json!({"type": "array"});
        outer["items"] = schema;
        schema = outer;
        value = serde_json::Value::Array(vec![value]);
    }
    assert!(validate(&schema, &value).is_ok());
    // Dropped in another way, because serde_json drops nested values recursively.
    std::mem::forget((schema, value));
}
