//! Makes the input schema of a tool acceptable for every model service. One schema that a service
//! rejects would fail the whole request, so a schema that cannot be made acceptable is an error, and
//! only its tool is left out.
//!
//! References are resolved inside the document only; nothing is fetched. The original is kept with the
//! tool's definition, and the server checks the arguments against it.

use serde_json::{Map, Value, json};

/// References and nested schemas are followed to this depth; deeper schemas accept anything.
const MAX_DEPTH: usize = 12;
/// At most this many nested schemas are produced. A recursive schema would otherwise grow without
/// end.
const MAX_NODES: usize = 2_000;
/// Above this size descriptions inside the schema are left out.
const LARGE: usize = 5 * 1024;
/// A schema above this size cannot be offered.
const MAX_BYTES: usize = 32 * 1024;

/// Keywords that are kept as they are.
const PLAIN: &[&str] = &[
    "description",
    "title",
    "default",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "enum",
];

/// Returns a schema of an object that model services accept.
///
/// # Errors
/// If the schema is too large.
pub fn for_models(schema: &Value) -> Result<Value, String> {
    let mut projected = project(schema, true);
    // Descriptions are most of a large schema, and the model needs the names and types more.
    if projected.to_string().len() > LARGE {
        projected = project(schema, false);
    }
    let bytes = projected.to_string().len();
    if bytes > MAX_BYTES {
        return Err(format!("its schema has {bytes} bytes; at most {MAX_BYTES} can be offered"));
    }
    Ok(projected)
}

fn project(schema: &Value, descriptions: bool) -> Value {
    let mut projection = Projection { root: schema, nodes: 0, descriptions };
    let object = projection.object(schema, 0);
    let mut root = match object {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    merge_groups(&mut root);
    root.insert("type".to_owned(), json!("object"));
    if !root.get("properties").is_some_and(Value::is_object) {
        root.insert("properties".to_owned(), json!({}));
    }
    let known: Vec<String> = root
        .get("properties")
        .and_then(Value::as_object)
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default();
    if let Some(Value::Array(required)) = root.get_mut("required") {
        // Services reject a required property that does not exist.
        required.retain(|name| name.as_str().is_some_and(|name| known.iter().any(|it| it == name)));
    }
    // They mean nothing for an object, and some services reject them.
    for key in ["enum", "items", "format", "pattern", "default"] {
        root.remove(key);
    }
    Value::Object(root)
}

/// Services reject alternatives at the root: their properties are merged, and none is required.
fn merge_groups(root: &mut Map<String, Value>) {
    let mut merged = Map::new();
    let mut has_group = false;
    for key in ["anyOf", "oneOf", "allOf"] {
        let Some(Value::Array(parts)) = root.remove(key) else { continue };
        has_group = true;
        for part in parts {
            if let Some(properties) = part.get("properties").and_then(Value::as_object) {
                merged.extend(properties.clone());
            }
        }
    }
    if has_group {
        let mut properties = match root.remove("properties") {
            Some(Value::Object(properties)) => properties,
            _ => Map::new(),
        };
        for (name, schema) in merged {
            properties.entry(name).or_insert(schema);
        }
        root.insert("properties".to_owned(), Value::Object(properties));
        root.remove("additionalProperties");
    }
}

struct Projection<'a> {
    root: &'a Value,
    nodes: usize,
    descriptions: bool,
}

impl Projection<'_> {
    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        self.nodes += 1;
        let Some(fields) = schema.as_object() else { return json!({}) };
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            return json!({});
        }
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            let Some(target) = self.resolve(reference) else { return json!({}) };
            let mut resolved = self.object(&target, depth + 1);
            if let (Some(text), Value::Object(resolved)) =
                (fields.get("description"), &mut resolved)
                && self.descriptions
            {
                resolved.insert("description".to_owned(), text.clone());
            }
            return resolved;
        }
        let mut out = Map::new();
        self.types(fields, &mut out);
        for (key, value) in fields {
            match key.as_str() {
                "description" | "title" if !value.is_string() => {}
                "description" | "title" if depth > 0 && !self.descriptions => {}
                key if PLAIN.contains(&key) => {
                    out.insert(key.to_owned(), value.clone());
                }
                "const" => {
                    // Not all services know `const`; a list with one value means the same.
                    out.insert("enum".to_owned(), json!([value]));
                }
                "properties" => {
                    if let Some(properties) = value.as_object() {
                        let each = properties
                            .iter()
                            .map(|(name, schema)| (name.clone(), self.object(schema, depth + 1)));
                        let each: Map<_, _> = each.collect();
                        out.insert("properties".to_owned(), Value::Object(each));
                    }
                }
                "items" => {
                    let items = match value {
                        // Old drafts of JSON Schema allow a list of schemas here.
                        Value::Array(items) => items.first().cloned().unwrap_or_default(),
                        other => other.clone(),
                    };
                    out.insert("items".to_owned(), self.object(&items, depth + 1));
                }
                "anyOf" | "oneOf" | "allOf" => {
                    if let Some(parts) = value.as_array() {
                        let parts: Vec<_> =
                            parts.iter().map(|part| self.object(part, depth + 1)).collect();
                        out.insert(key.clone(), Value::Array(parts));
                    }
                }
                "required" => {
                    let names = value.as_array().into_iter().flatten();
                    let names: Vec<_> = names.filter(|name| name.is_string()).cloned().collect();
                    out.insert("required".to_owned(), Value::Array(names));
                }
                "additionalProperties" => {
                    let value = match value {
                        Value::Object(_) => self.object(value, depth + 1),
                        other => json!(other.as_bool().unwrap_or(true)),
                    };
                    out.insert("additionalProperties".to_owned(), value);
                }
                // References, definitions, identifiers and keywords that services do not know.
                _ => {}
            }
        }
        // Services reject a list without a schema of its items.
        if out.get("type") == Some(&json!("array")) && !out.contains_key("items") {
            out.insert("items".to_owned(), json!({}));
        }
        Value::Object(out)
    }

    /// Writes the type. Lists of types become alternatives; `null` beside one type is left out.
    fn types(&mut self, fields: &Map<String, Value>, out: &mut Map<String, Value>) {
        match fields.get("type") {
            Some(Value::String(name)) => {
                out.insert("type".to_owned(), json!(name));
            }
            Some(Value::Array(names)) => {
                let names: Vec<_> =
                    names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect();
                match names.as_slice() {
                    [] => {}
                    [only] => {
                        out.insert("type".to_owned(), json!(only));
                    }
                    several if !fields.contains_key("anyOf") => {
                        let each: Vec<_> = several
                            .iter()
                            .map(|name| match *name {
                                "array" => json!({"type": name, "items": {}}),
                                name => json!({"type": name}),
                            })
                            .collect();
                        out.insert("anyOf".to_owned(), Value::Array(each));
                    }
                    _ => {}
                }
            }
            _ if fields.contains_key("properties") => {
                out.insert("type".to_owned(), json!("object"));
            }
            _ => {}
        }
    }

    /// Returns the schema that a reference inside the document names.
    fn resolve(&self, reference: &str) -> Option<Value> {
        let pointer = reference.strip_prefix('#')?;
        self.root.pointer(pointer).cloned()
    }
}

#[cfg(test)]
mod tests;
