//! The complete history, for display.

use std::sync::Arc;

use jiff::Timestamp;

use crate::event::{Envelope, Event};
use crate::history::{EntryKind, HistoryEntry};
use crate::ids::{EntryId, MessageId};
use crate::message::{Message, ToolResult};

/// Returns all entries of a journal, oldest first: every message, including those that a compaction
/// replaced in the model's view, and the entries that programs added.
#[must_use]
pub fn history<'a>(events: impl IntoIterator<Item = &'a Envelope>) -> Vec<HistoryEntry> {
    let mut history = History::default();
    events.into_iter().for_each(|envelope| history.push(envelope));
    history.finish()
}

/// Computes [`history`] event by event; it keeps only the entries.
#[derive(Debug, Default)]
pub struct History {
    entries: Vec<HistoryEntry>,
    /// The results of a message that may get more of them.
    results: Option<(MessageId, Vec<Arc<ToolResult>>, Timestamp)>,
}

impl History {
    /// Takes the next event.
    pub fn push(&mut self, envelope: &Envelope) {
        if let Event::ToolResultAdded(data) = &envelope.event {
            match &mut self.results {
                Some((id, list, _)) if *id == data.message => list.push(data.result.clone()),
                _ => {
                    self.complete_results();
                    let first = vec![data.result.clone()];
                    self.results = Some((data.message.clone(), first, envelope.ts));
                }
            }
            return;
        }
        self.complete_results();
        match &envelope.event {
            Event::UserMessage(data) => self.add(Message::clone(&data.message), envelope.ts),
            Event::AssistantMessage(data) => self.add(Message::clone(&data.message), envelope.ts),
            Event::MessageInjected(data) => self.add(Message::clone(&data.message), envelope.ts),
            Event::CompactionFinished(data) => self.entries.push(HistoryEntry {
                id: EntryId::from(data.summary.id.as_str()),
                timestamp: envelope.ts,
                kind: EntryKind::Event {
                    name: "context-compact".to_owned(),
                    data: serde_json::json!({
                        "summary": data.summary.text(),
                        "keep_from": data.keep_from,
                    }),
                },
            }),
            Event::EntryAdded(data) => self.entries.push(data.entry.clone()),
            _ => {}
        }
    }

    /// Returns the entries that are complete, and forgets them.
    pub fn drain(&mut self) -> impl Iterator<Item = HistoryEntry> + '_ {
        self.entries.drain(..)
    }

    /// Ends the projection and returns its entries.
    #[must_use]
    pub fn finish(mut self) -> Vec<HistoryEntry> {
        self.complete_results();
        self.entries
    }

    fn add(&mut self, message: Message, at: Timestamp) {
        self.entries.push(HistoryEntry::chat(message, at));
    }

    fn complete_results(&mut self) {
        if let Some((id, results, at)) = self.results.take() {
            self.add(Message::tool(id, results), at);
        }
    }
}
