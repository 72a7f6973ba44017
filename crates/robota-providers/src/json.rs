//! Lenient JSON reading for service output: borrows where possible, repairs where needed.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;

use crate::failure::Failure;

/// Text that is borrowed from the input unless it has escapes. Null, lists and objects read as
/// empty, and a number as its digits: an unexpected type in one field must not fail the whole
/// answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LenientStr<'a>(pub(crate) Cow<'a, str>);

impl std::ops::Deref for LenientStr<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl LenientStr<'_> {
    pub(crate) fn into_string(self) -> String {
        self.0.into_owned()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for LenientStr<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientStrVisitor).map(Self)
    }
}

struct LenientStrVisitor;

impl<'de> Visitor<'de> for LenientStrVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Cow::Owned(flag.to_string()))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Cow::Borrowed(""))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Cow::Borrowed(""))
    }
}

/// The arguments of a call: JSON as text, or a JSON value, which is converted to text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Arguments<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Arguments<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArgumentsVisitor).map(Self)
    }
}

struct ArgumentsVisitor;

impl<'de> Visitor<'de> for ArgumentsVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("arguments, as an object or as text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let value = Value::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        Ok(Cow::Owned(value.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        let value = Value::deserialize(serde::de::value::SeqAccessDeserializer::new(seq))?;
        Ok(Cow::Owned(value.to_string()))
    }
}

/// The first element of a list. Where it is used, services send one element only, and it saves
/// allocating a list for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FirstElement<T>(pub(crate) Option<T>);

impl<T> Default for FirstElement<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FirstElement<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FirstElementVisitor(PhantomData)).map(Self)
    }
}

struct FirstElementVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FirstElementVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
        let first = all.next_element()?;
        while all.next_element::<IgnoredAny>()?.is_some() {}
        Ok(first)
    }
}

/// A count or an index, or `None`: services have been seen to send null, text and fractions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct LenientCount(pub(crate) Option<u64>);

impl<'de> Deserialize<'de> for LenientCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientCountVisitor).map(Self)
    }
}

struct LenientCountVisitor;

impl<'de> Visitor<'de> for LenientCountVisitor {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(u64::try_from(number).ok())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        // The cast saturates, so a value beyond `u64` becomes `u64::MAX`.
        Ok((number.is_finite() && number >= 0.0).then_some(number as u64))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(text.trim().parse().ok())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _flag: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// Reads the JSON of an event. Lone surrogates, which a Rust string cannot hold, become U+FFFD;
/// `repaired` owns the repaired text that the result borrows from.
pub(crate) fn decode<'a, T: Deserialize<'a>>(
    data: &'a str,
    repaired: &'a mut Option<String>,
) -> Result<T, Failure> {
    let error = match serde_json::from_str(data) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    match replace_lone_surrogates(data) {
        Some(text) => {
            let text: &'a str = repaired.insert(text);
            serde_json::from_str(text).map_err(|error| Failure::unreadable(&error, data))
        }
        None => Err(Failure::unreadable(&error, data)),
    }
}

/// Replaces every escape of a lone surrogate; returns `None` if there is none.
pub(crate) fn replace_lone_surrogates(json: &str) -> Option<String> {
    let bytes = json.as_bytes();
    let mut repaired = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(step) = json.get(at..).and_then(|rest| rest.find('\\')) {
        at += step;
        match utf16_unit(bytes, at) {
            Some(0xD800..=0xDBFF) if matches!(utf16_unit(bytes, at + 6), Some(0xDC00..=0xDFFF)) => {
                at += 12;
            }
            Some(0xD800..=0xDFFF) => {
                repaired.push_str(&json[copied..at]);
                repaired.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            Some(_) => at += 6,
            // A two-character escape. Its second character may be a backslash, so it is skipped
            // too.
            None => at += 1 + json[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    (copied > 0).then(|| {
        repaired.push_str(&json[copied..]);
        repaired
    })
}

/// Returns the UTF-16 code unit of the escape `\uXXXX` at this position.
fn utf16_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    let text = std::str::from_utf8(digits).ok()?;
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(text, 16).ok()
}

/// Appends the JSON of a value. This crate's values always serialise; `null` is only a safeguard.
pub(crate) fn push_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let before = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(before);
        out.extend_from_slice(b"null");
    }
}

/// Merges `from` into `into`: objects key by key, every other value is replaced. A null removes its
/// key.
pub(crate) fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                if value.is_null() {
                    // `shift_remove` keeps the order of the rest: requests must be the same bytes
                    // each time.
                    into.shift_remove(key);
                } else {
                    merge(into.entry(key.clone()).or_insert(Value::Null), value);
                }
            }
        }
        (into, from) => *into = from.clone(),
    }
}

#[cfg(test)]
mod tests;
