//! Event streams (server-sent events), read as they come and within bounds.
//!
//! Lines end with LF, CRLF or CR, wherever a chunk is cut; letters may be cut too. What is no
//! event stream at all (a JSON error or a page with status 200, or bare JSON in the middle of
//! one) is collected and handed over at the end.

use std::borrow::Cow;

use robota_core::provider::FailureReason;

use crate::failure::Failure;

/// How much of a stream is too much.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Bytes of one line.
    pub(crate) line: usize,
    /// Bytes of one event.
    pub(crate) event: usize,
    /// Bytes of one answer.
    pub(crate) response: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line: 16 << 20, event: 32 << 20, response: 512 << 20 }
    }
}

/// At most this much of what is no event stream is kept.
const BARE: usize = 256 << 10;

/// Gets each event: its name (empty when it has none) and its data.
pub(crate) type OnEvent<'a> = &'a mut dyn FnMut(&str, &str) -> Result<(), Failure>;

/// A reader of one stream. Its buffers are used again for every event.
#[derive(Debug)]
pub(crate) struct Sse {
    limits: Limits,
    /// A line that has not ended yet.
    line: Vec<u8>,
    name: String,
    data: String,
    has_data: bool,
    bare: Option<String>,
    total: u64,
    /// The last chunk ended with CR: an LF at the start of the next belongs to it.
    after_cr: bool,
    at_start: bool,
}

impl Sse {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            line: Vec::new(),
            name: String::new(),
            data: String::new(),
            has_data: false,
            bare: None,
            total: 0,
            after_cr: false,
            at_start: true,
        }
    }

    /// More bytes.
    pub(crate) fn push(&mut self, chunk: &[u8], on: OnEvent<'_>) -> Result<(), Failure> {
        self.total = self.total.saturating_add(chunk.len() as u64);
        if self.total > self.limits.response {
            return Err(self.too_much("answer", self.limits.response));
        }
        let mut rest = chunk;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let after = &rest[end + 1..];
            if self.line.is_empty() {
                self.line(&rest[..end], on)?;
            } else {
                // Taken out so that the buffer can be read while the rest of us is written to.
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&rest[..end]);
                let result = self.line(&line, on);
                line.clear();
                self.line = line;
                result?;
            }
            rest = match (rest[end], after.first()) {
                (b'\r', Some(b'\n')) => &after[1..],
                (b'\r', None) => {
                    self.after_cr = true;
                    after
                }
                _ => after,
            };
        }
        if self.line.len() + rest.len() > self.limits.line {
            return Err(self.too_much("line", self.limits.line as u64));
        }
        self.line.extend_from_slice(rest);
        Ok(())
    }

    /// No more bytes: an event that its blank line never followed counts all the same. Returns
    /// what was no event stream.
    pub(crate) fn finish(&mut self, on: OnEvent<'_>) -> Result<Option<String>, Failure> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.line(&line, on)?;
        }
        self.dispatch(on)?;
        Ok(self.bare.take())
    }

    /// Whether anything of an event has arrived that was not handed over yet.
    pub(crate) fn is_mid_event(&self) -> bool {
        !self.line.is_empty() || self.has_data
    }

    fn line(&mut self, line: &[u8], on: OnEvent<'_>) -> Result<(), Failure> {
        if line.len() > self.limits.line {
            return Err(self.too_much("line", self.limits.line as u64));
        }
        let line = if self.at_start {
            self.at_start = false;
            line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
        } else {
            line
        };
        // What is whole is checked many bytes at a time; only what is not is mended letter by letter.
        let text = match std::str::from_utf8(line) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(line),
        };
        if let Some(bare) = &mut self.bare {
            if bare.len() + text.len() < BARE {
                bare.push_str(&text);
                bare.push('\n');
            }
            return Ok(());
        }
        if text.is_empty() {
            return self.dispatch(on);
        }
        let (field, value) = match text.split_once(':') {
            Some((field, value)) => (field, value.strip_prefix(' ').unwrap_or(value)),
            None => (&*text, ""),
        };
        match field {
            "data" => {
                if self.data.len() + value.len() > self.limits.event {
                    return Err(self.too_much("event", self.limits.event as u64));
                }
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            "event" => {
                self.name.clear();
                self.name.push_str(value);
            }
            // A comment, or a field that means nothing to us.
            _ if !self.has_data && text.trim_start().starts_with(['{', '[', '<']) => {
                self.bare = Some(format!("{text}\n"));
            }
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, on: OnEvent<'_>) -> Result<(), Failure> {
        let result = if self.has_data { on(&self.name, &self.data) } else { Ok(()) };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        result
    }

    fn too_much(&self, what: &str, limit: u64) -> Failure {
        let failure = Failure::of(
            FailureReason::Unreadable,
            format!("the service sent too long a {what}: more than {limit} bytes"),
        );
        // The same request would bring the same flood.
        Failure { should_retry: Some(false), ..failure }
    }
}

#[cfg(test)]
mod tests;
