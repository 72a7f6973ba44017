//! Checks a schema itself, for callers that receive one from a user.

use serde_json::Value;

use super::reference::resolve;

/// A schema that no value can be checked against. The text says what the author of the schema must
/// correct, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSchema(String);

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// Keywords whose value is one schema.
const ONE: [&str; 9] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
];
/// Keywords whose value is a list of schemas. `items` of older drafts is one as well.
const LISTS: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/// Keywords whose value has schemas by name.
const MAPS: [&str; 5] =
    ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// Checks that a schema names only types that exist, and refers only to schemas that it has. Without
/// this check a typing error would refuse, or accept, every value.
///
/// # Errors
/// With the first mistake and its place, as a JSON Pointer.
pub fn check_schema(schema: &Value) -> Result<(), InvalidSchema> {
    // A list of what is left to check, not recursion: the schema may be nested deeply.
    let mut left = vec![(String::new(), schema)];
    while let Some((at, one)) = left.pop() {
        let fields = match one {
            Value::Object(fields) => fields,
            Value::Bool(_) => continue,
            other => {
                return Err(InvalidSchema(format!(
                    "a schema is an object, not {other}{}",
                    place(&at)
                )));
            }
        };
        for name in types(fields.get("type")) {
            if !name.as_str().is_some_and(|name| TYPES.contains(&name)) {
                let known = TYPES.join(", ");
                return Err(InvalidSchema(format!(
                    "unknown type {name}{} (known: {known})",
                    place(&at)
                )));
            }
        }
        if let Some(reference) = fields.get("$ref")
            && reference.as_str().and_then(|text| resolve(schema, text)).is_none()
        {
            return Err(InvalidSchema(format!(
                "{reference}{} refers to nothing in the schema (write \"#/$defs/NAME\")",
                place(&at)
            )));
        }
        for (key, value) in fields {
            let key = key.as_str();
            match value {
                Value::Array(items) if LISTS.contains(&key) => {
                    left.extend(
                        (0..).zip(items).map(|(index, item)| (format!("{at}/{key}/{index}"), item)),
                    );
                }
                Value::Object(named) if MAPS.contains(&key) => {
                    left.extend(
                        named.iter().map(|(name, item)| (format!("{at}/{key}/{name}"), item)),
                    );
                }
                value if ONE.contains(&key) => left.push((format!("{at}/{key}"), value)),
                _ => {}
            }
        }
    }
    Ok(())
}

fn types(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::Array(several)) => several,
        Some(one) => std::slice::from_ref(one),
        None => &[],
    }
}

fn place(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!(" at {at}") }
}
