//! Reads event streams (server-sent events) incrementally and within size limits.
//!
//! Lines end with LF, CRLF or CR. Chunks may split lines, line ends and UTF-8 characters. Input
//! that is not an event stream (a JSON error or an HTML page with status 200, or bare JSON in the
//! middle of a stream) is collected and returned at the end.

use std::borrow::Cow;

use robota_core::provider::FailureReason;

use crate::failure::Failure;

/// The size limits of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The most bytes of one line.
    pub(crate) line: usize,
    /// The most bytes of one event.
    pub(crate) event: usize,
    /// The most bytes of one answer.
    pub(crate) response: u64,
}

// Far more than any answer has. They only stop a server that sends without end.
impl Default for Limits {
    fn default() -> Self {
        Self { line: 16 << 20, event: 32 << 20, response: 512 << 20 }
    }
}

/// The most bytes to keep of input that is not an event stream.
const MAX_NON_SSE: usize = 256 << 10;

/// Receives each event: its name (empty if it has none) and its data.
pub(crate) type OnEvent<'a> = &'a mut dyn FnMut(&str, &str) -> Result<(), Failure>;

/// The reader of one stream. It reuses its buffers for every event.
#[derive(Debug)]
pub(crate) struct Sse {
    limits: Limits,
    /// The beginning of a line whose end has not arrived yet.
    line: Vec<u8>,
    name: String,
    data: String,
    has_data: bool,
    non_sse: Option<String>,
    total: u64,
    /// The last chunk ended with CR: an LF at the start of the next chunk belongs to it.
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
            non_sse: None,
            total: 0,
            after_cr: false,
            at_start: true,
        }
    }

    /// Reads the next chunk of bytes and reports the events that it completes.
    pub(crate) fn push(&mut self, chunk: &[u8], on_event: OnEvent<'_>) -> Result<(), Failure> {
        self.total = self.total.saturating_add(chunk.len() as u64);
        if self.total > self.limits.response {
            return Err(self.limit_exceeded("answer", self.limits.response));
        }
        let mut rest = chunk;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let after = &rest[end + 1..];
            if self.line.is_empty() {
                self.read_line(&rest[..end], on_event)?;
            } else {
                // Moved out so that `self.line` can borrow the buffer while it changes `self`.
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&rest[..end]);
                let result = self.read_line(&line, on_event);
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
            return Err(self.limit_exceeded("line", self.limits.line as u64));
        }
        self.line.extend_from_slice(rest);
        Ok(())
    }

    /// Ends the stream. Reports a last event even if no blank line followed it. Returns the input
    /// that was not an event stream, if any.
    pub(crate) fn finish(&mut self, on_event: OnEvent<'_>) -> Result<Option<String>, Failure> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.read_line(&line, on_event)?;
        }
        self.dispatch(on_event)?;
        Ok(self.non_sse.take())
    }

    /// Returns whether part of an event has arrived that has not been reported yet.
    pub(crate) fn is_mid_event(&self) -> bool {
        !self.line.is_empty() || self.has_data
    }

    fn read_line(&mut self, line: &[u8], on_event: OnEvent<'_>) -> Result<(), Failure> {
        if line.len() > self.limits.line {
            return Err(self.limit_exceeded("line", self.limits.line as u64));
        }
        let line = if self.at_start {
            self.at_start = false;
            // The standard allows a byte order mark at the start of a stream.
            line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
        } else {
            line
        };
        // Valid UTF-8, the usual case, is checked fast and borrowed; only invalid input is copied
        // and repaired.
        let text = match std::str::from_utf8(line) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(line),
        };
        if let Some(non_sse) = &mut self.non_sse {
            if non_sse.len() + text.len() < MAX_NON_SSE {
                non_sse.push_str(&text);
                non_sse.push('\n');
            }
            return Ok(());
        }
        if text.is_empty() {
            return self.dispatch(on_event);
        }
        let (field, value) = match text.split_once(':') {
            Some((field, value)) => (field, value.strip_prefix(' ').unwrap_or(value)),
            None => (&*text, ""),
        };
        match field {
            "data" => {
                if self.data.len() + value.len() > self.limits.event {
                    return Err(self.limit_exceeded("event", self.limits.event as u64));
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
            // A comment or an unknown field is ignored, unless it looks like JSON or HTML.
            // A gateway that fails in the middle of a stream writes its error as bare JSON.
            _ if !self.has_data && text.trim_start().starts_with(['{', '[', '<']) => {
                self.non_sse = Some(format!("{text}\n"));
            }
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, on_event: OnEvent<'_>) -> Result<(), Failure> {
        let result = if self.has_data { on_event(&self.name, &self.data) } else { Ok(()) };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        result
    }

    fn limit_exceeded(&self, what: &str, limit: u64) -> Failure {
        let failure = Failure::with_reason(
            FailureReason::Unreadable,
            format!("the response exceeds a size limit ({what}: more than {limit} bytes)"),
        );
        // The same request would produce the same response.
        Failure { should_retry: Some(false), ..failure }
    }
}

#[cfg(test)]
mod tests;
