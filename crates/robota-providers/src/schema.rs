//! Converts the JSON Schema of tools to the form that each wire accepts.
//!
//! Tools describe their arguments in plain JSON Schema. Services accept less. Each function here
//! returns the closest schema that its services accept, and never one that rejects arguments that
//! the tool accepts.

use serde_json::{Map, Value, json};

/// Deeper schemas are cut off: schemas come from outside and must not cause deep recursion.
const MAX_DEPTH: usize = 48;

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
    // `allOf` requires what every branch requires; of alternatives only what all have in common is
    // certain.
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
            let branch_required = branch.get("required").and_then(Value::as_array).cloned();
            let branch_required = branch_required.unwrap_or_default();
            required = Some(match required {
                None => branch_required,
                Some(mut so_far) if all => {
                    so_far.extend(branch_required);
                    so_far
                }
                Some(so_far) => {
                    so_far.into_iter().filter(|one| branch_required.contains(one)).collect()
                }
            });
        }
        let own = fields.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut combined = own;
        for name in required.unwrap_or_default() {
            if !combined.contains(&name) {
                combined.push(name);
            }
        }
        if !combined.is_empty() {
            fields.insert("required".to_owned(), Value::Array(combined));
        }
    }
}

/// Returns the schema in the form that strict modes require, or `None` if that would change its
/// meaning: every property required, no additional properties, no keyword that strict modes reject.
/// Optional properties are not made nullable, because tools would receive nulls they do not expect.
pub(crate) fn strict(schema: &Value) -> Option<Value> {
    let mut schema = plain(schema);
    make_strict(&mut schema, 0).then_some(schema)
}

/// Returns the strict form of the schema of an answer, without the keywords that bound numbers and
/// texts: strict modes reject them, and the shape of the answer is worth more. Typed runs check the
/// answer against the whole schema.
pub(crate) fn strict_output(schema: &Value) -> Option<Value> {
    let mut schema = schema.clone();
    drop_bounds(&mut schema, 0);
    strict(&schema)
}

fn drop_bounds(schema: &mut Value, depth: usize) {
    const BOUNDS: [&str; 10] = [
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "pattern",
    ];
    if depth > MAX_DEPTH {
        return;
    }
    match schema {
        Value::Object(fields) => {
            // A property of the same name has a schema as its value, no number or text.
            fields.retain(|key, value| {
                !(BOUNDS.contains(&key.as_str()) && (value.is_number() || value.is_string()))
            });
            for (key, value) in fields {
                // Their values are data.
                if !["const", "default", "enum"].contains(&key.as_str()) {
                    drop_bounds(value, depth + 1);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| drop_bounds(item, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Keywords that a strict mode rejects, or accepts and ignores.
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

fn make_strict(schema: &mut Value, depth: usize) -> bool {
    let Value::Object(fields) = schema else { return false };
    // Strict modes limit the depth; a deeper schema is sent without the mode.
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
        if !all || !properties.values_mut().all(|schema| make_strict(schema, depth + 1)) {
            return false;
        }
        fields.insert("required".to_owned(), Value::Array(required));
        fields.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    if let Some(items) = fields.get_mut("items")
        && !make_strict(items, depth + 1)
    {
        return false;
    }
    match fields.get_mut("anyOf") {
        None => true,
        Some(Value::Array(branches)) => {
            branches.iter_mut().all(|branch| make_strict(branch, depth + 1))
        }
        Some(_) => false,
    }
}

/// Returns the OpenAPI subset that Gemini's `parameters` accept: references resolved, null as
/// `nullable`, alternatives as `anyOf`, enums of text only. Returns `None` if there are no
/// arguments, because Gemini rejects an empty object schema.
pub(crate) fn open_api(schema: &Value) -> Option<Value> {
    let root = plain(schema);
    let has_any =
        root.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    has_any.then(|| Value::Object(open_api_subset(&root, &root, &mut Vec::new(), 0)))
}

fn open_api_subset(
    schema: &Value,
    root: &Value,
    expanding: &mut Vec<String>,
    depth: usize,
) -> Map<String, Value> {
    let mut out = Map::new();
    let Value::Object(fields) = schema else {
        // `true` and `false` schemas have no equivalent; text is the most general type.
        out.insert("type".to_owned(), "string".into());
        return out;
    };
    if depth > MAX_DEPTH {
        out.insert("type".to_owned(), "string".into());
        return out;
    }
    if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return match target {
            Some(target) if !expanding.iter().any(|seen| seen == reference) => {
                expanding.push(reference.to_owned());
                let mut resolved = open_api_subset(target, root, expanding, depth + 1);
                expanding.pop();
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
            out = open_api_subset(branches[0], root, expanding, depth + 1);
        }
        (Some(branches), _) if !branches.is_empty() => {
            let any = branches
                .iter()
                .map(|branch| Value::Object(open_api_subset(branch, root, expanding, depth + 1)));
            out.insert("anyOf".to_owned(), any.collect());
        }
        // The subset has no `allOf`. One branch alone accepts everything that all of them accept.
        (_, Some(all)) if !all.is_empty() => {
            out = open_api_subset(&all[0], root, expanding, depth + 1);
        }
        _ => match types.as_slice() {
            [] | [_] => write_typed(
                types.first().map(String::as_str),
                fields,
                root,
                expanding,
                depth,
                &mut out,
            ),
            several => {
                let any = several.iter().map(|one| {
                    let mut branch = Map::new();
                    write_typed(Some(one), fields, root, expanding, depth, &mut branch);
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

fn write_typed(
    kind: Option<&str>,
    fields: &Map<String, Value>,
    root: &Value,
    expanding: &mut Vec<String>,
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
            let encoded: Map<String, Value> = properties
                .into_iter()
                .flatten()
                .map(|(name, schema)| {
                    (
                        name.clone(),
                        Value::Object(open_api_subset(schema, root, expanding, depth + 1)),
                    )
                })
                .collect();
            let required: Vec<Value> = fields
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                // The service rejects a required name without a property.
                .filter(|name| name.as_str().is_some_and(|name| encoded.contains_key(name)))
                .cloned()
                .collect();
            if !encoded.is_empty() {
                out.insert("properties".to_owned(), Value::Object(encoded));
            }
            if !required.is_empty() {
                out.insert("required".to_owned(), Value::Array(required));
            }
        }
        "array" => {
            let items = match fields.get("items") {
                Some(items @ Value::Object(_)) => {
                    open_api_subset(items, root, expanding, depth + 1)
                }
                // A list without the type of its items is rejected.
                _ => open_api_subset(&json!({"type": "string"}), root, expanding, depth + 1),
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
