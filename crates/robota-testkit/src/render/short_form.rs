//! Short forms of values, chosen by their shape, so that new events are readable without changes.

use serde_json::{Map, Value};

use super::Names;

/// The most characters of a text that are shown.
const MAX_SHOWN: usize = 80;

/// Renders one field of an event; returns `None` if it is empty.
pub(super) fn field(kind: &str, key: &str, value: &Value, names: &mut Names) -> Option<String> {
    // Durations differ from run to run, and snapshots must not.
    if key == "duration_ms" || is_empty_value(value) {
        return None;
    }
    if let Some(ids) = ids(kind, key, value, names) {
        return Some(ids);
    }
    Some(match value {
        Value::Object(object) => match short_object(object, names) {
            Some(text) => text,
            None => format!("{key}={}", value_text(value, names)),
        },
        Value::Array(_) if key == "content" => contents(value, names),
        Value::Array(_) if key == "tools" => value_text(value, names),
        _ => format!("{key}={}", value_text(value, names)),
    })
}

fn is_empty_value(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// Renders ids, which are recognised by their key.
fn ids(kind: &str, key: &str, value: &Value, names: &mut Names) -> Option<String> {
    let what = match key {
        "call" | "calls" | "sealed" => "call",
        "message" | "keep_from" => "msg",
        "session" | "child" => "session",
        // In these two events, `input` holds the arguments of a call.
        "input" if kind != "hook_finished" && kind != "tool_started" => "input",
        _ => return None,
    };
    match value {
        Value::String(id) => Some(names.short(what, id)),
        Value::Array(list) => {
            let short: Option<Vec<String>> =
                list.iter().map(|id| id.as_str().map(|id| names.short(what, id))).collect();
            short.map(|ids| format!("[{}]", ids.join(" ")))
        }
        _ => None,
    }
}

fn value_text(value: &Value, names: &mut Names) -> String {
    match value {
        // Numbered like ids, so that a snapshot shows which hashes are equal.
        Value::String(text) if is_hash(text) => names.short("sha", text),
        Value::String(text) if is_plain_word(text) => text.clone(),
        Value::String(text) => quoted(text),
        Value::Array(list) => {
            let parts: Vec<String> = list.iter().map(|item| value_text(item, names)).collect();
            format!("[{}]", parts.join(", "))
        }
        Value::Object(object) => short_object(object, names).unwrap_or_else(|| json(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Renders objects that have a shorter form than JSON.
fn short_object(object: &Map<String, Value>, names: &mut Names) -> Option<String> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let has = |keys: &[&str]| keys.iter().all(|key| object.contains_key(*key));
    if has(&["role", "content"]) {
        return Some(message(object, names));
    }
    if has(&["call", "name", "input"]) {
        let call = names.short("call", text("call"));
        return Some(format!("{call} {}{}", text("name"), json(&object["input"])));
    }
    if has(&["call", "name", "content"]) {
        let call = names.short("call", text("call"));
        let label = if object.contains_key("is_error") { "error" } else { "ok" };
        return Some(format!("{call} {label} {}", contents(&object["content"], names)));
    }
    if has(&["ok", "content"]) {
        return Some(outcome(object, names));
    }
    if has(&["kind", "message"]) {
        let retryable =
            if object.get("retryable") == Some(&Value::Bool(true)) { " retryable" } else { "" };
        return Some(format!("{}{retryable} {}", text("kind"), quoted(text("message"))));
    }
    if has(&["input_tokens", "output_tokens"]) {
        return Some(format!("usage={}+{}", object["input_tokens"], object["output_tokens"]));
    }
    if has(&["effective", "max"]) {
        return Some(format!("tokens={}/{}", object["effective"], object["max"]));
    }
    if has(&["input_schema", "name"]) {
        return Some(text("name").to_owned());
    }
    match text("type") {
        "text" => Some(quoted(text("text"))),
        "thinking" => Some(format!("thinking {}", quoted(text("thinking")))),
        _ => None,
    }
}

fn message(object: &Map<String, Value>, names: &mut Names) -> String {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let id = names.short("msg", text("id"));
    let mut out = format!("{id} {}", text("role"));
    match text("interrupted_by") {
        "" => {}
        cause => out.push_str(&format!(" interrupted_by={cause}")),
    }
    out.push(' ');
    out.push_str(&contents(&object["content"], names));
    if let Some(usage) = object.get("usage").filter(|usage| !usage.is_null()) {
        out.push(' ');
        out.push_str(&value_text(usage, names));
    }
    out
}

fn outcome(object: &Map<String, Value>, names: &mut Names) -> String {
    let label = |key: &str| object.get(key).and_then(Value::as_str);
    let mut out =
        if object["ok"] == Value::Bool(true) { "ok".to_owned() } else { "failed".to_owned() };
    if let Some(code) = label("error_code") {
        out.push_str(&format!("({code})"));
    }
    if let Some(ran) = label("ran").filter(|ran| *ran != "yes") {
        out.push_str(&format!(" ran={ran}"));
    }
    out.push(' ');
    out.push_str(&contents(&object["content"], names));
    out
}

/// Renders content blocks; a single block has no brackets.
fn contents(content: &Value, names: &mut Names) -> String {
    match content.as_array().map(Vec::as_slice) {
        Some([only]) => value_text(only, names),
        _ => value_text(content, names),
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_plain_word(text: &str) -> bool {
    text.len() <= MAX_SHOWN
        && text.chars().all(|char| char.is_alphanumeric() || "_-./:".contains(char))
}

fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        None => format!("{text:?}"),
        Some((end, _)) => {
            format!("{:?}…+{}", &text[..end], text[end..].chars().count())
        }
    }
}

fn json(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        None => text,
        Some((end, _)) => format!("{}…+{}", &text[..end], text[end..].chars().count()),
    }
}
