//! Describes a JSON Schema as Markdown: the fields of an object, the variants of a union.

use serde_json::Value;

use super::Shapes;
use crate::generate::table;

/// Returns the description of a schema, on one line.
pub(super) fn description(schema: &Value) -> Option<String> {
    let text = schema.get("description")?.as_str()?;
    // Links between items of the code have no target on a page.
    let text = text.replace("[`", "`").replace("`]", "`");
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns the body of the section about a schema.
pub(super) fn describe(schema: &Value, shapes: &Shapes) -> String {
    match (schema.get("properties").is_some(), variants(schema)) {
        (true, None) => object(schema),
        (true, Some(all)) => format!("{}\n{}", object(schema), union("and one of", all, shapes)),
        (false, Some(all)) => union("one of", all, shapes),
        (false, None) => format!("It is {}.\n", type_text(schema)),
    }
}

fn union(head: &str, variants: &[Value], shapes: &Shapes) -> String {
    let rows = variants.iter().map(|variant| {
        let target = Shapes::target(variant).and_then(|name| shapes.named.get(name));
        let meaning = description(variant).or_else(|| description(target?)).unwrap_or_default();
        vec![variant_text(variant), meaning]
    });
    table(&[head, "meaning"], rows)
}

fn object(schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let rows = fields.map(|(name, field)| {
        let shown = if is_required(name) { format!("`{name}`") } else { format!("*`{name}`*") };
        vec![shown, type_text(field), description(field).unwrap_or_default()]
    });
    table(&["field", "type", "meaning"], rows)
}

fn variants(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()
}

/// Describes one variant of a union: a constant, or an object with its fields.
fn variant_text(variant: &Value) -> String {
    let Some(properties) = variant.get("properties").and_then(Value::as_object) else {
        return type_text(variant);
    };
    let field = |(name, field): (&String, &Value)| format!("`{name}`: {}", type_text(field));
    let fields: Vec<String> = properties.iter().map(field).collect();
    let shape = Shapes::target(variant).map(|name| format!(" and the fields of {}", link(name)));
    format!("{}{}", fields.join(", "), shape.unwrap_or_default())
}

fn type_text(schema: &Value) -> String {
    if let Some(name) = Shapes::target(schema) {
        return link(name);
    }
    let all = |key: &str| match schema.get(key) {
        Some(Value::Array(all)) => all.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let constants = [all("const"), all("enum")].concat();
    let constants: Vec<_> = constants.iter().map(|constant| format!("`{constant}`")).collect();
    let is_null = |variant: &&Value| variant.get("type").is_some_and(|name| name == "null");
    let unions = variants(schema).into_iter().flatten().filter(|it| !is_null(it)).map(type_text);
    let names = all("type").iter().filter_map(Value::as_str).filter(|name| *name != "null");
    let names = names.map(|name| simple(name, schema)).collect();
    let texts = [constants, unions.collect(), names].into_iter().find(|texts| !texts.is_empty());
    texts.map_or_else(|| "any JSON".to_owned(), |texts| texts.join(" or "))
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

fn link(name: &str) -> String {
    format!("[{name}](#{})", name.to_lowercase())
}
