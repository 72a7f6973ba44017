//! Converts the JSON Schema of tools to the form that each wire accepts.
//!
//! Tools describe their arguments in plain JSON Schema. Services accept less. Each function here
//! returns the closest schema that its services accept, and never one that rejects arguments that
//! the
//! tool accepts.

use serde_json::{Map, Value, json};

/// Deeper schemas are cut off: schemas come from outside and must not cause deep recursion.
const DEEPEST: usize = 48;

/// Returns plain JSON Schema with an object at the root, for Anthropic Messages and the OpenAI
/// wires.
pub(crate) fn plain(schema: &Value) -> Value {
    let Value::Object(fields) = schema else { return empty() };
    let mut fields = fields.clone();
    for key in ["$schema", "$id", "title"] {
        fields.shift_remove(key);
    }
    flatten_root(&mut fields);
    fields.insert("type".to_owned(), "object".into());
    if !fields.get("properties").is_some_and(Value::is_object) {
        fields.insert("properties".to_owned(), json!({}));
    }
    // `type` comes first by convention; the order never depends on the input.
    let mut ordered = Map::new();
    for key in ["type", "properties", "required"] {
        if let Some(value) = fields.shift_remove(key) {
            ordered.insert(key.to_owned(), value);
        }
    }
    ordered.extend(fields);
    Value::Object(ordered)
}

fn empty() -> Value {
    json!({"type": "object", "properties": {}})
}

/// Merges alternatives at the root, which services reject: the result has the properties of all
/// branches and requires only what all of them require.
fn flatten_root(fields: &mut Map<String, Value>) {
    for (key, all) in [("allOf", true), ("anyOf", false), ("oneOf", false)] {
        let Some(Value::Array(branches)) = fields.shift_remove(key) else { continue };
        let mut required: Option<Vec<Value>> = None;
        for branch in &branches {
            let properties = branch.get("properties").and_then(Value::as_object);
            let into = fields.entry("properties").or_insert_with(|| json!({}));
            if let (Some(into), Some(properties)) = (into.as_object_mut(), properties) {
                for (name, schema) in properties {
                    into.entry(name.clone()).or_insert_with(|| schema.clone());
                }
            }
            let wanted = branch.get("required").and_then(Value::as_array).cloned();
            let wanted = wanted.unwrap_or_default();
            required = Some(match required {
                None => wanted,
                Some(mut before) if all => {
                    before.extend(wanted);
                    before
                }
                Some(before) => before.into_iter().filter(|one| wanted.contains(one)).collect(),
            });
        }
        let own = fields.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut together = own;
        for name in required.unwrap_or_default() {
            if !together.contains(&name) {
                together.push(name);
            }
        }
        if !together.is_empty() {
            fields.insert("required".to_owned(), Value::Array(together));
        }
    }
}

/// Returns the schema in the form that strict modes require, or `None` if that would change its
/// meaning: every property required, no additional properties, no keyword that strict modes reject.
/// Optional properties are not made nullable, because tools would receive nulls they do not expect.
pub(crate) fn strict(schema: &Value) -> Option<Value> {
    let mut schema = plain(schema);
    close(&mut schema, 0).then_some(schema)
}

const NOT_STRICT: &[&str] = &[
    "$ref",
    "$defs",
    "definitions",
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "default",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
];

fn close(schema: &mut Value, depth: usize) -> bool {
    let Value::Object(fields) = schema else { return false };
    if depth > 8 || NOT_STRICT.iter().any(|key| fields.contains_key(*key)) {
        return false;
    }
    if fields.get("type").and_then(Value::as_str) == Some("object") {
        if fields.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)) {
            return false;
        }
        let required = fields.get("required").and_then(Value::as_array).cloned();
        let required = required.unwrap_or_default();
        let Some(Value::Object(properties)) = fields.get_mut("properties") else { return false };
        let all = properties.keys().all(|name| required.iter().any(|one| one == name.as_str()));
        if !all || !properties.values_mut().all(|schema| close(schema, depth + 1)) {
            return false;
        }
        fields.insert("required".to_owned(), Value::Array(required));
        fields.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    if let Some(items) = fields.get_mut("items")
        && !close(items, depth + 1)
    {
        return false;
    }
    match fields.get_mut("anyOf") {
        None => true,
        Some(Value::Array(branches)) => branches.iter_mut().all(|branch| close(branch, depth + 1)),
        Some(_) => false,
    }
}

/// Returns the OpenAPI subset that Gemini's `parameters` accept: references resolved, null as
/// `nullable`, alternatives as `anyOf`, enums of text only. Returns `None` if there are no
/// arguments,
/// because Gemini rejects an empty object schema.
pub(crate) fn open_api(schema: &Value) -> Option<Value> {
    let root = plain(schema);
    let has_any =
        root.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    has_any.then(|| Value::Object(subset(&root, &root, &mut Vec::new(), 0)))
}

