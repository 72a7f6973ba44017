//! Reads the headers that most people write without a YAML parser: lines `key: words`. A start reads
//! dozens of them, and the parser takes most of that time.

use indexmap::IndexMap;
use serde_json::Value;

use super::header::Field;

/// Words that are no text in YAML, or were none in its older versions.
const NO_TEXT: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// Returns the fields of a header if every line is a key and a text that YAML reads as it is written.
pub(super) fn fields(text: &str) -> Option<IndexMap<String, Field>> {
    let mut fields = IndexMap::new();
    for (at, line) in text.lines().enumerate() {
        let (key, value) = line.split_once(": ")?;
        let value = value.trim_matches(' ');
        if !is_name(key) || !is_text(value) {
            return None;
        }
        let field = Field {
            value: Value::from(value),
            raw: Some(value.to_owned()),
            // The first line of the file is the fence.
            line: Some(at + 2),
        };
        // A repeated key gets a note, which only the other reader makes.
        if fields.insert(key.to_owned(), field).is_some() {
            return None;
        }
    }
    Some(fields)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        && !is_no_text(text)
}

/// Returns whether YAML reads a value as it is written: it begins with a letter and has only letters,
/// digits and punctuation that means nothing.
fn is_text(text: &str) -> bool {
    let plain = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b' ' | b',' | b'.' | b';' | b'(' | b')' | b'/' | b'_' | b'-' | b'\'')
    };
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(plain)
        && !is_no_text(text)
}

fn is_no_text(text: &str) -> bool {
    NO_TEXT.iter().any(|word| text.eq_ignore_ascii_case(word))
}
