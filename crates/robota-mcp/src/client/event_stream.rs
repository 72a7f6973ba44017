//! Parses streams of server-sent events. Lines that the standard does not define are skipped; they
//! do not end the stream.

use std::collections::VecDeque;

use futures::StreamExt as _;

use super::link::{LinkError, MAX_MESSAGE};

/// An event of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// The name; empty if it has none.
    pub(super) name: String,
    /// The data.
    pub(super) data: String,
    /// Where to continue after a lost connection.
    pub(super) id: Option<String>,
    /// How long to wait before that, in milliseconds.
    pub(super) retry: Option<u64>,
}

/// Reads the events of a response. An event that is too long ends the stream with an error.
pub(super) fn read(
    response: reqwest::Response,
) -> impl futures::Stream<Item = Result<Event, LinkError>> + Send {
    let parser = Parser::default();
    let bytes = response.bytes_stream().boxed();
    let state = (bytes, parser, VecDeque::new(), false);
    futures::stream::unfold(state, |(mut bytes, mut parser, mut found, ended)| async move {
        loop {
            if let Some(event) = found.pop_front() {
                return Some((Ok(event), (bytes, parser, found, ended)));
            }
            if ended {
                return None;
            }
            let pushed = match bytes.next().await? {
                Ok(chunk) => parser.push(&chunk).map_err(|TooLong| {
                    LinkError::new(format!("it sent an event of more than {MAX_MESSAGE} bytes"))
                }),
                Err(error) => Err(LinkError::new(error)),
            };
            match pushed {
                Ok(events) => found.extend(events),
                Err(error) => return Some((Err(error), (bytes, parser, found, true))),
            }
        }
    })
}

/// Splits a stream into events.
#[derive(Default)]
struct Parser {
    line: Vec<u8>,
    event: Event,
    /// The last byte was a carriage return, so a line feed belongs to it.
    after_return: bool,
}

/// An event is too long.
#[derive(Debug)]
struct TooLong;

impl Parser {
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut found = Vec::new();
        for byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => {
                    let line = std::mem::take(&mut self.line);
                    found.extend(self.line(&String::from_utf8_lossy(&line)));
                }
                byte => self.line.push(*byte),
            }
            if self.line.len() + self.event.data.len() > MAX_MESSAGE {
                return Err(TooLong);
            }
        }
        Ok(found)
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            if event.data.ends_with('\n') {
                event.data.pop();
            }
            let says = !event.data.is_empty() || event.id.is_some() || event.retry.is_some();
            return says.then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                self.event.data.push_str(value);
                self.event.data.push('\n');
            }
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" => self.event.retry = value.parse().ok(),
            // Comments and fields without a meaning here.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests;
