//! Keeps lines shorter than what hosts accept.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

/// The most bytes of a line with the result of a call. Hosts refuse longer lines: the Agent SDK for
/// Python refuses those of more than 1 MiB.
pub(crate) const MAX_LINE: usize = 1_000_000;

/// What a line has besides the result and the output of the tool.
const OTHER_FIELDS: usize = 4_096;

/// The most bytes that are kept of a text that is too long.
const KEPT_TEXT: usize = 64 * 1024;

/// The end of a text that was cut.
const CUT: &str = "\n[the rest is too long for a line]";

/// Shortens the output of a tool until it fits in a line together with the result for the model. The
/// longest part goes first.
pub(crate) fn fit(output: &mut Value, result: &impl Serialize) {
    let room = MAX_LINE.saturating_sub(OTHER_FIELDS).saturating_sub(bytes_of(result));
    while bytes_of(output) > room {
        if !shorten(output, "") {
            return;
        }
    }
}

/// Shortens the longest texts of a value until it fits in a line. Its other parts stay.
pub(crate) fn fit_texts(value: &mut Value) {
    while bytes_of(value) > MAX_LINE - OTHER_FIELDS {
        match longest_text(value) {
            Some(text) if text.len() > KEPT_TEXT + CUT.len() => cut(text),
            Some(_) | None => return,
        }
    }
}

/// Shortens the longest texts of a line that hosts would refuse.
pub(crate) fn fit_line(line: &mut Vec<u8>) {
    if line.len() <= MAX_LINE {
        return;
    }
    // What was printed as JSON is JSON.
    if let Ok(mut value) = serde_json::from_slice(line) {
        fit_texts(&mut value);
        line.clear();
        let _ = serde_json::to_writer(line, &value);
    }
}

fn longest_text(value: &mut Value) -> Option<&mut String> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(list) => list.iter_mut().filter_map(longest_text).max_by_key(|it| it.len()),
        Value::Object(map) => map.values_mut().filter_map(longest_text).max_by_key(|it| it.len()),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn cut(text: &mut String) {
    text.truncate(text.floor_char_boundary(KEPT_TEXT));
    text.push_str(CUT);
}

/// Shortens the longest part of a value. Returns false if there is nothing to shorten.
fn shorten(value: &mut Value, key: &str) -> bool {
    match value {
        // A file that is not shown.
        Value::String(_) if key == "originalFile" => *value = Value::Null,
        // A part of an image is of no use.
        Value::String(text) if key == "base64" && !text.is_empty() => text.clear(),
        Value::String(text) if text.len() > KEPT_TEXT + CUT.len() => cut(text),
        Value::Array(list) if !list.is_empty() => list.clear(),
        Value::Object(map) => {
            let longest = map.iter_mut().max_by_key(|(_, part)| bytes_of(part));
            return longest.is_some_and(|(key, part)| shorten(part, &key.clone()));
        }
        _ => return false,
    }
    true
}

/// Returns the length of a value as JSON.
pub(crate) fn bytes_of(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    // Plain data always serialises.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// Counts bytes.
struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
