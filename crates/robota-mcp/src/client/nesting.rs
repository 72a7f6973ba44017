//! Messages that are nested too deeply. The JSON parser gives up at 128 levels, and the whole message would
//! be lost: one odd schema would hide all tools of a server.

use std::borrow::Cow;

use serde::Deserialize as _;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Values are read down to this depth; what is deeper is null.
const MAX_DEPTH: usize = 100;

/// Returns a message whose values are nested at most [`MAX_DEPTH`] levels deep. What is not JSON stays as it
/// is.
pub(super) fn flatten(text: &[u8]) -> Cow<'_, [u8]> {
    if depth(text) <= MAX_DEPTH {
        return Cow::Borrowed(text);
    }
    let mut reader = serde_json::Deserializer::from_slice(text);
    let read = ToDepth(MAX_DEPTH).deserialize(&mut reader);
    match read.and_then(|value| reader.end().map(|()| value)) {
        Ok(value) => Cow::Owned(value.to_string().into_bytes()),
        Err(_) => Cow::Borrowed(text),
    }
}

/// Returns how deeply objects and lists are nested.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Reads a value down to a depth.
struct ToDepth(usize);

impl<'de> DeserializeSeed<'de> for ToDepth {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.0 == 0 {
            // Skips the value without recursion.
            return IgnoredAny::deserialize(deserializer).map(|_| Value::Null);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ToDepth {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some(item) = items.next_element_seed(Self(self.0 - 1))? {
            read.push(item);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            read.insert(name, fields.next_value_seed(Self(self.0 - 1))?);
        }
        Ok(Value::Object(read))
    }
}

#[cfg(test)]
mod tests;
