use serde_json::{Value, json};

use super::{FieldKind, Form};

fn form(properties: &Value) -> Form {
    Form::parse(&json!({"type": "object", "properties": properties, "required": ["a"]})).unwrap()
}

#[test]
fn defaults_are_added_on_accept() {
    let form = form(&json!({
        "a": {"type": "string", "default": "John"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
        "none": {"type": "string"},
    }));
    let complete = form.complete(&json!({"age": 31, "unknown": 1})).unwrap();
    assert_eq!(
        complete,
        json!({"a": "John", "age": 31, "score": 95.5, "status": "active", "verified": true})
    );
}

#[test]
fn all_five_kinds_of_choices_are_read() {
    let titled = json!([{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]);
    let form = form(&json!({
        "a": {"type": "string", "enum": ["r", "g"]},
        "b": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
        "c": {"type": "string", "oneOf": titled},
        "d": {"type": "array", "items": {"type": "string", "enum": ["r", "g"]}, "maxItems": 1},
        "e": {"type": "array", "items": {"anyOf": titled}, "minItems": 1},
    }));
    let read = |at: usize, text: &str| form.fields[at].read(text);
    assert_eq!(read(0, "g").unwrap(), "g");
    assert!(read(0, "Green").is_err());
    assert_eq!(read(1, "Green").unwrap(), "g");
    assert_eq!(read(2, "Red").unwrap(), "r");
    assert!(read(3, "r, g").is_err(), "at most one");
    assert_eq!(read(4, "Red, Green").unwrap(), json!(["r", "g"]));
    assert!(read(4, "").is_err(), "at least one");
}

#[test]
fn answers_that_do_not_fit_are_refused() {
    for (field, good, bad) in [
        (json!({"type": "string", "minLength": 2, "maxLength": 3}), json!("ab"), json!("abcd")),
        (json!({"type": "string", "format": "email"}), json!("a@b.c"), json!("a b@c.d")),
        (json!({"type": "string", "format": "uri"}), json!("https://a.b"), json!("a.b")),
        (json!({"type": "string", "format": "date"}), json!("2026-02-03"), json!("2026-13-03")),
        (
            json!({"type": "string", "format": "date-time"}),
            json!("2026-02-03T04:05:06Z"),
            json!("2026-02-03"),
        ),
        (json!({"type": "integer", "minimum": 1}), json!(2), json!(1.5)),
        (json!({"type": "number", "maximum": 1}), json!(0.5), json!(2)),
        (json!({"type": "boolean"}), json!(true), json!("true")),
        (json!({"type": "string", "enum": ["x"]}), json!("x"), json!("y")),
    ] {
        let form = form(&json!({"a": field}));
        assert!(form.complete(&json!({"a": good})).is_ok(), "{field}");
        assert!(form.complete(&json!({"a": bad})).is_err(), "{field}");
        assert!(form.complete(&json!({})).is_err(), "{field}: it is required");
    }
}

#[test]
fn other_schemas_are_no_forms() {
    for properties in [
        json!({"a": {"type": "object", "properties": {}}}),
        json!({"a": {"type": "array", "items": {"type": "string"}}}),
        json!({"a": {"$ref": "#/definitions/x"}}),
        json!({"a": {"type": "string", "enum": []}}),
        json!({"a": {"type": "string", "enum": [1]}}),
        json!({"a": true}),
        json!([]),
        Value::Object((0..51).map(|n| (n.to_string(), json!({"type": "boolean"}))).collect()),
    ] {
        assert!(Form::parse(&json!({"type": "object", "properties": properties})).is_err());
    }
    // A default that does not fit is ignored.
    let form = form(&json!({"a": {"type": "integer", "default": "x"}}));
    assert_eq!(form.fields[0].default, None);
}

#[test]
fn texts_for_people_have_no_control_characters() {
    let form = form(&json!({"a": {"type": "string", "title": "A\u{1b}[2Jb\u{202e}"}}));
    assert!(!form.fields[0].title.contains(['\u{1b}', '\u{202e}']), "{:?}", form.fields[0].title);
    assert_eq!(form.fields[0].kind, FieldKind::Text { min: None, max: None, format: None });
}
