//! Removes secrets from exports again: the reader of an export may not be the user who ran the
//! session.

use robota_core::event::{DecodeError, Envelope};
use robota_core::redact::{REDACTED, Redactor, is_secret_name};
use serde::Deserialize as _;
use serde_json::Value;

use super::error::ReplayError;

/// Removes secrets from JSON: by the name of a field, and by the values that the redactor knows.
/// Names in a JSON Schema (`properties`) are names of arguments, so their values are kept.
pub fn redact(redactor: &Redactor, value: &mut Value) {
    walk(redactor, value, true);
}

fn walk(redactor: &Redactor, value: &mut Value, names_count: bool) {
    match value {
        Value::String(text) => redactor.clean(text),
        Value::Array(items) => items.iter_mut().for_each(|item| walk(redactor, item, true)),
        Value::Object(fields) => {
            for (name, field) in fields {
                if names_count && is_secret_name(name) && !field.is_null() {
                    *field = REDACTED.into();
                } else {
                    walk(redactor, field, name != "properties");
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Parses the line of an event, which may be nested deeper than serde_json's default limit.
pub(super) fn parse(line: &str) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(line);
    deserializer.disable_recursion_limit();
    Value::deserialize(&mut deserializer)
}

/// Returns the event without secrets; none if it has no secrets, so that its bytes can stay as they
/// are.
///
/// # Errors
/// If the event cannot be written or read back. Then it must not be exported.
pub fn redact_envelope(
    redactor: &Redactor,
    envelope: &Envelope,
) -> Result<Option<Envelope>, DecodeError> {
    let malformed = |error: serde_json::Error| DecodeError::Malformed(error.to_string());
    let line = envelope.to_line();
    let before = parse(&line).map_err(malformed)?;
    let mut after = before.clone();
    if let Some(data) = after.get_mut("data") {
        redact(redactor, data);
    }
    if before == after {
        return Ok(None);
    }
    // Write the line again, with a new checksum.
    let mut body = after;
    if let Value::Object(fields) = &mut body {
        fields.shift_remove("crc");
    }
    let mut text = body.to_string();
    text.pop();
    let bytes = text.into_bytes();
    let mut whole = bytes.clone();
    whole.extend_from_slice(format!(",\"crc\":\"{:08x}\"}}", crc32fast::hash(&bytes)).as_bytes());
    Envelope::decode(&whole).map(Some)
}

/// Removes secrets from events before other formats are derived from them. Some formats contain
/// arguments of calls as text, where the names of fields are no longer visible.
///
/// # Errors
/// If an event cannot be written or read back.
pub fn redact_events(
    redactor: &Redactor,
    events: &[Envelope],
) -> Result<Vec<Envelope>, ReplayError> {
    let clean = |event: &Envelope| {
        let clean = redact_envelope(redactor, event).map_err(|error| {
            ReplayError::shape("journal", format!("event {}: {error}", event.cursor()))
        })?;
        Ok(clean.unwrap_or_else(|| event.clone()))
    };
    events.iter().map(clean).collect()
}

#[cfg(test)]
mod tests;
