//! Reads the lines of a log and rebuilds the session (SESS-14).

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Payloads;
use super::payload::PayloadRef;
use crate::replay::error::ReplayError;
use crate::replay::record::{COMPACT, Record};

/// Parses the lines of a log. An incomplete last line is ignored: the log may be read while it is
/// written.
///
/// # Errors
/// If a line is not a JSON object.
pub fn parse(bytes: &[u8]) -> Result<Vec<Value>, ReplayError> {
    let mut lines = Vec::new();
    let mut rest = bytes.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
    while let Some((index, line)) = rest.next() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let bad = |reason: String| ReplayError::Line { line: index + 1, reason };
        match serde_json::from_slice::<Value>(line) {
            Ok(value) if value.is_object() => lines.push(value),
            Ok(_) => return Err(bad("it is not a JSON object".to_owned())),
            Err(_) if rest.peek().is_none() && !line.ends_with(b"\n") => {}
            Err(error) => return Err(bad(error.to_string())),
        }
    }
    Ok(lines)
}

/// Returns the payload files that the lines refer to; invalid references are ignored.
#[must_use]
pub fn references(bytes: &[u8]) -> Vec<PayloadRef> {
    fn collect(value: &Value, references: &mut Vec<PayloadRef>) {
        match (PayloadRef::read(value), value) {
            (Some(Ok(reference)), _) if !references.contains(&reference) => {
                references.push(reference);
            }
            (Some(_), _) => {}
            (None, Value::Array(items)) => items.iter().for_each(|item| collect(item, references)),
            (None, Value::Object(fields)) => {
                fields.values().for_each(|field| collect(field, references));
            }
            (None, Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {}
        }
    }
    let mut references = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Ok(value) = serde_json::from_slice::<Value>(line) {
            collect(&value, &mut references);
        }
    }
    references
}

/// Replaces the references in the lines by the payloads.
///
/// # Errors
/// If a file is missing, or does not match its reference.
pub fn resolve(mut lines: Vec<Value>, payloads: &Payloads) -> Result<Vec<Value>, ReplayError> {
    for (index, line) in lines.iter_mut().enumerate() {
        inline_payloads(line, payloads)
            .map_err(|reason| ReplayError::Line { line: index + 1, reason })?;
    }
    Ok(lines)
}

fn inline_payloads(value: &mut Value, payloads: &Payloads) -> Result<(), String> {
    if let Some(reference) = PayloadRef::read(value) {
        *value = load(&reference?, payloads)?;
        return Ok(());
    }
    match value {
        Value::Array(items) => {
            items.iter_mut().try_for_each(|item| inline_payloads(item, payloads))
        }
        Value::Object(fields) => {
            fields.values_mut().try_for_each(|field| inline_payloads(field, payloads))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Returns the payload of a reference.
pub(in crate::replay) fn load(
    reference: &PayloadRef,
    payloads: &Payloads,
) -> Result<Value, String> {
    let path = &reference.relative_path;
    let bytes = payloads.get(path).ok_or_else(|| format!("the payload {path} is missing"))?;
    reference
        .fits(bytes)
        .map_err(|reason| format!("the payload {path} does not match its reference: {reason}"))?;
    serde_json::from_slice(bytes).map_err(|error| format!("the payload {path}: {error}"))
}

/// Rebuilds the record of a session from its log: the history, and what the model saw last.
///
/// # Errors
/// If the log does not contain the session's id or a time.
pub fn replay(lines: &[Value]) -> Result<Record, ReplayError> {
    let text = |line: &Value, name: &str| line.get(name).and_then(Value::as_str).map(str::to_owned);
    let id = lines.iter().find_map(|line| text(line, "sessionId"));
    let id = id.ok_or_else(|| ReplayError::shape("session log", "no line names a session"))?;
    let times =
        || lines.iter().filter_map(|line| text(line, "timestamp")?.parse::<Timestamp>().ok());
    let first = times().next();
    let first = first.ok_or_else(|| ReplayError::shape("session log", "no line has a time"))?;
    let mut record = Record { id, ..Record::empty(first) };
    record.updated_at = times().max().unwrap_or(first);
    let mut view = View::default();
    for line in lines {
        match line.get("event").and_then(Value::as_str).unwrap_or_default() {
            "session_init" | "session_update" => {
                record.cwd = text(line, "cwd").unwrap_or(record.cwd);
                record.provider = text(line, "provider").or(record.provider);
                record.model = text(line, "model").or(record.model);
                let prompt = text(line, "systemPrompt").filter(|prompt| !prompt.is_empty());
                record.system_prompt = prompt.or(record.system_prompt);
                if let Some(Value::Array(tools)) = line.get("toolSchemas") {
                    record.tool_schemas.clone_from(tools);
                }
            }
            "session_renamed" => record.name = text(line, "name"),
            "history_mutation" => {
                let append = text(line, "mutation").is_none_or(|kind| kind.starts_with("append"));
                if let Some(message) = line.get("message").filter(|_| append) {
                    record.history.push(json!({
                        "id": message["id"],
                        "timestamp": line["timestamp"],
                        "category": "chat",
                        "type": message["role"],
                        "data": message,
                    }));
                    view.push(message.clone());
                }
            }
            "context_compact" => {
                if let Some(summary) = line.get("summary").filter(|summary| summary.is_object()) {
                    let keep_from = text(line, "keepFrom");
                    record.history.push(json!({
                        "id": summary["id"],
                        "timestamp": line["timestamp"],
                        "category": "event",
                        "type": COMPACT,
                        "data": {"summary": summary["content"], "keep_from": keep_from},
                    }));
                    view.compact(summary.clone(), keep_from.as_deref());
                }
            }
            "history_rewound" => {
                let keep = line.get("keep").and_then(Value::as_u64).unwrap_or(0);
                view.rewind(usize::try_from(keep).unwrap_or(usize::MAX));
            }
            "history_restored" => view.restore(),
            "history_entry" => {
                if let Some(entry) = line.get("entry") {
                    record.keep_entry(entry);
                }
            }
            _ => {}
        }
    }
    record.messages = view.messages.into_iter().flatten().collect();
    Ok(record)
}

/// Returns the view of the model, in the format of the log: each message is one value, or one per
/// result.
#[derive(Default)]
struct View {
    messages: Vec<Vec<Value>>,
    before: Option<(Vec<Vec<Value>>, usize)>,
}

impl View {
    fn push(&mut self, message: Value) {
        let is_result = |value: &Value| value["role"] == "tool";
        match self.messages.last_mut() {
            Some(last) if is_result(&message) && last.iter().all(is_result) => last.push(message),
            _ => self.messages.push(vec![message]),
        }
    }

    fn compact(&mut self, summary: Value, keep_from: Option<&str>) {
        let old = std::mem::take(&mut self.messages);
        let has_id = |message: &Vec<Value>, id: &str| message.iter().any(|part| part["id"] == id);
        let kept = keep_from.and_then(|id| old.iter().position(|message| has_id(message, id)));
        self.messages.push(vec![summary]);
        self.messages.extend(kept.into_iter().flat_map(|first| old[first..].iter().cloned()));
        self.before = Some((old, self.messages.len()));
    }

    fn rewind(&mut self, keep: usize) {
        self.messages.truncate(keep);
        self.before.take_if(|(_, replaced_by)| *replaced_by > keep);
    }

    fn restore(&mut self) {
        if let Some((before, replaced_by)) = self.before.take() {
            let shorter = std::mem::replace(&mut self.messages, before);
            self.messages.extend(shorter.into_iter().skip(replaced_by));
        }
    }
}
