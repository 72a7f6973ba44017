//! Splits a journal line into its fields and keeps the event's data as text.
//!
//! The fields are read one by one. `serde_json`'s own way of keeping a value as text (`RawValue`)
//! would also parse JSON inside strings, at each level with a new depth limit.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::ids::TurnId;

/// The fields of a line; `None` for a field that the line does not have.
#[derive(Default)]
pub(super) struct Line<'a> {
    pub(super) seq: Option<u64>,
    pub(super) epoch: Option<u32>,
    pub(super) ts: Option<Timestamp>,
    pub(super) turn: Option<TurnId>,
    pub(super) min_reader: Option<u32>,
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) data: Option<&'a str>,
}

/// A string that is copied only if it contains escapes.
#[derive(Deserialize)]
struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Line<'a> {
    /// Reads a line that is one JSON object and nothing else.
    pub(super) fn read(text: &'a str) -> Result<Self, String> {
        let mut line = Self::default();
        let mut rest = expect_char(text, '{')?;
        loop {
            let (Borrowed(key), colon) = next_value(rest)?;
            let json = skip_whitespace(expect_char(colon, ':')?);
            rest = line.field(&key, json).map_err(|error| format!("`{key}`: {error}"))?;
            match expect_char(rest, ',') {
                Ok(next) => rest = next,
                Err(_) => break,
            }
        }
        let end = expect_char(rest, '}')?;
        if skip_whitespace(end).is_empty() {
            Ok(line)
        } else {
            Err("text follows the object".to_owned())
        }
    }

    /// Fast path: reads the fields before the data and takes everything up to the last `tail` bytes
    /// as the data, without parsing it. Whether that is one JSON value is checked when the event is
    /// decoded. Returns `None` for a line of another form.
    pub(super) fn read_fast(text: &'a str, tail: usize) -> Option<Self> {
        let mut line = Self::default();
        let mut rest = expect_char(text, '{').ok()?;
        loop {
            if let Some(data) = rest.strip_prefix("\"data\":") {
                line.data = data.len().checked_sub(tail).and_then(|end| data.get(..end));
                return line.data.is_some().then_some(line);
            }
            let (Borrowed(key), colon) = next_value(rest).ok()?;
            rest = line.field(&key, skip_whitespace(expect_char(colon, ':').ok()?)).ok()?;
            rest = expect_char(rest, ',').ok()?;
        }
    }

    /// Reads the value of a field; returns the text after it.
    fn field(&mut self, key: &str, text: &'a str) -> Result<&'a str, String> {
        Ok(match key {
            "seq" => read_into(text, &mut self.seq)?,
            "epoch" => read_into(text, &mut self.epoch)?,
            "ts" => read_into(text, &mut self.ts)?,
            "turn" => read_into(text, &mut self.turn)?,
            "min_reader" => read_into(text, &mut self.min_reader)?,
            "type" => {
                let (Borrowed(kind), rest) = next_value(text)?;
                self.kind = Some(kind);
                rest
            }
            "data" => {
                let (IgnoredAny, rest) = next_value(text)?;
                self.data = text.get(..text.len() - rest.len());
                rest
            }
            // The checksum, and fields that later versions add.
            _ => next_value::<IgnoredAny>(text)?.1,
        })
    }
}

fn read_into<'a, T: Deserialize<'a>>(
    text: &'a str,
    field: &mut Option<T>,
) -> Result<&'a str, String> {
    let (value, rest) = next_value(text)?;
    *field = value;
    Ok(rest)
}

/// Parses the first JSON value of the text; returns it and the text after it.
fn next_value<'a, T: Deserialize<'a>>(text: &'a str) -> Result<(T, &'a str), String> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    let value = values.next().ok_or("a value is missing")?.map_err(|error| error.to_string())?;
    Ok((value, text.get(values.byte_offset()..).unwrap_or_default()))
}

fn expect_char(text: &str, expected: char) -> Result<&str, String> {
    skip_whitespace(text).strip_prefix(expected).ok_or_else(|| format!("`{expected}` is missing"))
}

fn skip_whitespace(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\r', '\n'])
}
