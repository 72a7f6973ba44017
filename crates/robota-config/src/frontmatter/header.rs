//! The header: its fields as YAML, or line by line where it is not valid YAML.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::words::{split_globs, split_rules};
use super::{HeaderNote, MAX_HEADER_BYTES, note, plain};

/// The fields of a header, or of a JSON object that has the same fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Header {
    fields: IndexMap<String, Field>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) value: Value,
    /// The text after the colon, if the value is on one line.
    pub(super) raw: Option<String>,
    pub(super) line: Option<usize>,
}

/// A field whose value has the wrong type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {message}")]
pub struct FieldError {
    /// The key, as it is written.
    pub key: String,
    /// The line in the file, if it is known.
    pub line: Option<usize>,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl Header {
    pub(super) fn parse(text: &str) -> (Self, Vec<HeaderNote>) {
        match plain::fields(text) {
            Some(fields) => (Self::of(fields), Vec::new()),
            None => Self::parse_yaml(text),
        }
    }

    pub(super) fn of(fields: IndexMap<String, Field>) -> Self {
        Self { fields }
    }

    /// Parses a header that is not in the simple form of [`plain`].
    pub(super) fn parse_yaml(text: &str) -> (Self, Vec<HeaderNote>) {
        let chunks = chunks(text);
        // The last one, as for every repeated key.
        let raw = |key: &str| chunks.iter().rev().find(|chunk| chunk.key == key);
        if let Some(values) = yaml(text) {
            let field = |(key, value): (String, Value)| {
                let chunk = raw(&key);
                let line = chunk.map(|chunk| chunk.line);
                (key, Field { value, raw: chunk.and_then(Chunk::raw), line })
            };
            return (Self { fields: values.into_iter().map(field).collect() }, Vec::new());
        }
        let mut header = Self::default();
        let mut notes =
            vec![note(1, "the header is not valid YAML, so each of its keys is read on its own")];
        for chunk in chunks {
            let value = yaml(&chunk.text).and_then(|mut values| values.shift_remove(&chunk.key));
            let value = value.unwrap_or_else(|| Value::from(unquoted(&chunk.joined())));
            let field = Field { value, raw: chunk.raw(), line: Some(chunk.line) };
            if header.fields.insert(chunk.key.clone(), field).is_some() {
                let message = format!("`{}` is repeated; the last value applies", chunk.key);
                notes.push(note(chunk.line, message));
            }
        }
        (header, notes)
    }

    /// Returns a header with the fields of a JSON object.
    #[must_use]
    pub fn from_json(fields: Map<String, Value>) -> Self {
        let field = |(key, value)| (key, Field { value, raw: None, line: None });
        Self { fields: fields.into_iter().map(field).collect() }
    }

    /// Returns the keys in the order of the file.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// Returns the line of a key.
    #[must_use]
    pub fn line(&self, key: &str) -> Option<usize> {
        self.fields.get(key).and_then(|field| field.line)
    }

    /// Returns the value of a key; none if it is absent, null or empty text.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&Value> {
        let value = &self.fields.get(key)?.value;
        let empty = value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
        (!empty).then_some(value)
    }

