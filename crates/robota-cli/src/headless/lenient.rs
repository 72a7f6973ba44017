//! Reads fields that hosts fill in different ways. A field that only informs must not make a whole
//! line unreadable.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads a field; null is the same as an absent field.
pub(super) fn or_default<'de, T, D>(value: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(value)?.unwrap_or_default())
}

/// Reads a text; any other value is the same as an absent field.
pub(super) fn text<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(value)? {
        Value::String(text) => Some(text),
        _ => None,
    })
}

/// Reads a text; any other value becomes its JSON text, and null an empty text.
pub(super) fn any_text<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(value)? {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    })
}

/// Reads true or false; any other value is the same as an absent field.
pub(super) fn flag<'de, D: Deserializer<'de>>(value: D) -> Result<Option<bool>, D::Error> {
    Ok(Value::deserialize(value)?.as_bool())
}
