//! Finds the blobs that a session refers to.

use robota_core::event::Envelope;
use robota_core::message::BlobRef;
use serde_json::Value;

/// Returns every blob that an event refers to, anywhere in it: in images, and in the data of tools
/// and hooks.
#[must_use]
pub fn blob_refs(envelope: &Envelope) -> Vec<BlobRef> {
    let line = envelope.to_line();
    // Most events contain no hash, so this avoids parsing them.
    if !line.contains("\"sha256\"") {
        return Vec::new();
    }
    let mut refs = Vec::new();
    if let Ok(value) = super::redact::parse(&line) {
        find(&value, &mut refs);
    }
    refs
}

fn find(value: &Value, refs: &mut Vec<BlobRef>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| find(item, refs)),
        Value::Object(fields) => {
            if let (Some(Value::String(sha256)), Some(bytes)) =
                (fields.get("sha256"), fields.get("bytes").and_then(Value::as_u64))
                && is_hash(sha256)
            {
                let blob = BlobRef { sha256: sha256.clone(), bytes };
                if !refs.contains(&blob) {
                    refs.push(blob);
                }
            }
            fields.values().for_each(|field| find(field, refs));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns whether a text is a hash in hexadecimal: only then it is safe as a file name.
pub(super) fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
