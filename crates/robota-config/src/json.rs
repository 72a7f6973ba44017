//! A JSON parser that keeps positions: the line of each value, repeated keys, and the bytes to
//! replace so that the rest of a file stays unchanged.

use std::ops::Range;

use serde_json::{Map, Number, Value};

/// The maximum nesting. Settings need six levels; the recursive parser needs a limit.
const MAX_DEPTH: usize = 100;

/// A parsed file, with its text: positions refer to its bytes.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) text: String,
    pub(crate) root: Node,
    /// Where the file first has a comment or a trailing comma, which JSON does not have. People write
    /// them, and other programs read them.
    pub(crate) lenient: Option<usize>,
    line_starts: Vec<usize>,
}

/// A value and its position.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) kind: Kind,
}

/// The value of a node.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

/// One key of an object with its value.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) key_at: usize,
    pub(crate) node: Node,
}

/// A syntax error and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// Reads the value of a file that may have comments, trailing commas and a byte order mark.
pub(crate) fn read_value(bytes: &[u8]) -> Result<Value, String> {
    let text = str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    match Document::parse(text.to_owned()) {
        Ok(document) => Ok(document.root.to_value()),
        Err(SyntaxError { line, message }) => Err(format!("line {line}: {message}")),
    }
}

impl Document {
    /// Parses a file. Skips a byte order mark.
    pub(crate) fn parse(text: String) -> Result<Self, SyntaxError> {
        let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut parser = Parser { text: &text, at: start, lenient: None };
        let root = parser.document().map_err(|(at, message)| SyntaxError {
            line: text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1,
            message,
        })?;
        let lenient = parser.lenient;
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect();
        Ok(Self { text, root, lenient, line_starts })
    }

    /// Returns the line of a byte, counted from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }
}

impl Node {
    /// Returns the value without positions. The last of repeated keys wins.
    pub(crate) fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(value) => Value::Number(value.clone()),
            Kind::String(value) => Value::String(value.clone()),
            Kind::Array(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Kind::Object(members) => {
                let mut map = Map::new();
                for member in members {
                    map.insert(member.key.clone(), member.node.to_value());
                }
                Value::Object(map)
            }
        }
    }

    /// Returns the member with this key; the last, if the key is repeated.
    pub(crate) fn member(&self, key: &str) -> Option<&Member> {
        match &self.kind {
            Kind::Object(members) => members.iter().rev().find(|member| member.key == key),
            _ => None,
        }
    }

    /// Returns the type with its article, for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::String(_) => "a string",
            Kind::Array(_) => "a list",
            Kind::Object(_) => "an object",
        }
    }
}

type Parsed<T> = Result<T, (usize, String)>;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    lenient: Option<usize>,
}

impl Parser<'_> {
    fn document(&mut self) -> Parsed<Node> {
        self.space();
        if self.peek().is_none() {
            return self.fail("the file is empty");
        }
        let root = self.value(0)?;
        self.space();
        if self.peek().is_some() {
            return self.fail("unexpected text after the end of the settings");
        }
        Ok(root)
    }

    fn value(&mut self, depth: usize) -> Parsed<Node> {
        if depth > MAX_DEPTH {
            return self.fail("nested too deeply");
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Kind::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => Kind::Number(self.number()?),
            Some(b'#') => return self.fail("JSON has no comments"),
            Some(_) => self.literal()?,
            None => return self.fail("unexpected end of the file"),
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Parsed<Kind> {
        let mut members = Vec::new();
        self.at += 1;
        self.space();
        if self.take(b'}') {
            return Ok(Kind::Object(members));
        }
        loop {
            self.space();
            let key_at = self.at;
            match self.peek() {
                Some(b'"') => {}
                Some(b'}') if !members.is_empty() => {
                    self.lenient.get_or_insert(self.at);
                    self.at += 1;
                    return Ok(Kind::Object(members));
                }
                Some(b'#') => return self.fail("JSON has no comments"),
                Some(_) => return self.fail("expected a key in double quotes"),
                None => return self.fail("unexpected end of the file"),
            }
            let key = self.string()?;
            self.space();
            if !self.take(b':') {
                return self.fail("expected `:`");
            }
            self.space();
            let node = self.value(depth + 1)?;
            members.push(Member { key, key_at, node });
            self.space();
            if self.take(b'}') {
                return Ok(Kind::Object(members));
            }
            if !self.take(b',') {
                return self.fail("expected `,` or `}`");
            }
        }
    }

    fn array(&mut self, depth: usize) -> Parsed<Kind> {
        let mut items = Vec::new();
        self.at += 1;
        self.space();
        if self.take(b']') {
            return Ok(Kind::Array(items));
        }
        loop {
            self.space();
            if self.peek() == Some(b']') && !items.is_empty() {
                self.lenient.get_or_insert(self.at);
                self.at += 1;
                return Ok(Kind::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.space();
            if self.take(b']') {
                return Ok(Kind::Array(items));
            }
            if !self.take(b',') {
                return self.fail("expected `,` or `]`");
            }
        }
    }

    /// Finds the end of the string and lets `serde_json` decode it, so that escapes have one
    /// implementation.
    fn string(&mut self) -> Parsed<String> {
        let start = self.at;
        let mut end = start + 1;
        loop {
            match self.text.as_bytes().get(end) {
                Some(b'"') => break,
                // The escaped character is not looked at; `serde_json` decides whether the escape
                // is valid.
                Some(b'\\') => end += 2,
                // JSON has no line breaks in strings; without this an unclosed quote would be
                // reported at the end of the file.
                Some(b'\n') => return self.fail("a string must end on the same line"),
                Some(_) => end += 1,
                None => return self.fail("unterminated string"),
            }
        }
        self.at = end + 1;
        let token = self.text.get(start..=end).unwrap_or_default();
        serde_json::from_str(token)
            .map_err(|_| (start, "a string contains an invalid character or escape".into()))
    }

    fn number(&mut self) -> Parsed<Number> {
        let start = self.at;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let length = rest
            .iter()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
            .count();
        self.at = start + length;
        let token = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(token).map_err(|_| (start, "invalid number".into()))
    }

    fn literal(&mut self) -> Parsed<Kind> {
        let literals =
            [("null", Kind::Null), ("true", Kind::Bool(true)), ("false", Kind::Bool(false))];
        for (literal, kind) in literals {
            if self.text.get(self.at..).is_some_and(|rest| rest.starts_with(literal)) {
                self.at += literal.len();
                return Ok(kind);
            }
        }
        self.fail("expected a value")
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Skips white space and comments. The first comment is remembered, because it is no JSON.
    fn space(&mut self) {
        loop {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
                self.at += 1;
            }
            let rest = self.text.get(self.at..).unwrap_or_default();
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if let Some(comment) = rest.strip_prefix("/*") {
                // One that does not end is no comment, and no value either.
                let Some(end) = comment.find("*/") else { return };
                end + "/**/".len()
            } else {
                return;
            };
            self.lenient.get_or_insert(self.at);
            self.at += length;
        }
    }

    fn fail<T>(&self, message: &str) -> Parsed<T> {
        Err((self.at, message.to_owned()))
    }
}

#[cfg(test)]
mod tests;
