//! Encodes events as bytes, with the deviations that concern framing.

use std::fmt::Write as _;

use serde_json::Value;

use crate::mock::quirk::{Quirk, Quirks};

/// Collects the bytes of a stream, one element per event.
pub(super) struct Sse {
    events: Vec<Vec<u8>>,
    crlf: bool,
    quirks: Quirks,
    count: usize,
}

impl Sse {
    pub(super) fn new(quirks: Quirks, crlf: bool) -> Self {
        let crlf = crlf || quirks.has(Quirk::Crlf);
        Self { events: Vec::new(), crlf, quirks, count: 0 }
    }

    pub(super) fn quirks(&self) -> &Quirks {
        &self.quirks
    }

    /// Adds an event with a name, unless names are omitted.
    pub(super) fn named(&mut self, name: &str, data: &Value) {
        let name = (!self.quirks.has(Quirk::NoEventNames)).then_some(name);
        self.push(name, &data.to_string());
    }

    /// Adds an event without a name.
    pub(super) fn data(&mut self, data: &Value) {
        self.push(None, &data.to_string());
    }

    /// Adds an event that is plain text, such as `[DONE]`.
    pub(super) fn marker(&mut self, marker: &str) {
        self.push(None, marker);
    }

    /// Adds a comment, which shows a client that the connection is alive.
    pub(super) fn comment(&mut self, comment: &str) {
        let text = format!(": {comment}\n\n");
        self.raw(self.with_line_ends(text).into_bytes());
    }

    pub(super) fn raw(&mut self, bytes: Vec<u8>) {
        self.events.push(bytes);
    }

    /// Takes the events that were added since the last call.
    pub(super) fn take(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.events)
    }

    fn push(&mut self, name: Option<&str>, data: &str) {
        let mut text = String::with_capacity(data.len() + 32);
        // Only at the start of the stream: elsewhere the character is part of the data.
        if self.count == 0 && self.quirks.has(Quirk::Bom) {
            text.push('\u{feff}');
        }
        self.count += 1;
        if self.quirks.has(Quirk::Comments) {
            text.push_str(": still here\n");
        }
        if self.quirks.has(Quirk::UnknownEvents) {
            text.push_str("retry: 3000\nid: 7\nnonsense\n");
        }
        let space = if self.quirks.has(Quirk::NoSpace) { "" } else { " " };
        if let Some(name) = name {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "event:{space}{name}");
        }
        let _ = write!(text, "data:{space}{}\n\n", self.apply_quirks(data));
        self.raw(self.with_line_ends(text).into_bytes());
        if self.quirks.has(Quirk::UnknownEvents) && data.starts_with('{') {
            let text = "event: brand_new\ndata: {\"type\":\"brand_new\",\"news\":[1,2]}\n\n";
            // Clients of wires without event names skip an event by its type, but an event without
            // a name would reach them as an object of an unknown type, so they get a comment
            // instead.
            let named = name.is_some();
            let text = if named { text } else { ": brand new\n\n" };
            self.raw(self.with_line_ends(text.to_owned()).into_bytes());
        }
    }

    fn with_line_ends(&self, text: String) -> String {
        if self.crlf { text.replace('\n', "\r\n") } else { text }
    }

    fn apply_quirks(&self, data: &str) -> String {
        let mut data = data.to_owned();
        if self.quirks.has(Quirk::LoneSurrogate) {
            // Rust text cannot contain a lone surrogate, so the scenario has a placeholder.
            data = data.replace('\u{e000}', "\\ud83d");
        }
        if self.quirks.has(Quirk::Ascii) {
            data = ascii(&data);
        }
        let padding = self.quirks.padding();
        if padding > 0 && data.ends_with('}') {
            // Before the last brace: spaces inside of an object change nothing.
            data.insert_str(data.len() - 1, &" ".repeat(padding));
        }
        data
    }
}

fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() {
            out.push(character);
        } else {
            // Characters beyond the first plane become two escapes, as JSON has it.
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}
