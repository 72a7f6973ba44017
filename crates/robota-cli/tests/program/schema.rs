//! Validates printed lines against `docs/schema/stream-json.schema.json`.

use std::sync::LazyLock;

use serde_json::Value;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/stream-json.schema.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
});

/// Parses printed lines, and asserts that each has exactly the shape of its type.
pub(crate) fn parse_lines(text: &str) -> Vec<Value> {
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    lines.iter().for_each(assert_valid);
    lines
}

/// Asserts that every line of the protocol in a program's output is valid; other lines are ignored.
pub(crate) fn check_output(text: &str) {
    for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        match &line {
            Value::Array(lines) => lines.iter().filter(|line| is_line(line)).for_each(assert_valid),
            line if is_line(line) => assert_valid(line),
            _ => {}
        }
    }
}

/// Returns whether this is a line of the protocol, and not a line of a journal or a report.
fn is_line(line: &Value) -> bool {
    line.get("type").is_some() && line.get("uuid").is_some() && line.get("session_id").is_some()
}

/// Asserts that a line has exactly the shape of its type.
pub(crate) fn assert_valid(line: &Value) {
    let kinds = SCHEMA["anyOf"].as_array().unwrap();
    let of_type = |kind: &&Value| {
        let properties = &resolve(kind)["properties"];
        ["type", "subtype"].iter().all(|key| match properties.get(key) {
            None => true,
            Some(schema) => problems(schema, &line[key], key).is_empty(),
        })
    };
    let kind = kinds.iter().find(of_type).unwrap_or_else(|| panic!("no type for {line}"));
    let found = problems(kind, line, "line");
    assert!(found.is_empty(), "{}\n{line}", found.join("\n"));
}

fn resolve(schema: &Value) -> &Value {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(name) => &SCHEMA["$defs"][name.strip_prefix("#/$defs/").unwrap()],
        None => schema,
    }
}

/// Returns what does not fit. Fields that the schema does not have are problems too.
fn problems(schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let schema = resolve(schema);
    let mut found = Vec::new();
    for key in ["anyOf", "oneOf"] {
        let Some(choices) = schema.get(key).and_then(Value::as_array) else { continue };
        let results: Vec<_> = choices.iter().map(|one| problems(one, value, at)).collect();
        if !results.iter().any(Vec::is_empty) {
            found.push(format!("{at}: fits none of {key}: {results:?}"));
        }
    }
    if let Some(only) = schema.get("const")
        && only != value
    {
        found.push(format!("{at}: {value} is not {only}"));
    }
    if let Some(all) = schema.get("enum").and_then(Value::as_array)
        && !all.contains(value)
    {
        found.push(format!("{at}: {value} is none of {all:?}"));
    }
    let kinds = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind.as_str()],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(value, kind)) {
        found.push(format!("{at}: {value} is not {kinds:?}"));
    }
    if let (Some(properties), Some(fields)) =
        (schema.get("properties").and_then(Value::as_object), value.as_object())
    {
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            if !fields.contains_key(name.as_str().unwrap()) {
                found.push(format!("{at}: {name} is missing"));
            }
        }
        for (name, field) in fields {
            match properties.get(name) {
                Some(schema) => found.extend(problems(schema, field, &format!("{at}.{name}"))),
                // The variants of an enum list their own fields.
                None if schema.get("oneOf").is_some() || schema.get("anyOf").is_some() => {}
                None => found.push(format!("{at}: {name} is not in the schema")),
            }
        }
    }
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        for value in values {
            found.extend(problems(items, value, &format!("{at}[]")));
        }
    }
    found
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}
