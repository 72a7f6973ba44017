use super::*;

#[test]
fn the_root_is_always_an_object() {
    for schema in [json!(null), json!(true), json!({}), json!({"type": "string"}), json!([1])] {
        assert_eq!(plain(&schema)["type"], "object", "{schema}");
        assert!(plain(&schema)["properties"].is_object());
    }
    let schema = json!({"$schema": "x", "title": "T", "properties": {"a": {"type": "string"}},
        "additionalProperties": false});
    assert_eq!(
        plain(&schema).to_string(),
        r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#
    );
}

#[test]
fn alternatives_at_the_root_are_merged() {
    let schema = json!({"oneOf": [
        {"properties": {"a": {}, "b": {}}, "required": ["a", "b"]},
        {"properties": {"b": {}, "c": {}}, "required": ["b"]},
    ]});
    let plain = plain(&schema);
    assert_eq!(plain["required"], json!(["b"]));
    let names: Vec<_> = plain["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(plain.get("oneOf").is_none());
}

#[test]
fn strict_only_if_the_meaning_is_unchanged() {
    let fits = json!({"type": "object", "required": ["a", "n"], "properties": {
        "a": {"type": "string"},
        "n": {"type": "object", "required": ["x"], "properties": {"x": {"type": ["string", "null"]}}}}});
    let strict_form = strict(&fits).unwrap();
    assert_eq!(strict_form["additionalProperties"], false);
    assert_eq!(strict_form["properties"]["n"]["additionalProperties"], false);
    let optional = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    assert_eq!(strict(&optional), None);
    let bounded = json!({"type": "object", "required": ["a"],
        "properties": {"a": {"type": "integer", "minimum": 1}}});
    assert_eq!(strict(&bounded), None);
    // The bounds of an answer do not cost it its shape.
    let answer = json!({"type": "object", "required": ["n", "format"], "properties": {
        "n": {"type": "integer", "minimum": 1},
        "format": {"enum": [{"format": "a"}]}}});
    let strict_answer = strict_output(&answer).unwrap();
    assert_eq!(strict_answer["properties"]["n"], json!({"type": "integer"}));
    assert_eq!(strict_answer["properties"]["format"]["enum"], json!([{"format": "a"}]));
}

#[test]
fn open_api_converts_null_references_and_enums() {
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["mode", "gone"],
        "$defs": {"Item": {"type": "object", "properties": {"id": {"type": "integer", "format": "uint64"}}}},
        "properties": {
            "mode": {"enum": ["a", "b", 3], "description": "how"},
            "count": {"type": ["integer", "null"], "minimum": 0, "default": null},
            "list": {"type": "array"},
            "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "either": {"oneOf": [{"type": "string"}, {"type": "number"}]},
            "both": {"type": ["string", "number"]},
        }
    });
    assert_eq!(
        open_api(&schema).unwrap(),
        json!({"type": "object", "properties": {
            "mode": {"type": "string", "enum": ["a", "b"], "description": "how"},
            "count": {"type": "integer", "minimum": 0, "nullable": true},
            "list": {"type": "array", "items": {"type": "string"}},
            "items": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}},
            "maybe": {"type": "string", "nullable": true},
            "either": {"anyOf": [{"type": "string"}, {"type": "number"}]},
            "both": {"anyOf": [{"type": "string"}, {"type": "number"}]},
        }, "required": ["mode"]})
    );
    assert_eq!(open_api(&json!({"type": "object", "properties": {}})), None);
}

#[test]
fn recursive_schemas_terminate() {
    let tree = json!({"type": "object", "$defs": {"T": {"type": "object", "properties": {
        "left": {"$ref": "#/$defs/T"}, "right": {"$ref": "#"}}}},
        "properties": {"t": {"$ref": "#/$defs/T"}}});
    let written = open_api(&tree).unwrap().to_string();
    assert!(!written.contains("$ref"), "{written}");
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "object", "properties": {"p": deep}});
    }
    assert!(open_api(&deep).is_some());
    assert_eq!(plain(&deep)["type"], "object");
}