    /// Returns the value of a key as text. A number, a flag or a list is returned as it is written:
    /// `[file]` is a hint for people, although it is a list in YAML.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<String> {
        let raw = || self.fields.get(key)?.raw.as_deref().map(unquoted);
        let text = match self.value(key)? {
            Value::Null => return None,
            Value::String(text) => text.trim().to_owned(),
            value @ (Value::Bool(_) | Value::Number(_)) => {
                raw().unwrap_or_else(|| value.to_string())
            }
            Value::Array(items) => raw().unwrap_or_else(|| {
                items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            }),
            Value::Object(_) => raw()?,
        };
        Some(text).filter(|text| !text.is_empty())
    }

    /// Returns the value of a key as a flag: `true`, `yes`, `on`, `1` and their opposites.
    ///
    /// # Errors
    /// If the value is something else.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, FieldError> {
        let Some(text) = self.text(key) else { return Ok(None) };
        match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(Some(true)),
            "false" | "no" | "off" | "0" => Ok(Some(false)),
            _ => Err(self.error(key, "is not a flag; write true or false")),
        }
    }

    /// Returns the value of a key as a whole number above zero.
    ///
    /// # Errors
    /// If the value is something else.
    pub fn number(&self, key: &str) -> Result<Option<u32>, FieldError> {
        let Some(text) = self.text(key) else { return Ok(None) };
        match text.parse() {
            Ok(number) if number > 0 => Ok(Some(number)),
            Ok(_) | Err(_) => Err(self.error(key, "is not a whole number above zero")),
        }
    }

    /// Returns the value of a key as a list of names or permission rules: a list, or a text that
    /// [`split_rules`] splits.
    #[must_use]
    pub fn words(&self, key: &str) -> Vec<String> {
        self.list(key, split_rules)
    }

    /// Returns the value of a key as a list of globs: a list, or a text with commas.
    #[must_use]
    pub fn globs(&self, key: &str) -> Vec<String> {
        self.list(key, split_globs)
    }

    fn list(&self, key: &str, split: impl Fn(&str) -> Vec<String>) -> Vec<String> {
        let raw = || self.fields.get(key)?.raw.as_deref();
        match self.value(key) {
            Some(Value::String(text)) => split(text),
            Some(Value::Array(items)) => {
                // YAML splits `[Bash(a, b)]` at the comma.
                // The text as it is written knows which comma is inside of a rule.
                let flow = raw().and_then(|raw| raw.strip_prefix('[')?.strip_suffix(']'));
                match flow.filter(|flow| flow.contains('(')) {
                    Some(flow) => split(flow),
                    None => items.iter().filter_map(Value::as_str).flat_map(split).collect(),
                }
            }
            Some(value @ (Value::Bool(_) | Value::Number(_))) => vec![value.to_string()],
            Some(Value::Object(_) | Value::Null) | None => Vec::new(),
        }
    }

    pub(super) fn error(&self, key: &str, message: &str) -> FieldError {
        let text = self.text(key).unwrap_or_default();
        let shown: String = text.chars().take(60).collect();
        let message = format!("`{shown}` {message}");
        FieldError { key: key.to_owned(), line: self.line(key), message }
    }
}

/// Parses YAML within limits; none if it is not a mapping. Aliases are refused, because they can
/// expand a small text to a huge one.
fn yaml(text: &str) -> Option<IndexMap<String, Value>> {
    if text.lines().all(|line| line.trim().is_empty()) {
        return Some(IndexMap::new());
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            // Headers are flat; the limits only stop a file that wants to keep the parser busy.
            max_depth: 16,
            max_nodes: 2_000,
            max_events: 6_000,
            max_total_scalar_bytes: MAX_HEADER_BYTES,
            max_documents: 1,
            max_aliases: 0,
            max_anchors: 0,
            max_merge_keys: 0,
            max_inclusion_depth: 0,
        },
        // `no` and `off` stay text here; `flag` understands them.
        strict_booleans: true,
        with_snippet: false,
    };
    let values: IndexMap<String, Value> =
        serde_saphyr::from_str_with_options(text, options).ok()?;
    // In `key:text: more` the key is `key`, although it is `key:text` in YAML.
    values.keys().all(|key| is_key(key)).then_some(values)
}

/// A key and the lines that belong to it.
struct Chunk {
    key: String,
    /// The line of the key in the file.
    line: usize,
    /// The key and its lines.
    text: String,
    /// The text after the colon.
    first: String,
    /// The lines after the first.
    more: Vec<String>,
}

impl Chunk {
    fn raw(&self) -> Option<String> {
        let one_line = self.more.iter().all(|line| line.trim().is_empty());
        (one_line && !self.first.is_empty()).then(|| self.first.clone())
    }

    fn joined(&self) -> String {
        let first = match self.first.as_str() {
            // The marks of a block of text are no text.
            "|" | ">" | "|-" | ">-" | "|+" | ">+" => "",
            first => first,
        };
        let lines = [first].into_iter().chain(self.more.iter().map(|line| line.trim()));
        lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

fn chunks(text: &str) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let key =
            // A line `https://…` is part of a text and no key.
            line.split_once(':').filter(|(key, after)| is_key(key) && !after.starts_with('/'));
        match (key, chunks.last_mut()) {
            (Some((key, after)), _) => chunks.push(Chunk {
                key: unquoted(key.trim()),
                // The first line of the file is the fence.
                line: at + 2,
                text: format!("{line}\n"),
                first: after.trim().to_owned(),
                more: Vec::new(),
            }),
            (None, Some(chunk)) => {
                chunk.text.push_str(line);
                chunk.text.push('\n');
                chunk.more.push(line.to_owned());
            }
            (None, None) => {}
        }
    }
    chunks
}

/// Returns whether a text is a key at the start of a line.
pub(super) fn is_key(text: &str) -> bool {
    let name = unquoted(text.trim_end());
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '$');
    !name.is_empty() && !text.starts_with([' ', '\t', '-']) && name.chars().all(plain)
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inner = ['"', '\'']
        .into_iter()
        .find_map(|quote| {
            let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
            // A quote inside means that the two at the ends do not belong together.
            (!inner.contains(quote)).then_some(inner)
        })
        .unwrap_or(text);
    inner.to_owned()
}
