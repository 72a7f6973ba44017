//! Reads the lines that the host writes to standard input (`--input-format stream-json`).

use std::io::{BufRead, Read as _};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::host::Host;
use super::lenient;

/// The most bytes of one line.
// Images and documents of the host are base64 in one line.
const MAX_LINE: u64 = 64 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line of the host. Fields that this version does not know are ignored.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputLine {
    User(UserInput),
    ControlRequest(ControlInput),
    ControlResponse {
        #[serde(default)]
        response: Value,
    },
    #[serde(other)]
    Other,
}

/// A message of the user.
#[derive(Debug, Deserialize)]
pub(crate) struct UserInput {
    /// The role and the content, as in the API of Anthropic.
    pub(crate) message: UserInputMessage,
    /// The host's id of the message.
    #[serde(default, deserialize_with = "lenient::text")]
    pub(crate) uuid: Option<String>,
    /// False adds the message to the conversation without a turn.
    #[serde(default, rename = "shouldQuery", deserialize_with = "lenient::flag")]
    pub(crate) should_query: Option<bool>,
    /// True sends the text as it is: no command, no skill, no files that it mentions.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub(crate) client_composed: Option<bool>,
}

/// The message of a user line.
#[derive(Debug, Deserialize)]
pub(crate) struct UserInputMessage {
    #[serde(default, deserialize_with = "lenient::text")]
    role: Option<String>,
    /// Text, or a list of blocks.
    pub(crate) content: Value,
}

/// A request of the host.
#[derive(Debug, Deserialize)]
pub(crate) struct ControlInput {
    /// The id that the answer needs.
    #[serde(default, deserialize_with = "lenient::any_text")]
    pub(crate) request_id: String,
    /// The request: `subtype` and its fields. One without them is answered with an error.
    #[serde(default)]
    pub(crate) request: Value,
}

/// An answer of the host to a request.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
enum AnswerInput {
    Success {
        #[serde(deserialize_with = "lenient::any_text")]
        request_id: String,
        #[serde(default)]
        response: Value,
    },
    Error {
        #[serde(deserialize_with = "lenient::any_text")]
        request_id: String,
        #[serde(default, deserialize_with = "lenient::any_text")]
        error: String,
    },
}

impl AnswerInput {
    /// Reads an answer; none for one that this version does not know, which is ignored. What waits
    /// for it waits until its time is up.
    fn read(response: Value) -> Option<Self> {
        serde_json::from_value(response).ok()
    }
}

/// What the host sent, except answers.
#[derive(Debug)]
pub(crate) enum FromHost {
    /// A message of the user.
    User(UserInput),
    /// A request.
    Control(ControlInput),
    /// A line that cannot be read; nothing follows.
    Unreadable(String),
}

/// Reads standard input on a thread of its own, because a read that blocks cannot be cancelled.
/// Answers go to the host link at once; everything else comes out of the channel. At the end of the
/// input the channel closes and `gone` is cancelled.
pub(crate) fn read(host: Arc<Host>, gone: CancellationToken) -> mpsc::UnboundedReceiver<FromHost> {
    // Unbounded, because this thread also passes on answers: with a full queue it would not read
    // the answer for which the run waits.
    let (send, receive) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut line = Vec::new();
        loop {
            line.clear();
            // A longer line is cut here. It is then not valid, and ends the run.
            let message = match (&mut input).take(MAX_LINE).read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) if line.trim_ascii().is_empty() => continue,
                Ok(_) => match parse(&line) {
                    Ok(InputLine::User(user)) => FromHost::User(user),
                    Ok(InputLine::ControlRequest(request)) => FromHost::Control(request),
                    Ok(InputLine::ControlResponse { response }) => {
                        match AnswerInput::read(response) {
                            Some(AnswerInput::Success { request_id, response }) => {
                                host.on_answer(&request_id, Ok(response));
                            }
                            Some(AnswerInput::Error { request_id, error }) => {
                                host.on_answer(&request_id, Err(error));
                            }
                            None => {}
                        }
                        continue;
                    }
                    // A kind of line that a newer host sends.
                    Ok(InputLine::Other) => continue,
                    Err(error) => FromHost::Unreadable(error),
                },
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => FromHost::Unreadable(format!("cannot read standard input: {error}")),
            };
            let last = matches!(message, FromHost::Unreadable(_));
            if send.send(message).is_err() || last {
                break;
            }
        }
        // Questions that wait for an answer of the host fail now instead of at the end of their
        // time.
        gone.cancel();
    });
    receive
}

/// Parses one line.
fn parse(line: &[u8]) -> Result<InputLine, String> {
    // Some programs write one at the start of every output.
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let read = serde_json::from_slice(line).or_else(|error| {
        let repaired = replace_lone_surrogates(line).ok_or(error)?;
        serde_json::from_slice(&repaired)
    });
    let line = read.map_err(|error| {
        let shown: String = String::from_utf8_lossy(line).trim_end().chars().take(200).collect();
        format!("Error parsing streaming input line ({error}): {shown}")
    })?;
    match &line {
        InputLine::User(UserInput {
            message: UserInputMessage { role: Some(role), .. }, ..
        }) if role != "user" => Err(format!("Error: Expected message role 'user', got '{role}'")),
        _ => Ok(line),
    }
}

/// Replaces escapes of half a surrogate pair by U+FFFD; none if the line has none. JavaScript and
/// Python write such escapes for text that was cut in the middle of a character.
fn replace_lone_surrogates(line: &[u8]) -> Option<Vec<u8>> {
    let mut repaired = Vec::with_capacity(line.len());
    let (mut at, mut found) = (0, false);
    while let Some(byte) = line.get(at) {
        let length = match (byte, escaped_unit(line, at)) {
            (b'\\', Some(0xd800..=0xdbff)) => match escaped_unit(line, at + 6) {
                Some(0xdc00..=0xdfff) => 12,
                _ => 0,
            },
            (b'\\', Some(0xdc00..=0xdfff)) => 0,
            (b'\\', Some(_)) => 6,
            // With the letter behind it: the second backslash of `\\` begins no escape.
            (b'\\', None) => 2,
            _ => 1,
        };
        if length == 0 {
            found = true;
            repaired.extend_from_slice(b"\\ufffd");
            at += 6;
        } else {
            let end = line.len().min(at + length);
            repaired.extend_from_slice(line.get(at..end).unwrap_or_default());
            at = end;
        }
    }
    found.then_some(repaired)
}

/// Returns the number of the escape `\uXXXX` at a position.
fn escaped_unit(line: &[u8], at: usize) -> Option<u16> {
    let digits = line.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests;
