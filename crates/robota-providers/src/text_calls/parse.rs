//! Parses calls that are written as JSON or XML.

use robota_core::tool::ToolSpec;
use serde_json::{Map, Value, json};

/// The tool's name and its arguments.
pub(super) type Call = (String, Value);

/// Parses the content of a `<tool_call>` tag: JSON or XML.
pub(super) fn tagged(body: &str, tools: &[ToolSpec]) -> Option<Vec<Call>> {
    if body.trim_start().starts_with("<function=") {
        return xml(body.trim(), tools).map(|call| vec![call]);
    }
    json_calls(body)
}

/// Parses one call, a list of calls, or several consecutive calls.
pub(super) fn json_calls(body: &str) -> Option<Vec<Call>> {
    let mut calls = Vec::new();
    for value in serde_json::Deserializer::from_str(body.trim()).into_iter::<Value>() {
        match value.ok()? {
            Value::Array(list) => {
                for one in &list {
                    calls.push(json_call(one)?);
                }
            }
            one => calls.push(json_call(&one)?),
        }
    }
    Some(calls)
}

fn json_call(value: &Value) -> Option<Call> {
    let value = value.get("function").filter(|inner| inner.is_object()).unwrap_or(value);
    // Models mix the notations that they were trained with, so several names are understood.
    let name = ["name", "tool", "tool_name"].iter().find_map(|key| value.get(key)?.as_str())?;
    let arguments =
        ["arguments", "parameters", "input", "args"].iter().find_map(|key| value.get(key)).cloned();
    let arguments = match arguments {
        Some(Value::String(text)) => serde_json::from_str(&text).ok()?,
        Some(value) => value,
        None => json!({}),
    };
    // A text with a name and a list, for instance in an example, is not a call.
    arguments.is_object().then(|| (name.to_owned(), arguments))
}

/// Parses `[{"name": …}]` or `name[ARGS]{…}`, the text after `[TOOL_CALLS]`.
pub(super) fn token(body: &str) -> Option<Vec<Call>> {
    let body = body.trim();
    if body.starts_with(['[', '{']) {
        return json_calls(body);
    }
    let mut calls = Vec::new();
    for one in body.split("[TOOL_CALLS]") {
        let (name, arguments) = one.split_once("[ARGS]")?;
        let arguments: Value = serde_json::from_str(arguments.trim()).ok()?;
        calls.push((name.trim().to_owned(), arguments));
    }
    Some(calls)
}

/// Parses `<function=name><parameter=key>value</parameter>…</function>`. Values are text; the
/// tool's schema determines their types.
pub(super) fn xml(body: &str, tools: &[ToolSpec]) -> Option<Call> {
    let rest = body.trim_start().strip_prefix("<function=")?;
    let (name, mut rest) = rest.split_once('>')?;
    let name = name.trim().trim_matches('"').to_owned();
    let schema = tools.iter().find(|tool| tool.name == name).map(|tool| &tool.input_schema);
    let mut arguments = Map::new();
    while let Some((_, after)) = rest.split_once("<parameter=") {
        let (key, after) = after.split_once('>')?;
        let key = key.trim().trim_matches('"');
        // A value without a closing tag extends to the next parameter, or to the end of the call.
        let ends = ["</parameter>", "<parameter=", "</function>"];
        let end = ends.iter().filter_map(|end| after.find(end)).min()?;
        let value = &after[..end];
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        arguments.insert(key.to_owned(), coerce(value, schema, key));
        rest = &after[end..];
    }
    Some((name, Value::Object(arguments)))
}

/// Converts text to the type in the schema; keeps it as text if that is not possible.
fn coerce(text: &str, schema: Option<&Value>, key: &str) -> Value {
    let kind = schema.and_then(|schema| schema.get("properties")?.get(key)?.get("type"));
    let wants = |name: &str| match kind {
        Some(Value::String(kind)) => kind == name,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == name),
        _ => false,
    };
    // Without a type the text is kept: a tool for code must not get a number for `1e5`.
    if wants("string") || kind.is_none() {
        return text.into();
    }
    match serde_json::from_str::<Value>(text.trim()) {
        Ok(value) => value,
        Err(_) => match text.trim().to_ascii_lowercase().as_str() {
            "true" if wants("boolean") => true.into(),
            "false" if wants("boolean") => false.into(),
            _ => text.into(),
        },
    }
}

/// Returns whether the text is JSON of which only the end is missing.
pub(super) fn is_incomplete_json(body: &str) -> bool {
    let body = body.trim_start();
    body.starts_with(['{', '['])
        && serde_json::from_str::<serde::de::IgnoredAny>(body).is_err_and(|error| error.is_eof())
}
