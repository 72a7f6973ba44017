#![allow(clippy::unwrap_used)]
use super::*;

#[expect(clippy::needless_pass_by_value, reason = "JSON built in place is passed by value")]
fn projected(schema: Value) -> Value {
    for_models(&schema).unwrap()
}

#[test]
fn a_plain_schema_stays_as_it_is() {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string", "description": "Where"}, "n": {"type": "integer", "minimum": 1}},
        "required": ["path"], "additionalProperties": false,
    });
    assert_eq!(projected(schema.clone()), schema);
}

#[test]
fn roots_become_objects() {
    for schema in
        [json!(true), json!(null), json!({"type": "string"}), json!({"$schema": "x"}), json!([])]
    {
        let found = projected(schema);
        assert_eq!((&found["type"], &found["properties"]), (&json!("object"), &json!({})));
    }
    let found = projected(json!({"anyOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"b": {"type": "string"}}},
    ]}));
    assert_eq!(found["properties"], json!({"a": {"type": "string"}, "b": {"type": "string"}}));
    assert!(found.get("anyOf").is_none() && found.get("required").is_none());
}

#[test]
fn references_are_resolved_inside_the_document_and_never_fetched() {
    let found = projected(json!({
        "type": "object",
        "properties": {"p": {"$ref": "#/$defs/point"}, "x": {"$ref": "http://127.0.0.1:1/schema"}},
        "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}},
    }));
    let expected =
        json!({"p": {"type": "object", "properties": {"x": {"type": "number"}}}, "x": {}});
    assert_eq!(found["properties"], expected);
    assert!(found.get("$defs").is_none());
}

#[test]
fn recursive_schemas_end() {
    let found = projected(json!({
        "type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {
            "left": {"$ref": "#/$defs/node"}, "right": {"$ref": "#/$defs/node"},
        }}},
    }));
    assert!(found.to_string().len() <= MAX_BYTES * 2);
    let looped = json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}});
    assert_eq!(projected(looped)["properties"]["a"], json!({}));
    assert_eq!(projected(json!({"$ref": "#"}))["type"], "object");
}

#[test]
fn forms_that_services_reject_are_rewritten() {
    let found = projected(json!({"type": "object", "properties": {
        "a": {"type": ["string", "null"]}, "b": {"const": 3}, "c": {"type": "array"},
        "d": {"type": ["string", "array"]}, "e": true,
    }, "required": ["a", "gone", 4]}));
    assert_eq!(
        found["properties"],
        json!({
            "a": {"type": "string"}, "b": {"enum": [3]}, "c": {"type": "array", "items": {}},
            "d": {"anyOf": [{"type": "string"}, {"type": "array", "items": {}}]}, "e": {},
        })
    );
    assert_eq!(found["required"], json!(["a"]));
}

#[test]
fn large_schemas_lose_descriptions_and_huge_ones_are_refused() {
    let property = |words: usize| json!({"type": "string", "description": "w ".repeat(words)});
    let of = |count: usize, words: usize| {
        let all: Map<_, _> = (0..count).map(|n| (format!("p{n}"), property(words))).collect();
        json!({"type": "object", "properties": all})
    };
    let found = projected(of(100, 50));
    assert_eq!(found["properties"]["p7"], json!({"type": "string"}));
    assert!(for_models(&of(1_900, 1)).unwrap_err().contains("at most"));
}
