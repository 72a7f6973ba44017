//! The session log (SESS-12): JSON lines that repeat everything a replay needs. The journal records
//! each fact once; the log is derived from it on request, also while the session runs.
//!
//! A line is `{"timestamp", "sessionId", "event", …}`. A field over 32 KiB is in a separate file,
//! `{id}.payloads/{sha256}.json`, and the line contains a reference to it (SESS-13).

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

/// Finds payload files by their relative path.
pub type Payloads = HashMap<String, Vec<u8>>;

/// Holds a session as a log.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExportedLog {
    /// The lines as JSON, without newlines.
    pub lines: Vec<String>,
    /// The files with large fields, to which the lines refer.
    pub payloads: Vec<Payload>,
}

impl ExportedLog {
    /// Returns the lines as the bytes of a file.
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

/// Exports the log of a session.
///
/// # Errors
/// If the journal cannot be read, or has a gap.
pub async fn export(
    store: &dyn JournalStore,
    session: &SessionId,
    redactor: &Redactor,
) -> Result<ExportedLog, ReplayError> {
    let events = read_all(store, session, 0).await?;
    from_events(session, &events, redactor)
}

/// Derives the log from the events of a journal.
///
/// # Errors
/// If the journal has a gap.
pub fn from_events(
    session: &SessionId,
    events: &[Envelope],
    redactor: &Redactor,
) -> Result<ExportedLog, ReplayError> {
    let mut exported = ExportedLog::default();
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

/// Imports a log as a session, with the history that it contains. Importing the same log again
/// changes nothing.
///
/// # Errors
/// If the log cannot be replayed, another session has that id, or the store fails.
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
