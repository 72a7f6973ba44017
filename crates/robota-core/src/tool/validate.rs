//! Checks arguments against the part of JSON Schema that catches a model's usual mistakes: required
//! and unknown keys, and the types of values. Tools that deserialise their arguments check the
//! rest.

use serde_json::{Map, Value};

/// Arguments that a tool cannot use. The text says what the model must correct.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid arguments: {0}")]
pub struct InvalidInput(pub String);

/// Checks arguments against a schema.
///
/// # Errors
/// When a required key is missing, a key is unknown and the schema closes the object, or a
/// value has the wrong type. The error lists the first few mistakes.
pub fn validate(schema: &Value, input: &Value) -> Result<(), InvalidInput> {
    let mut mistakes = Mistakes::default();
    check(schema, input, "", &mut mistakes, 0);
    mistakes.into_result()
}

/// More than this many mistakes do not help a model: further ones are counted only.
// The model gets this text; a thousand wrong items of a list would fill its context.
const MAX_MISTAKES: usize = 16;

#[derive(Default)]
struct Mistakes {
    named: Vec<String>,
    more: usize,
}

impl Mistakes {
    /// Adds a mistake. The text is created only if it is listed.
    fn push(&mut self, text: impl FnOnce() -> String) {
        if self.named.len() < MAX_MISTAKES {
            self.named.push(text());
        } else {
            self.more += 1;
        }
    }

    fn into_result(mut self) -> Result<(), InvalidInput> {
        if self.more > 0 {
            self.named.push(format!("and {} more", self.more));
        }
        if self.named.is_empty() { Ok(()) } else { Err(InvalidInput(self.named.join("; "))) }
    }
}

/// Values nested deeper than this are not checked here; the tool's own deserialisation does it.
const MAX_DEPTH: usize = 16;

fn check(schema: &Value, value: &Value, at: &str, mistakes: &mut Mistakes, depth: usize) {
    let Some(schema) = schema.as_object() else { return };
    // Accepted beyond it: the tool itself reads the arguments with types, and a recursive schema
    // must not overflow the stack.
    if depth > MAX_DEPTH {
        return;
    }
    if let Some(expected) = schema.get("type")
        && !type_matches(expected, value)
    {
        mistakes.push(|| {
            let (expected, found) = (type_names(expected), type_name(value));
            format!("{} must be {expected}, not {found}", name(at))
        });
        return;
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        mistakes.push(|| {
            let allowed: Vec<_> = allowed.iter().map(ToString::to_string).collect();
            format!("{} must be one of {}", name(at), allowed.join(", "))
        });
    }
    match value {
        Value::Object(object) => check_object(schema, object, at, mistakes, depth),
        Value::Array(items) => {
            if let Some(of) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    check(of, item, &format!("{at}[{index}]"), mistakes, depth + 1);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_object(
    schema: &Map<String, Value>,
    object: &Map<String, Value>,
    at: &str,
    mistakes: &mut Mistakes,
    depth: usize,
) {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required = schema.get("required").and_then(Value::as_array);
    for key in required.into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(key) {
            mistakes.push(|| format!("{} is required", name(&join(at, key))));
        }
    }
    // Only an explicit `false`: models add harmless arguments, and a refusal costs a round.
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (key, value) in object {
        match properties.get(key) {
            Some(of) => check(of, value, &join(at, key), mistakes, depth + 1),
            None if closed => mistakes.push(|| {
                let known: Vec<_> = properties.keys().map(String::as_str).collect();
                format!("{} is not known (known: {})", name(&join(at, key)), known.join(", "))
            }),
            None => {}
        }
    }
}

fn join(at: &str, key: &str) -> String {
    if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") }
}

fn name(at: &str) -> String {
    if at.is_empty() { "the arguments".to_owned() } else { format!("`{at}`") }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn type_names(expected: &Value) -> String {
    match expected {
        Value::Array(types) => {
            types.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        other => other.as_str().unwrap_or("something else").to_owned(),
    }
}

fn type_matches(expected: &Value, value: &Value) -> bool {
    let one = |expected: &str| match expected {
        "number" => value.is_number(),
        "integer" => {
            // Models write 2.0 for 2.
            value.is_i64()
                || value.is_u64()
                || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        other => other == type_name(value),
    };
    match expected {
        Value::String(expected) => one(expected),
        Value::Array(types) => types.iter().filter_map(Value::as_str).any(one),
        _ => true,
    }
}
