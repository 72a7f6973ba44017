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

/// Returns 900 properties that refer to one definition.
fn referring(definition: &Value) -> Value {
    let each = (0..900).map(|number| (format!("p{number}"), json!({"$ref": "#/$defs/x"})));
    let properties: Map<_, _> = each.collect();
    json!({"type": "object", "properties": properties, "$defs": {"x": definition}})
}

#[test]
fn references_to_a_long_text_do_not_multiply_it() {
    // As produced text this would be 900 times 200 KB.
    let long = "x".repeat(200_000);
    for definition in [
        json!({"type": "string", "pattern": long}),
        json!({"type": long}),
        json!({"type": [long, "string"]}),
        json!({"enum": [long]}),
        json!({"const": {"a": [long]}}),
        json!({"default": {long.clone(): 1}}),
        json!({"properties": {long.clone(): {}}}),
        json!({"required": [long]}),
        json!({"anyOf": vec![json!(true); 100_000]}),
    ] {
        let error = for_models(&referring(&definition)).unwrap_err();
        assert!(error.contains("more than 262144 bytes"), "{error}");
    }
    // Descriptions are left out before the schema counts as too large.
    let found = projected(referring(&json!({"type": "string", "description": long})));
    assert_eq!(found["properties"]["p7"], json!({"type": "string"}));
}

#[test]
fn groups_at_the_root_keep_what_is_always_required_and_describe_the_rest() {
    let found = projected(json!({
        "description": "Finds a person.",
        "properties": {"limit": {"type": "integer"}}, "required": ["limit"],
        "allOf": [
            {"properties": {"a": {"type": "string"}}, "required": ["a", "limit"]},
            {"properties": {"b": {"type": "string"}}, "required": ["b"]},
        ],
        "oneOf": [
            {"properties": {"name": {"type": "string"}, "town": {"type": "string"}}, "required": ["name", "town"]},
            {"properties": {"id": {"type": "integer"}}, "required": ["id"]},
        ],
    }));
    assert_eq!(found["required"], json!(["limit", "a", "b"]));
    let description = "Finds a person.\nGive exactly one of: `name` and `town`; `id`.";
    assert_eq!(found["description"], description);
    let names: Vec<_> = found["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names.len(), 6, "{names:?}");
}
