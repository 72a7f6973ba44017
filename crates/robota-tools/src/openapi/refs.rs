//! Resolves `$ref` within a document. Nothing is fetched.

use serde_json::{Map, Value};

/// How deep schemas are resolved.
const MAX_DEPTH: usize = 12;
/// How many values the schema of one operation has at most.
const MAX_VALUES: usize = 5_000;
/// How many bytes of names and texts the schema of one operation has at most. A short document can
/// refer to a long text many times, and each reference is a copy.
const MAX_BYTES: usize = 128 * 1024;
/// How many references may refer to each other before there is a value.
const MAX_CHAIN: usize = 16;

/// Returns what a value refers to, or the value itself.
///
/// # Errors
/// If the reference leads nowhere, into another document, or in a circle.
pub(super) fn target<'a>(document: &'a Value, value: &'a Value) -> Result<&'a Value, String> {
    let mut at = value;
    for _ in 0..MAX_CHAIN {
        let Some(reference) = at.get("$ref").and_then(Value::as_str) else { return Ok(at) };
        let pointer = reference
            .strip_prefix('#')
            .ok_or_else(|| format!("`{reference}` is in another document"))?;
        at = document
            .pointer(&percent_decoded(pointer))
            .ok_or_else(|| format!("`{reference}` does not exist"))?;
    }
    Err("a reference refers to itself".to_owned())
}

/// What the schema of one operation may still grow by.
pub(super) struct Budget {
    values: usize,
    bytes: usize,
}

impl Budget {
    pub(super) fn of_operation() -> Self {
        Self { values: MAX_VALUES, bytes: MAX_BYTES }
    }

    fn spend(&mut self, values: usize, bytes: usize) -> Result<(), String> {
        let left = self.values.checked_sub(values).zip(self.bytes.checked_sub(bytes));
        let (values, bytes) = left.ok_or("its schema is too large")?;
        *self = Self { values, bytes };
        Ok(())
    }
}

/// Returns a schema without references. A schema that contains itself is cut where it would start
/// again; below that anything is valid.
///
/// # Errors
/// If a reference cannot be resolved, or the schema is larger than the budget.
pub(super) fn inlined(
    document: &Value,
    schema: &Value,
    budget: &mut Budget,
) -> Result<Value, String> {
    Inline { document, open: Vec::new(), budget }.value(schema, 0)
}

struct Inline<'a, 'b> {
    document: &'a Value,
    /// The references that are being resolved.
    open: Vec<&'a str>,
    budget: &'b mut Budget,
}

impl<'a> Inline<'a, '_> {
    fn value(&mut self, value: &'a Value, depth: usize) -> Result<Value, String> {
        self.budget.spend(1, value.as_str().map_or(0, str::len))?;
        // An empty schema accepts everything, so a call is still possible.
        if depth > MAX_DEPTH {
            return Ok(Value::Object(Map::new()));
        }
        match value {
            Value::Object(fields) => {
                if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                    // A type that contains itself ends here, as one that is too deep does.
                    if self.open.contains(&reference) {
                        return Ok(Value::Object(Map::new()));
                    }
                    let resolved = target(self.document, value)?;
                    self.open.push(reference);
                    let resolved = self.value(resolved, depth + 1);
                    self.open.pop();
                    return resolved;
                }
                let mut all = Map::new();
                for (name, field) in fields {
                    // Examples are long and of no use for a model that has the schema.
                    if matches!(name.as_str(), "example" | "examples" | "xml" | "externalDocs")
                        || name.starts_with("x-")
                    {
                        continue;
                    }
                    self.budget.spend(0, name.len())?;
                    all.insert(name.clone(), self.value(field, depth + 1)?);
                }
                nullable(&mut all);
                Ok(Value::Object(all))
            }
            Value::Array(items) => {
                let items = items.iter().map(|item| self.value(item, depth + 1));
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }
            other => Ok(other.clone()),
        }
    }
}

/// Writes `nullable` of version 3.0 as JSON Schema.
fn nullable(schema: &mut Map<String, Value>) {
    let Some(Value::Bool(true)) = schema.remove("nullable") else { return };
    if let Some(Value::String(kind)) = schema.get("type") {
        let both = vec![Value::from(kind.as_str()), Value::from("null")];
        schema.insert("type".to_owned(), Value::Array(both));
    }
}

/// Decodes the part of a reference after `#`, such as `/paths/~1pets%7Bid%7D`.
fn percent_decoded(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match (byte, hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(decoded)) => {
                bytes.push(decoded);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
