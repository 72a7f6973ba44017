//! Reads the lines of a JSONL file.

use jiff::Timestamp;
use serde_json::Value;

use super::ImportReport;

/// Parses each line; lines that are not JSON objects are counted.
pub(super) fn parse(bytes: &[u8], report: &mut ImportReport) -> Vec<Value> {
    let mut values = Vec::new();
    // An editor may have added a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(value) if value.is_object() => values.push(value),
            Ok(_) | Err(_) => report.malformed += 1,
        }
    }
    values
}

/// Returns a field that is a text and not empty.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Returns the time of a line.
pub(super) fn time(value: &Value) -> Option<Timestamp> {
    text(value, "timestamp")?.parse().ok()
}

/// Counts a line that has no place in a conversation.
pub(super) fn skip(report: &mut ImportReport, kind: &str) {
    // The names come from the file: they are few, and short enough to be shown.
    let name: String = kind.chars().take(40).collect();
    let name = if report.skipped.len() < 100 { name } else { "other".to_owned() };
    *report.skipped.entry(name).or_default() += 1;
}
