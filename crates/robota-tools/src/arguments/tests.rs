use schemars::JsonSchema;
use serde_json::json;

use super::*;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// What it is called.
    title: String,
    /// How many.
    #[serde(default, deserialize_with = "whole_number")]
    count: Option<u64>,
}

#[test]
fn a_schema_has_no_keywords_that_models_do_not_need() {
    assert_eq!(
        schema_of::<Input>(),
        json!({
            "type": "object",
            "properties": {
                "title": {"description": "What it is called.", "type": "string"},
                "count": {"description": "How many.", "type": ["integer", "null"]},
            },
            "additionalProperties": false,
            "required": ["title"],
        })
    );
}

#[test]
fn integers_are_accepted_as_models_write_them() {
    let count = |value: Value| parse::<Input>(json!({"title": "", "count": value}));
    let input = count(json!(3)).unwrap();
    assert_eq!((input.title.as_str(), input.count), ("", Some(3)));
    assert_eq!(count(json!(3.0)).unwrap().count, Some(3));
    assert_eq!(count(Value::Null).unwrap().count, None);
    assert_eq!(parse::<Input>(json!({"title": ""})).unwrap().count, None);
    for bad in [json!(-1), json!(2.5), json!(1e300), json!("3")] {
        let EarlyOutcome(outcome) = count(bad.clone()).unwrap_err().into();
        assert_eq!(outcome.error_code.as_deref(), Some("invalid_input"), "{bad}");
        assert!(outcome.text().starts_with("invalid arguments: "), "{}", outcome.text());
    }
}
