//! Parses Gemma's notation of calls: `call:name{key:<|"|>text<|"|>,count:3,list:[1,2]}`.

use serde_json::{Map, Number, Value};

use super::parse::Call;

/// More deeply nested values are rejected, to bound the recursion.
const MAX_DEPTH: usize = 32;

/// Parses one call; `quote` encloses texts.
pub(super) fn call(body: &str, quote: &str) -> Option<Call> {
    let body = body.trim().strip_prefix("call:")?;
    let open = body.find('{')?;
    let name = body[..open].trim().to_owned();
    let mut parser = Parser { rest: &body[open..], quote };
    let arguments = parser.value(0)?;
    parser.rest.trim().is_empty().then_some((name, arguments))
}

struct Parser<'a> {
    rest: &'a str,
    quote: &'a str,
}

impl Parser<'_> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.rest = self.rest.trim_start();
        if self.consume(self.quote) {
            // The quote has several characters, so a text may contain ordinary quotes without
            // escapes.
            let end = self.rest.find(self.quote)?;
            let text = self.rest[..end].to_owned();
            self.rest = &self.rest[end + self.quote.len()..];
            return Some(text.into());
        }
        if self.consume("{") {
            return self.object(depth);
        }
        if self.consume("[") {
            return self.list(depth);
        }
        if self.rest.starts_with('"') {
            // Some models write JSON strings instead.
            let mut texts = serde_json::Deserializer::from_str(self.rest).into_iter::<String>();
            let text = texts.next()?.ok()?;
            self.rest = &self.rest[texts.byte_offset()..];
            return Some(text.into());
        }
        let end = self.rest.find([',', '}', ']']).unwrap_or(self.rest.len());
        let word = self.rest[..end].trim();
        let value = match word {
            "" => return None,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" | "None" => Value::Null,
            word => word
                .parse::<i64>()
                .map(Value::from)
                .ok()
                .or_else(|| Number::from_f64(word.parse().ok()?).map(Value::Number))
                .unwrap_or_else(|| word.into()),
        };
        self.rest = &self.rest[end..];
        Some(value)
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut object = Map::new();
        loop {
            self.rest = self.rest.trim_start();
            if self.consume("}") {
                return Some(Value::Object(object));
            }
            let key = if self.consume(self.quote) {
                let end = self.rest.find(self.quote)?;
                let key = self.rest[..end].to_owned();
                self.rest = self.rest[end + self.quote.len()..].trim_start().strip_prefix(':')?;
                key
            } else {
                let (key, rest) = self.rest.split_once(':')?;
                self.rest = rest;
                key.trim().trim_matches('"').to_owned()
            };
            let value = self.value(depth + 1)?;
            object.insert(key, value);
            self.rest = self.rest.trim_start();
            if !self.consume(",") && !self.rest.starts_with('}') {
                return None;
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        let mut list = Vec::new();
        loop {
            self.rest = self.rest.trim_start();
            if self.consume("]") {
                return Some(Value::Array(list));
            }
            list.push(self.value(depth + 1)?);
            self.rest = self.rest.trim_start();
            if !self.consume(",") && !self.rest.starts_with(']') {
                return None;
            }
        }
    }

    fn consume(&mut self, what: &str) -> bool {
        match self.rest.strip_prefix(what) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}
