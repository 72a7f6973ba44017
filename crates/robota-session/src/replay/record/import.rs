//! Imports a record as a session.

use robota_core::event::Event;
use robota_core::history::EntryKind;
use robota_core::ids::{Ids, SessionId};
use robota_core::journal::JournalError;
use robota_core::message::{Message, Role};
use serde::Serialize;
use serde_json::json;

use super::build::Builder;
use super::items::{self, HistoryItem, ParsedHistory};
use super::{IMPORTED, Record};
use crate::replay::destination::Destination;
use crate::replay::error::ReplayError;

/// The import marker is among this many first events.
const MARKER_WITHIN: usize = 16;

/// Reports which session an import created, and what it left out or had to add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// The id of the imported session.
    pub session: SessionId,
    /// Whether it was imported before; then nothing was written.
    pub already: bool,
    /// How many events were written; 0 if it was imported before.
    pub events: u64,
    /// Hashes of blobs, such as images and long output, that the session refers to but that did not
    /// come with the export.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_blobs: Vec<String>,
    /// Calls without a result; the import added one that says so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sealed: Vec<String>,
    /// Number of results without a call; they are in the history, but the model does not see them.
    pub orphans: u64,
    /// Why parts could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

impl Imported {
    /// Returns the result if the session exists already.
    pub(in crate::replay) fn existing(session: SessionId) -> Self {
        Self {
            session,
            already: true,
            events: 0,
            missing_blobs: Vec::new(),
            sealed: Vec::new(),
            orphans: 0,
            unreadable: Vec::new(),
        }
    }
}

/// Imports a record as a session, under its own id or the given one. Importing the same record
/// again changes nothing.
///
/// # Errors
/// If another session has that id, or the store fails.
pub async fn import(
    to: &Destination<'_>,
    record: &Record,
    ids: &dyn Ids,
) -> Result<Imported, ReplayError> {
    import_as(to, record, ids, "record").await
}

/// Imports a record, and notes the format that it was made from in the journal.
///
/// # Errors
/// If another session has that id, or the store fails.
pub async fn import_as(
    to: &Destination<'_>,
    record: &Record,
    ids: &dyn Ids,
    format: &str,
) -> Result<Imported, ReplayError> {
    let record = &with_prompt(record);
    let session = to.id.cloned().unwrap_or_else(|| SessionId::from(record.id.as_str()));
    if session.as_str().is_empty() {
        return Err(ReplayError::shape("session record", "it has no id"));
    }
    match to.store.read(&session, 0, MARKER_WITHIN).await {
        Ok(events) => {
            let sha256 = record.sha256();
            let same = events.iter().any(|event| match &event.event {
                Event::EntryAdded(data) => match &data.entry.kind {
                    EntryKind::Event { name, data } => {
                        name == IMPORTED && data.get("sha256") == Some(&json!(sha256))
                    }
                    EntryKind::Chat { .. } => false,
                },
                _ => false,
            });
            let taken = || ReplayError::Taken(session.clone());
            return same.then(|| Imported::existing(session.clone())).ok_or_else(taken);
        }
        Err(JournalError::NotFound(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let ParsedHistory { items, blobs, repairs } =
        items::history(&record.history, record.created_at, ids);
    let seen = items::messages(&record.messages, record.created_at, ids);
    let built = build(record, &session, format, &items, &seen, ids)?;
    for bytes in &blobs {
        to.store.blobs(&session).put(bytes).await?;
    }
    let missing_blobs = to.write(&session, &built.events).await?;
    Ok(Imported {
        session,
        already: false,
        events: built.events.len() as u64,
        missing_blobs,
        sealed: repairs.sealed,
        orphans: repairs.orphans,
        unreadable: repairs.unreadable,
    })
}

/// Moves the system prompt out of the messages: a record may have it there, in its own field, or
/// both.
fn with_prompt(record: &Record) -> Record {
    let mut record = record.clone();
    let first = record.messages.first().filter(|message| message["role"] == "system");
    let text = first.and_then(|message| message["content"].as_str()).map(str::to_owned);
    if let Some(text) = text
        && record.system_prompt.as_ref().is_none_or(|prompt| *prompt == text)
    {
        record.messages.remove(0);
        let same = |entry: &serde_json::Value| {
            let data = entry.get("data").unwrap_or(entry);
            data["role"] == "system" && data["content"] == text.as_str()
        };
        record.history.retain(|entry| !same(entry));
        record.system_prompt = Some(text);
    }
    record
}

/// Builds the events from the history, so that the model finally sees the messages of the record.
fn build<'a>(
    record: &Record,
    session: &SessionId,
    format: &str,
    items: &[HistoryItem],
    seen: &[Message],
    ids: &'a dyn Ids,
) -> Result<Builder<'a>, ReplayError> {
    let sees = |builder: &Builder<'_>| {
        builder.state.view.messages.iter().map(AsRef::as_ref).eq(seen.iter())
    };
    let mut replayed = Builder::new(record, ids);
    replayed.begin(record, session, format)?;
    for item in items {
        replayed.add_item(item, Some(seen))?;
    }
    if sees(&replayed) {
        replayed.end(record)?;
        return Ok(replayed);
    }
    // The history does not explain what the model sees: find where the two differ.
    let history_messages: Vec<&Message> = items
        .iter()
        .filter_map(|item| match item {
            HistoryItem::Message(message, _) => Some(message),
            HistoryItem::Entry(_) | HistoryItem::Compact { .. } => None,
        })
        .collect();
    let shared =
        history_messages.iter().rev().zip(seen.iter().rev()).take_while(|(a, b)| **a == *b).count();
    let shared = whole_answers(seen, shared);
    let (before, head) = (history_messages.len() - shared, &seen[..seen.len() - shared]);
    let mut rebuilt = Builder::new(record, ids);
    rebuilt.begin(record, session, format)?;
    let mut messages = 0;
    for item in items {
        if matches!(item, HistoryItem::Message(..)) {
            if messages == before {
                rebuilt.set_view(head)?;
            }
            messages += 1;
        }
        rebuilt.add_item(item, None)?;
    }
    if messages == before {
        rebuilt.set_view(head)?;
    }
    if !sees(&rebuilt) {
        rebuilt.set_view(seen)?;
    }
    rebuilt.end(record)?;
    Ok(rebuilt)
}

/// Shortens the shared part so that it does not start with tool results: their answer would be
/// missing.
fn whole_answers(seen: &[Message], shared: usize) -> usize {
    let first = seen.len() - shared;
    let strays = seen[first..].iter().take_while(|message| message.role() == Role::Tool).count();
    shared - strays
}
