//! The session log (SESS-12): JSON lines that say everything a replay needs, again and again.
//! The journal says each thing once; this shape is made when somebody asks for it, also while
//! the session runs.
//!
//! A line is `{"timestamp", "sessionId", "event", …}`. A field over 32 KiB lies in a file beside
//! the log, `{id}.payloads/{sha256}.json`, and the line has a reference to it (SESS-13).

mod lines;
mod payload;
mod read;

use std::collections::HashMap;

use robota_core::event::Envelope;
use robota_core::ids::{Ids, SessionId};
use robota_core::journal::{JournalStore, read_all};
use robota_core::redact::Redactor;
use serde_json::Value;

pub use payload::{Payload, PayloadRef};
pub(super) use read::load;
pub use read::{parse, references, replay, resolve};

use super::destination::Destination;
use super::error::ReplayError;
use super::record::{Imported, Record};
use super::redact::{redact, redact_events};

/// Payload files by the path a line gives them.
pub type Payloads = HashMap<String, Vec<u8>>;

/// A session as a log.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exported {
    /// The lines, without their ends.
    pub lines: Vec<String>,
    /// The files beside it.
    pub payloads: Vec<Payload>,
}

impl Exported {
    /// The lines as the bytes of a file.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for line in &self.lines {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        bytes
    }
}

/// The log of a session.
///
/// # Errors
/// When its journal cannot be read, or has a gap.
pub async fn export(
    store: &dyn JournalStore,
    session: &SessionId,
    redactor: &Redactor,
) -> Result<Exported, ReplayError> {
    let events = read_all(store, session, 0).await?;
    from_events(session, &events, redactor)
}

/// The log that a journal comes to.
///
/// # Errors
/// When the journal has a gap.
pub fn from_events(
    session: &SessionId,
    events: &[Envelope],
    redactor: &Redactor,
) -> Result<Exported, ReplayError> {
    let mut exported = Exported::default();
    let events = redact_events(redactor, events)?;
    for mut line in lines::of(session, &events)? {
        redact(redactor, &mut line);
        if let Value::Object(fields) = &mut line {
            payload::externalise(session, fields, &mut exported.payloads);
        }
        exported.lines.push(line.to_string());
    }
    Ok(exported)
}

/// Makes a session of a log: what its history says, from its beginning. Importing the same log
/// again changes nothing.
///
/// # Errors
/// When it cannot be replayed, there is another session of that id, or the store fails.
pub async fn import(
    to: &Destination<'_>,
    bytes: &[u8],
    payloads: &Payloads,
    ids: &dyn Ids,
) -> Result<Imported, ReplayError> {
    let lines = parse(bytes)?;
    let record: Record = replay(&resolve(lines, payloads)?)?;
    super::record::import_as(to, &record, ids, "log").await
}

#[cfg(test)]
mod tests;
