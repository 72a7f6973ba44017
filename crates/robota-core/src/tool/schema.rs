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
            // Keywords only: a property of the same name has a schema, not a text, as its value.
            object.retain(|key, value| match key.as_str() {
                "$schema" | "title" | "format" => !value.is_string(),
                "description" => value.as_str() != Some(""),
                "minimum" => !value.is_number(),
                "default" => !value.is_null(),
                _ => true,
            });
            object.values_mut().for_each(slim);
        }
        Value::Array(items) => items.iter_mut().for_each(slim),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
