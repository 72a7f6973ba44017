//! The whole history, for people.

use crate::conversation::Conversation;
use crate::event::{Envelope, Event};
use crate::history::{EntryKind, HistoryEntry};
use crate::ids::{EntryId, MessageId};
use crate::message::{Message, ToolResult};

/// All entries of a journal, oldest first: every message that ever was, also those a compaction
/// took out of the model's sight, and the entries programs added.
#[must_use]
pub fn history<'a>(events: impl IntoIterator<Item = &'a Envelope>) -> Vec<HistoryEntry> {
    let mut conversation = Conversation::default();
    let mut results: Option<(MessageId, Vec<ToolResult>, jiff::Timestamp)> = None;
    for envelope in events {
        if let Event::ToolResultAdded(data) = &envelope.event {
            match &mut results {
                Some((id, list, _)) if *id == data.message => list.push(data.result.clone()),
                _ => {
                    flush(&mut results, &mut conversation);
                    let first = vec![data.result.clone()];
                    results = Some((data.message.clone(), first, envelope.ts));
                }
            }
            continue;
        }
        flush(&mut results, &mut conversation);
        match &envelope.event {
            Event::UserMessage(data) => {
                conversation.add_message(data.message.clone(), envelope.ts);
            }
            Event::AssistantMessage(data) => {
                conversation.add_message(data.message.clone(), envelope.ts);
            }
            Event::MessageInjected(data) => {
                conversation.add_message(data.message.clone(), envelope.ts);
            }
            Event::CompactionFinished(data) => conversation.add_entry(HistoryEntry {
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
            Event::EntryAdded(data) => conversation.add_entry(data.entry.clone()),
            _ => {}
        }
    }
    flush(&mut results, &mut conversation);
    conversation.history().to_vec()
}

fn flush(
    results: &mut Option<(MessageId, Vec<ToolResult>, jiff::Timestamp)>,
    conversation: &mut Conversation,
) {
    if let Some((id, results, ts)) = results.take() {
        conversation.add_message(Message::tool(id, results), ts);
    }
}