fn subset(
    schema: &Value,
    root: &Value,
    inside: &mut Vec<String>,
    depth: usize,
) -> Map<String, Value> {
    let mut out = Map::new();
    let Value::Object(fields) = schema else {
        // `true` and `false` schemas have no equivalent; text is the most general type.
        out.insert("type".to_owned(), "string".into());
        return out;
    };
    if depth > DEEPEST {
        out.insert("type".to_owned(), "string".into());
        return out;
    }
    if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return match target {
            Some(target) if !inside.iter().any(|seen| seen == reference) => {
                inside.push(reference.to_owned());
                let mut resolved = subset(target, root, inside, depth + 1);
                inside.pop();
                if let Some(text) = fields.get("description") {
                    resolved.insert("description".to_owned(), text.clone());
                }
                resolved
            }
            // A recursive schema cannot be expanded: its inner occurrence accepts any object.
            _ => {
                out.insert("type".to_owned(), "object".into());
                out
            }
        };
    }
    let (types, mut nullable) = types(fields);
    let branches = ["anyOf", "oneOf"]
        .iter()
        .find_map(|key| fields.get(*key)?.as_array())
        .map(|branches| branches.iter().filter(|branch| !is_null(branch)).collect::<Vec<_>>());
    if let Some(branches) = &branches {
        let all = ["anyOf", "oneOf"].iter().find_map(|key| fields.get(*key)?.as_array());
        nullable |= all.is_some_and(|all| all.len() > branches.len());
    }
    match (&branches, fields.get("allOf").and_then(Value::as_array)) {
        (Some(branches), _) if branches.len() == 1 => {
            out = subset(branches[0], root, inside, depth + 1);
        }
        (Some(branches), _) if !branches.is_empty() => {
            let any = branches
                .iter()
                .map(|branch| Value::Object(subset(branch, root, inside, depth + 1)));
            out.insert("anyOf".to_owned(), any.collect());
        }
        (_, Some(all)) if !all.is_empty() => {
            out = subset(&all[0], root, inside, depth + 1);
        }
        _ => match types.as_slice() {
            [] | [_] => scalar_or_more(
                types.first().map(String::as_str),
                fields,
                root,
                inside,
                depth,
                &mut out,
            ),
            several => {
                let any = several.iter().map(|one| {
                    let mut branch = Map::new();
                    scalar_or_more(Some(one), fields, root, inside, depth, &mut branch);
                    Value::Object(branch)
                });
                out.insert("anyOf".to_owned(), any.collect());
            }
        },
    }
    if nullable {
        out.insert("nullable".to_owned(), Value::Bool(true));
    }
    if let Some(text) = fields.get("description").filter(|text| text.is_string()) {
        out.insert("description".to_owned(), text.clone());
    }
    out
}

/// Returns the types that a schema names, without null, and whether null is one of them.
fn types(fields: &Map<String, Value>) -> (Vec<String>, bool) {
    let mut nullable = fields.get("nullable").and_then(Value::as_bool).unwrap_or(false);
    let named: Vec<&str> = match fields.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    nullable |= named.contains(&"null");
    let types = named.into_iter().filter(|one| *one != "null").map(str::to_owned).collect();
    (types, nullable)
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

fn scalar_or_more(
    kind: Option<&str>,
    fields: &Map<String, Value>,
    root: &Value,
    inside: &mut Vec<String>,
    depth: usize,
    out: &mut Map<String, Value>,
) {
    let guessed = if fields.contains_key("properties") {
        "object"
    } else if fields.contains_key("items") {
        "array"
    } else {
        "string"
    };
    let kind = kind.unwrap_or(guessed);
    out.insert("type".to_owned(), kind.into());
    match kind {
        "object" => {
            let properties = fields.get("properties").and_then(Value::as_object);
            let written: Map<String, Value> = properties
                .into_iter()
                .flatten()
                .map(|(name, schema)| {
                    (name.clone(), Value::Object(subset(schema, root, inside, depth + 1)))
                })
                .collect();
            let required: Vec<Value> = fields
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter(|name| name.as_str().is_some_and(|name| written.contains_key(name)))
                .cloned()
                .collect();
            if !written.is_empty() {
                out.insert("properties".to_owned(), Value::Object(written));
            }
            if !required.is_empty() {
                out.insert("required".to_owned(), Value::Array(required));
            }
        }
        "array" => {
            let items = match fields.get("items") {
                Some(items @ Value::Object(_)) => subset(items, root, inside, depth + 1),
                _ => subset(&json!({"type": "string"}), root, inside, depth + 1),
            };
            out.insert("items".to_owned(), Value::Object(items));
            for key in ["minItems", "maxItems"] {
                copy(fields, key, out);
            }
        }
        "integer" | "number" => {
            for key in ["minimum", "maximum"] {
                copy(fields, key, out);
            }
        }
        "string" => {
            let choices = match (fields.get("enum"), fields.get("const")) {
                (Some(Value::Array(all)), _) => all.clone(),
                (_, Some(one)) => vec![one.clone()],
                _ => Vec::new(),
            };
            let texts: Vec<Value> = choices.into_iter().filter(Value::is_string).collect();
            if !texts.is_empty() {
                out.insert("enum".to_owned(), Value::Array(texts));
            }
        }
        _ => {}
    }
}

fn copy(from: &Map<String, Value>, key: &str, into: &mut Map<String, Value>) {
    if let Some(value) = from.get(key) {
        into.insert(key.to_owned(), value.clone());
    }
}

#[cfg(test)]
mod tests;
