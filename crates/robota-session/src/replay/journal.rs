//! Exports and imports the lines of a journal: the format that loses nothing.

use std::sync::Arc;

use robota_core::event::{Envelope, Event};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore, read_all};
use robota_core::message::BlobRef;
use robota_core::redact::Redactor;
use robota_core::state::State;

use super::blobs::blob_refs;
use super::destination::Destination;
use super::error::ReplayError;
use super::record::Imported;
use super::redact::redact_envelope;

/// Holds a session as journal lines.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExportedJournal {
    /// The lines, each with its newline.
    pub bytes: Vec<u8>,
    /// The number of lines, one for each event.
    pub events: u64,
    /// How many lines had secrets removed; all others are exactly as stored.
    pub redacted: u64,
    /// The blobs that the lines refer to; the caller exports them too.
    pub blobs: Vec<BlobRef>,
}

/// Exports the lines of a session.
///
/// # Errors
/// If the session cannot be read.
pub async fn export(
    store: &dyn JournalStore,
    session: &SessionId,
    redactor: &Redactor,
) -> Result<ExportedJournal, ReplayError> {
    let mut exported = ExportedJournal::default();
    for event in read_all(store, session, 0).await? {
        let bad = |error: &dyn std::fmt::Display| {
            ReplayError::shape("journal", format!("event {}: {error}", event.cursor()))
        };
        let clean = redact_envelope(redactor, &event).map_err(|error| bad(&error))?;
        exported.redacted += u64::from(clean.is_some());
        let event = clean.as_ref().unwrap_or(&event);
        event.encode(&mut exported.bytes).map_err(|error| bad(&error))?;
        exported.events += 1;
        for blob in blob_refs(event) {
            if !exported.blobs.contains(&blob) {
                exported.blobs.push(blob);
            }
        }
    }
    Ok(exported)
}

/// Parses the events of an export.
///
/// # Errors
/// If a line is not a valid event, or events are missing.
pub fn parse(bytes: &[u8]) -> Result<Vec<Envelope>, ReplayError> {
    let mut events = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let event = Envelope::decode(line)
            .map_err(|error| ReplayError::Line { line: index + 1, reason: error.to_string() })?;
        events.push(event);
    }
    State::fold(&events)?;
    Ok(events)
}

/// Imports exported events as a session. Importing the same events again changes nothing, even if
/// the session has continued since.
///
/// # Errors
/// If another session has that id, or the store fails.
pub async fn import(
    to: &Destination<'_>,
    mut events: Vec<Envelope>,
) -> Result<Imported, ReplayError> {
    let created = events.iter_mut().rev().find_map(|event| match &mut event.event {
        Event::SessionCreated(data) => Some(data),
        _ => None,
    });
    let created = created
        .ok_or_else(|| ReplayError::shape("journal", "no event contains the session's id"))?;
    if let Some(id) = to.id {
        created.session = id.clone();
    }
    let session = created.session.clone();
    match to.store.read(&session, 0, events.len()).await {
        Ok(stored) if stored == events => return Ok(Imported::existing(session)),
        Ok(_) => return Err(ReplayError::Taken(session)),
        Err(JournalError::NotFound(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let events: Vec<_> = events.into_iter().map(Arc::new).collect();
    let missing_blobs = to.write(&session, &events).await?;
    let events = events.len() as u64;
    Ok(Imported { already: false, events, missing_blobs, ..Imported::existing(session) })
}

/// Returns an id for a copy of a session. It is the same for the same events, so that a second copy
/// is recognised.
#[must_use]
pub fn copy_id(events: &[Envelope]) -> SessionId {
    let mut bytes = Vec::new();
    for event in events {
        bytes.extend_from_slice(event.to_line().as_bytes());
    }
    let hash = BlobRef::of(&bytes).sha256;
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    // A UUID of version 8, whose bits are application-defined.
    SessionId::from(format!(
        "{}-{}-8{}-a{}-{}",
        part(0, 8),
        part(8, 12),
        part(12, 15),
        part(15, 18),
        part(18, 30)
    ))
}
