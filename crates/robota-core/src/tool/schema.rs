//! JSON Schemas from Rust types.

use schemars::JsonSchema;
use serde_json::Value;

/// Returns the JSON Schema of a type, without keywords that cost tokens and do not help a model.
#[must_use]
pub fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    slim(&mut schema);
    schema
}

fn slim(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            let unsigned = object
                .get("format")
                .and_then(Value::as_str)
                .is_some_and(|of| of.starts_with("uint"));
            // Keywords only: a property of the same name has a schema, not a text, as its value.
            object.retain(|key, value| match key.as_str() {
                "$schema" | "title" => !value.is_string(),
                "format" => value.as_str().is_none_or(|format| !is_number_format(format)),
                "description" => value.as_str() != Some(""),
                // The Rust type refuses negative numbers anyway. A bound that a developer wrote stays.
                "minimum" => !(unsigned && value.as_f64() == Some(0.0)),
                "default" => !value.is_null(),
                _ => true,
            });
            object.values_mut().for_each(slim);
        }
        Value::Array(items) => items.iter_mut().for_each(slim),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns whether a format only names the Rust type of a number.
fn is_number_format(format: &str) -> bool {
    let bits = format.strip_prefix("uint").or_else(|| format.strip_prefix("int"));
    bits.is_some_and(|bits| bits.bytes().all(|byte| byte.is_ascii_digit()))
        || matches!(format, "float" | "double")
}
