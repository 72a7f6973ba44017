//! The line of a journal: an event with its sequence number, epoch, time and checksum.

use std::io::Write as _;

use jiff::Timestamp;
use serde::Serialize;
use serde::ser::Error as _;

use super::depth;
use super::line::Line;
use super::{Cursor, Event};
use crate::ids::TurnId;

/// A journal says by this version how its lines are read. Version 1 is frozen: every later version
/// reads it (`fixtures/journal-v1`).
pub const FORMAT: u32 = 1;

/// The highest `min_reader` that this version can read.
pub const READER: u32 = 1;

/// The largest integer that every JSON parser reads exactly. Its successor is exact as well, so
/// computing the next sequence number needs no further check.
const MAX_SEQ: u64 = (1 << 53) - 1;

/// What precedes the type of the event in a line.
pub const TYPE_FIELD: &[u8] = b"\"type\":\"";

/// The length of the checksum field: `,"crc":"` + eight digits + `"}`.
const CHECKSUM_BYTES: usize = 8 + 8 + 2;

/// Adds to an event its position in the journal and its time: one line of a journal.
///
/// ```
/// use robota_core::event::Envelope;
///
/// fn line(envelope: &Envelope) -> String {
///     format!("{} {}", envelope.cursor(), envelope.ts)
/// }
/// # let _ = line;
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// The sequence number; one more than that of the previous event.
    pub seq: u64,
    /// The opening of the journal in which the event was written.
    pub epoch: u32,
    /// When the event was recorded.
    pub ts: Timestamp,
    /// The turn it belongs to; `None` outside a turn.
    pub turn: Option<TurnId>,
    /// The event, which the type in the line names.
    pub event: Event,
    /// The lowest reader version that may use the journal; `None` if every version may.
    pub min_reader: Option<u32>,
}

/// Why a line of a journal cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The line ends before its checksum, because a write was cut short.
    #[error("the line is torn: it has no checksum")]
    Torn,
    /// The bytes differ from what was written.
    #[error("the line is damaged: its checksum is {found}, its bytes say {expected}")]
    Checksum {
        /// The checksum that the line contains.
        found: String,
        /// The checksum computed from the bytes.
        expected: String,
    },
    /// The checksum matches, but the line is not an event.
    #[error("the line is not an event: {0}")]
    Malformed(String),
    /// A newer version wrote the line and requires a newer reader.
    #[error(
        "this journal needs a newer version: it asks for reader {needed}, this is reader {READER}"
    )]
    NewerReader {
        /// The reader version that the line requires.
        needed: u32,
    },
}

#[derive(Serialize)]
struct HeadOut<'a> {
    seq: u64,
    epoch: u32,
    ts: &'a Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: &'a Option<TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_reader: Option<u32>,
    #[serde(rename = "type")]
    kind: &'a str,
}

