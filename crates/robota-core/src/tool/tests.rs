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
    let error = validate(&schema, &value).unwrap_err().0;
    assert!(error.contains("nested too deeply"), "{error}");
    // Dropped in another way, because serde_json drops nested values recursively.
    std::mem::forget((schema, value));
}

#[test]
fn the_bounds_of_a_type_are_part_of_its_schema() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Order {
        #[schemars(range(min = 1, max = 9))]
        pieces: u32,
        #[schemars(range(min = 0))]
        discount: i32,
        count: u64,
        weight: f32,
        #[schemars(email, length(max = 40))]
        email: String,
        format: String,
    }
    let schema = schema_of::<Order>();
    assert_eq!(
        schema["properties"],
        json!({
            "pieces": {"type": "integer", "minimum": 1, "maximum": 9},
            "discount": {"type": "integer", "minimum": 0},
            // Numbers of Rust: no service knows these formats, and serde refuses a negative count.
            "count": {"type": "integer"},
            "weight": {"type": "number"},
            "email": {"type": "string", "format": "email", "maxLength": 40},
            "format": {"type": "string"},
        })
    );
}
