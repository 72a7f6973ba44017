//! Keeps lines shorter than what hosts accept.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

/// The most bytes of a line with the result of a call. Hosts refuse longer lines: the Agent SDK for
/// Python refuses those of more than 1 MiB.
const MAX_LINE: usize = 1_000_000;

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

/// Shortens the longest part of a value. Returns false if there is nothing to shorten.
fn shorten(value: &mut Value, key: &str) -> bool {
    match value {
        // A file that is not shown.
        Value::String(_) if key == "originalFile" => *value = Value::Null,
        // A part of an image is of no use.
        Value::String(text) if key == "base64" && !text.is_empty() => text.clear(),
        Value::String(text) if text.len() > KEPT_TEXT + CUT.len() => {
            text.truncate(text.floor_char_boundary(KEPT_TEXT));
            text.push_str(CUT);
        }
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
fn bytes_of(value: &impl Serialize) -> usize {
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
