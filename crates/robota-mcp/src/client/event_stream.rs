//! Parses streams of server-sent events. Lines that the standard does not define are skipped; they
//! do not end the stream.

use std::collections::VecDeque;
use std::time::Duration;

use futures::StreamExt as _;

use super::link::{LinkError, MAX_MESSAGE};

/// An event of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// The name; empty if it has none.
    pub(super) name: String,
    /// The data, with line breaks between its lines.
    pub(super) data: String,
    /// Where to continue after a lost connection.
    pub(super) id: Option<String>,
    /// How long to wait before that, in milliseconds.
    pub(super) retry: Option<u64>,
}

/// What a stream is for, which decides how much of it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamOf {
    /// The answer to one request. It may have [`MAX_CALL_EVENTS`] events and [`MAX_CALL_BYTES`] bytes.
    Call,
    /// Messages for as long as the connection exists. After a burst of [`FREE_EVENTS`] they are read with
    /// [`EVENTS_PER_SECOND`], so that a server that never stops does not use the whole processor.
    Session,
}

/// The most events of the answer to one request: progress, log messages, and the answer.
pub(super) const MAX_CALL_EVENTS: u64 = 100_000;
/// The most bytes of the answer to one request.
pub(super) const MAX_CALL_BYTES: u64 = 64 * 1024 * 1024;
/// How many events of a connection are read as fast as they arrive.
const FREE_EVENTS: u64 = 10_000;
/// How many further events are read in a second.
const EVENTS_PER_SECOND: u64 = 1_000;

/// Counts what was read of a stream.
struct Meter {
    of: StreamOf,
    events: u64,
    bytes: u64,
    started: tokio::time::Instant,
}

impl Meter {
    fn new(of: StreamOf) -> Self {
        Self { of, events: 0, bytes: 0, started: tokio::time::Instant::now() }
    }

    /// Counts bytes of the stream.
    fn read(&mut self, bytes: usize) -> Result<(), LinkError> {
        self.bytes += bytes as u64;
        if self.of == StreamOf::Call && self.bytes > MAX_CALL_BYTES {
            let problem = format!("its answer has more than {MAX_CALL_BYTES} bytes");
            return Err(LinkError::limit(problem));
        }
        Ok(())
    }

    /// Counts an event; waits if events arrive too fast.
    async fn event(&mut self) -> Result<(), LinkError> {
        self.events += 1;
        match self.of {
            StreamOf::Call if self.events > MAX_CALL_EVENTS => {
                Err(LinkError::limit(format!("its answer has more than {MAX_CALL_EVENTS} events")))
            }
            StreamOf::Call => Ok(()),
            StreamOf::Session => {
                let paced = self.events.saturating_sub(FREE_EVENTS);
                let due = self.started + Duration::from_millis(paced * 1_000 / EVENTS_PER_SECOND);
                tokio::time::sleep_until(due).await;
                Ok(())
            }
        }
    }
}

/// Reads the events of a response. An event that is too long, and too much for one request, end the stream
/// with an error.
pub(super) fn read(
    response: reqwest::Response,
    of: StreamOf,
) -> impl futures::Stream<Item = Result<Event, LinkError>> + Send {
    let (parser, meter) = (Parser::default(), Meter::new(of));
    let bytes = response.bytes_stream().boxed();
    let state = (bytes, parser, meter, VecDeque::new(), false);
    futures::stream::unfold(
        state,
        |(mut bytes, mut parser, mut meter, mut found, ended)| async move {
            loop {
                if ended {
                    return None;
                }
                if let Some(event) = found.pop_front() {
                    let counted = meter.event().await;
                    let failed = counted.is_err();
                    let item = counted.map(|()| event);
                    return Some((item, (bytes, parser, meter, found, failed)));
                }
                let pushed = match bytes.next().await? {
                    Ok(chunk) => meter.read(chunk.len()).and_then(|()| {
                        parser.push(&chunk).map_err(|TooLong| {
                            LinkError::limit(format!(
                                "it sent an event of more than {MAX_MESSAGE} bytes"
                            ))
                        })
                    }),
                    Err(error) => Err(LinkError::of_request(error)),
                };
                match pushed {
                    Ok(events) => found.extend(events),
                    Err(error) => return Some((Err(error), (bytes, parser, meter, found, true))),
                }
            }
        },
    )
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
            // Checked for each byte, since neither a line nor an event has to end.
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
            // The standard drops events without data; an id or a delay matters for a stream that is
            // opened again.
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
            // As the standard says: such an id is ignored, because it could not be sent back in a
            // header.
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