impl Envelope {
    /// Returns the position of the event.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        Cursor { epoch: self.epoch, seq: self.seq }
    }

    /// Appends the line to `out`, with its newline. The checksum covers every byte before it, so a
    /// reader needs no canonical form of JSON.
    ///
    /// # Errors
    /// When the event's data is nested deeper than [`Envelope::decode`] accepts: only lines that
    /// can be read back are written.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        let start = out.len();
        // Most lines are streamed chunks of text: one allocation instead of one per doubling.
        out.reserve(320);
        let head = HeadOut {
            seq: self.seq,
            epoch: self.epoch,
            ts: &self.ts,
            turn: &self.turn,
            min_reader: self.min_reader,
            kind: self.event.kind(),
        };
        serde_json::to_writer(&mut *out, &head)?;
        // The closing brace of the head: the data and the checksum are written into the same
        // object.
        out.pop();
        out.extend_from_slice(b",\"data\":");
        let data = out.len();
        self.event.encode_data(out)?;
        // The data of an unknown event was read from a line and is written as it was.
        if !matches!(self.event, Event::Unknown { .. }) {
            depth::check(&out[data..]).map_err(serde_json::Error::custom)?;
        }
        let crc = crc32fast::hash(&out[start..]);
        writeln!(out, ",\"crc\":\"{crc:08x}\"}}").map_err(serde_json::Error::io)
    }

    /// Returns the line as text, without its newline.
    #[must_use]
    pub fn to_line(&self) -> String {
        let mut bytes = Vec::new();
        match self.encode(&mut bytes) {
            Ok(()) => {
                bytes.pop();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Err(error) => format!("{{\"error\":{:?}}}", error.to_string()),
        }
    }

    /// Returns true if the line is a [chunk](super::Nature::Chunk), as [`Envelope::encode`] writes it.
    /// Only the type is read: quotes in the values before it are escaped, so the first type field is
    /// that of the line.
    #[must_use]
    pub fn is_chunk_line(line: &[u8]) -> bool {
        let Some(at) = line.windows(TYPE_FIELD.len()).position(|bytes| bytes == TYPE_FIELD) else {
            return false;
        };
        let kind = line.get(at + TYPE_FIELD.len()..).unwrap_or_default();
        super::chunk_kinds().any(|chunk| {
            kind.strip_prefix(chunk.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'"'))
        })
    }

    /// Decodes a line, with or without its newline.
    ///
    /// # Errors
    /// When the line is torn, damaged or malformed, or requires a newer reader.
    pub fn decode(line: &[u8]) -> Result<Self, DecodeError> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let (body, tail) = line
            .len()
            .checked_sub(CHECKSUM_BYTES)
            .and_then(|at| line.split_at_checked(at))
            .ok_or(DecodeError::Torn)?;
        let found = tail
            .strip_prefix(b",\"crc\":\"")
            .and_then(|rest| rest.strip_suffix(b"\"}"))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .ok_or(DecodeError::Torn)?;
        let expected = crc32fast::hash(body);
        // Only the form that is written: `from_str_radix` would accept a sign and upper case, and
        // the line would not be the same after writing it again.
        let digits = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
        if !found.bytes().all(digits) || u32::from_str_radix(found, 16) != Ok(expected) {
            let expected = format!("{expected:08x}");
            return Err(DecodeError::Checksum { found: found.to_owned(), expected });
        }
        let text =
            std::str::from_utf8(line).map_err(|error| DecodeError::Malformed(error.to_string()))?;
        // The fast path reports no errors: a line that it cannot read is parsed again below.
        if let Some(envelope) = Self::decode_fast(text) {
            return Ok(envelope);
        }
        let line = Line::read(text).map_err(DecodeError::Malformed)?;
        // Checked before the data is decoded: a newer format may have data that this version cannot
        // read.
        if let Some(needed) = line.min_reader.filter(|needed| *needed > READER) {
            return Err(DecodeError::NewerReader { needed });
        }
        Self::from_line(line)
    }

    /// Fast path for a line in the form that [`Envelope::encode`] writes: the data is the last
    /// field before the checksum, so its end is known without parsing. Returns `None` for any other
    /// line, which [`Envelope::decode`] then parses field by field.
    fn decode_fast(text: &str) -> Option<Self> {
        let head = Line::read_fast(text, CHECKSUM_BYTES)?;
        (head.min_reader.is_none()).then(|| Self::from_line(head).ok())?
    }

    fn from_line(line: Line<'_>) -> Result<Self, DecodeError> {
        let missing = |field| DecodeError::Malformed(format!("missing field `{field}`"));
        let kind = line.kind.ok_or_else(|| missing("type"))?;
        let event = Event::decode(&kind, line.data.ok_or_else(|| missing("data"))?)
            .map_err(|error| DecodeError::Malformed(format!("{kind}: {error}")))?;
        let seq = line.seq.ok_or_else(|| missing("seq"))?;
        let epoch = line.epoch.ok_or_else(|| missing("epoch"))?;
        // A damaged or hostile line must not make the next number overflow.
        if seq > MAX_SEQ || epoch == u32::MAX {
            return Err(DecodeError::Malformed(format!("no writer gets to {epoch}-{seq}")));
        }
        Ok(Self {
            seq,
            epoch,
            ts: line.ts.ok_or_else(|| missing("ts"))?,
            turn: line.turn,
            event,
            min_reader: line.min_reader,
        })
    }
}
