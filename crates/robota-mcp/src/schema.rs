//! Makes the input schema of a tool acceptable for every model service. One schema that a service
//! rejects would fail the whole request, so a schema that cannot be made acceptable is an error, and
//! only its tool is left out.
//!
//! References are resolved inside the document only; nothing is fetched. The original is kept with the
//! tool's definition, and the server checks the arguments against it.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

/// References and nested schemas are followed to this depth; deeper schemas accept anything.
const MAX_DEPTH: usize = 12;
/// At most this many nested schemas are produced. A recursive schema would otherwise grow without
/// end.
const MAX_NODES: usize = 2_000;
/// At most this many bytes are produced before the size of the result is checked. Each reference is a
/// copy of what it names, so a schema that refers to a long text many times is much larger than the
/// message of the server.
const MAX_PRODUCED: usize = 256 * 1024;
/// Above this size descriptions inside the schema are left out.
const LARGE: usize = 5 * 1024;
/// A schema above this size cannot be offered.
const MAX_BYTES: usize = 32 * 1024;

/// At most this many alternatives of the root, and names in one, are described.
const MAX_ALTERNATIVES: usize = 20;

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
    // Descriptions are most of a large schema, and the model needs the names and types more.
    let projected = project(schema, true).filter(|it| it.to_string().len() <= LARGE);
    let projected = projected.or_else(|| project(schema, false));
    let bytes = |schema: &Value| schema.to_string().len();
    match projected {
        Some(projected) if bytes(&projected) <= MAX_BYTES => Ok(projected),
        Some(projected) => {
            let bytes = bytes(&projected);
            Err(format!("its schema has {bytes} bytes; at most {MAX_BYTES} can be offered"))
        }
        None => Err(format!(
            "its schema has more than {MAX_PRODUCED} bytes; at most {MAX_BYTES} can be offered"
        )),
    }
}

/// Returns the schema for models; none if it would have more than [`MAX_PRODUCED`] bytes.
fn project(schema: &Value, descriptions: bool) -> Option<Value> {
    let mut projection = Projection { root: schema, nodes: 0, bytes: MAX_PRODUCED, descriptions };
    let object = projection.object(schema, 0)?;
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
    Some(Value::Object(root))
}

/// Services reject alternatives at the root: their properties are merged. What all parts of `allOf`
/// require stays required; what only some alternatives require is written into the description.
fn merge_groups(root: &mut Map<String, Value>) {
    let mut merged = Map::new();
    let mut required: Vec<Value> = list(root.get("required"));
    let mut alternatives = Vec::new();
    let mut has_group = false;
    for key in ["anyOf", "oneOf", "allOf"] {
        let Some(Value::Array(parts)) = root.remove(key) else { continue };
        has_group = true;
        let mut of_group = Vec::new();
        for part in parts {
            if let Some(properties) = part.get("properties").and_then(Value::as_object) {
                merged.extend(properties.clone());
            }
            let names = list(part.get("required"));
            match key {
                "allOf" => required.extend(names),
                _ => of_group.push(names),
            }
        }
        if of_group.iter().any(|names| !names.is_empty()) {
            let word = if key == "oneOf" { "exactly one" } else { "at least one" };
            alternatives.push(format!("Give {word} of: {}.", described(&of_group)));
        }
    }
    if !has_group {
        return;
    }
    let mut properties = match root.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    for (name, schema) in merged {
        properties.entry(name).or_insert(schema);
    }
    root.insert("properties".to_owned(), Value::Object(properties));
    root.remove("additionalProperties");
    if !required.is_empty() {
        let mut seen = HashSet::new();
        required.retain(|name| name.as_str().is_some_and(|name| seen.insert(name.to_owned())));
        root.insert("required".to_owned(), Value::Array(required));
    }
    if !alternatives.is_empty() {
        let text = root.get("description").and_then(Value::as_str).unwrap_or_default();
        let text = format!("{text}\n{}", alternatives.join("\n"));
        root.insert("description".to_owned(), json!(text.trim()));
    }
}

fn list(names: Option<&Value>) -> Vec<Value> {
    names.and_then(Value::as_array).cloned().unwrap_or_default()
}

/// Writes which properties each alternative requires.
fn described(alternatives: &[Vec<Value>]) -> String {
    let each = alternatives.iter().take(MAX_ALTERNATIVES).map(|names| {
        let names: Vec<_> = names.iter().filter_map(Value::as_str).take(MAX_ALTERNATIVES).collect();
        if names.is_empty() {
            "nothing more".to_owned()
        } else {
            format!("`{}`", names.join("` and `"))
        }
    });
    each.collect::<Vec<_>>().join("; ")
}

