//! A JSON Schema, told as Markdown: fields of objects, values of enums, ways of unions.

use std::fmt::Write as _;

use serde_json::Value;

use super::Shapes;

/// What the schema says about itself, on one line.
pub(super) fn description(schema: &Value) -> Option<String> {
    let text = schema.get("description")?.as_str()?;
    // Links between items of the code lead nowhere on a page.
    let text = text.replace("[`", "`").replace("`]", "`");
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The body of a section about a shape.
pub(super) fn describe(schema: &Value, shapes: &Shapes) -> String {
    let fields = schema.get("properties").is_some();
    match (fields, ways(schema)) {
        (true, None) => object(schema),
        (true, Some(ways)) => format!("{}\n{}", object(schema), union("and one of", ways, shapes)),
        (false, Some(ways)) => union("one of", ways, shapes),
        (false, None) => format!("It is {}.\n", type_text(schema)),
    }
}

fn union(head: &str, ways: &[Value], shapes: &Shapes) -> String {
    let mut text = format!("| {head} | meaning |\n|---|---|\n");
    for way in ways {
        let target = Shapes::target(way).and_then(|name| shapes.named.get(name));
        let meaning = description(way).or_else(|| description(target?)).unwrap_or_default();
        let _ = writeln!(text, "| {} | {} |", cell(&way_text(way)), cell(&meaning));
    }
    text
}

fn object(schema: &Value) -> String {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else {
        return String::new();
    };
    let mut text = "| field | type | meaning |\n|---|---|---|\n".to_owned();
    for (name, field) in fields {
        let shown = match required.contains(&name.as_str()) {
            true => format!("`{name}`"),
            false => format!("*`{name}`*"),
        };
        let _ = writeln!(
            text,
            "| {shown} | {} | {} |",
            cell(&type_text(field)),
            cell(&description(field).unwrap_or_default())
        );
    }
    text
}

/// The ways of a union.
fn ways(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()
}

/// One way of a union: a word, or an object with its fields in brackets.
fn way_text(way: &Value) -> String {
    let Some(properties) = way.get("properties").and_then(Value::as_object) else {
        return type_text(way);
    };
    let fields: Vec<String> = properties
        .iter()
        .map(|(name, field)| match constant(field) {
            Some(word) => format!("`{name}`: {word}"),
            None => format!("`{name}`: {}", type_text(field)),
        })
        .collect();
    let shape = Shapes::target(way).map(|name| format!(" and the fields of {}", link(name)));
    format!("{}{}", fields.join(", "), shape.unwrap_or_default())
}

/// The type of a value, in a few words.
pub(super) fn type_text(schema: &Value) -> String {
    if let Some(name) = Shapes::target(schema) {
        return link(name);
    }
    if let Some(word) = constant(schema) {
        return word;
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ");
    }
    if let Some(ways) = ways(schema) {
        let ways: Vec<_> = ways
            .iter()
            .filter(|way| way.get("type").and_then(Value::as_str) != Some("null"))
            .map(type_text)
            .collect();
        return ways.join(" or ");
    }
    match schema.get("type") {
        Some(Value::String(name)) => simple(name, schema),
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.map(|name| simple(name, schema)).collect::<Vec<_>>().join(" or ")
        }
        _ => "any JSON".to_owned(),
    }
}

fn simple(name: &str, schema: &Value) -> String {
    match (name, schema.get("items")) {
        ("array", Some(items)) => format!("list of {}", type_text(items)),
        ("array", None) => "list".to_owned(),
        ("string", _) => "text".to_owned(),
        ("boolean", _) => "true or false".to_owned(),
        (name, _) => name.to_owned(),
    }
}

fn constant(schema: &Value) -> Option<String> {
    schema.get("const").map(|word| format!("`{word}`"))
}

fn link(name: &str) -> String {
    format!("[{name}](#{})", name.to_lowercase())
}

/// Text that does not end a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