struct Projection<'a> {
    root: &'a Value,
    nodes: usize,
    /// How many bytes can still be produced.
    bytes: usize,
    descriptions: bool,
}

impl<'a> Projection<'a> {
    /// Returns a schema for models; none if too many bytes were produced.
    fn object(&mut self, schema: &'a Value, depth: usize) -> Option<Value> {
        self.nodes += 1;
        let Some(fields) = schema.as_object() else { return Some(json!({})) };
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            return Some(json!({}));
        }
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            let Some(target) = self.resolve(reference) else { return Some(json!({})) };
            let mut resolved = self.object(target, depth + 1)?;
            if let (Some(text), Value::Object(resolved)) =
                (fields.get("description"), &mut resolved)
                && self.descriptions
            {
                resolved.insert("description".to_owned(), self.copy(text)?);
            }
            return Some(resolved);
        }
        let mut out = Map::new();
        self.types(fields, &mut out)?;
        for (key, value) in fields {
            match key.as_str() {
                "description" | "title" if !value.is_string() => {}
                "description" | "title" if depth > 0 && !self.descriptions => {}
                key if PLAIN.contains(&key) => {
                    out.insert(key.to_owned(), self.copy(value)?);
                }
                "const" => {
                    // Not all services know `const`; a list with one value means the same.
                    out.insert("enum".to_owned(), json!([self.copy(value)?]));
                }
                "properties" => {
                    if let Some(properties) = value.as_object() {
                        let mut each = Map::new();
                        for (name, schema) in properties {
                            self.spend(name.len())?;
                            each.insert(name.clone(), self.object(schema, depth + 1)?);
                        }
                        out.insert("properties".to_owned(), Value::Object(each));
                    }
                }
                "items" => {
                    let items = match value {
                        // Old drafts of JSON Schema allow a list of schemas here.
                        Value::Array(items) => items.first().unwrap_or(&Value::Null),
                        other => other,
                    };
                    out.insert("items".to_owned(), self.object(items, depth + 1)?);
                }
                "anyOf" | "oneOf" | "allOf" => {
                    if let Some(parts) = value.as_array() {
                        let mut each = Vec::new();
                        for part in parts {
                            self.spend(0)?;
                            each.push(self.object(part, depth + 1)?);
                        }
                        out.insert(key.clone(), Value::Array(each));
                    }
                }
                "required" => {
                    let mut names = Vec::new();
                    for name in value.as_array().into_iter().flatten().filter(|it| it.is_string()) {
                        names.push(self.copy(name)?);
                    }
                    out.insert("required".to_owned(), Value::Array(names));
                }
                "additionalProperties" => {
                    let value = match value {
                        Value::Object(_) => self.object(value, depth + 1)?,
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
        Some(Value::Object(out))
    }

    /// Counts a value with this many bytes of text; none if too many bytes were produced.
    fn spend(&mut self, text: usize) -> Option<()> {
        // Quotes, commas and braces around it.
        const FRAME: usize = 4;
        self.bytes = self.bytes.checked_sub(text.saturating_add(FRAME))?;
        Some(())
    }

    /// Returns a copy of a value that is kept as it is; none if too many bytes were produced.
    fn copy(&mut self, value: &Value) -> Option<Value> {
        match value {
            Value::String(text) => self.spend(text.len())?,
            Value::Array(items) => {
                self.spend(0)?;
                let copies = items.iter().map(|item| self.copy(item));
                return copies.collect::<Option<_>>().map(Value::Array);
            }
            Value::Object(fields) => {
                self.spend(0)?;
                let mut copies = Map::new();
                for (name, field) in fields {
                    self.spend(name.len())?;
                    copies.insert(name.clone(), self.copy(field)?);
                }
                return Some(Value::Object(copies));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => self.spend(0)?,
        }
        Some(value.clone())
    }

    /// Writes the type. Lists of types become alternatives; `null` with one other type is left out.
    /// Returns
    /// none if too many bytes were produced.
    fn types(&mut self, fields: &Map<String, Value>, out: &mut Map<String, Value>) -> Option<()> {
        match fields.get("type") {
            Some(Value::String(name)) => {
                self.spend(name.len())?;
                out.insert("type".to_owned(), json!(name));
            }
            Some(Value::Array(names)) => {
                let names: Vec<_> =
                    names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect();
                for name in &names {
                    self.spend(name.len())?;
                }
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
        Some(())
    }

    /// Returns the schema that a reference inside the document names.
    fn resolve(&self, reference: &str) -> Option<&'a Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }
}

#[cfg(test)]
mod tests;
