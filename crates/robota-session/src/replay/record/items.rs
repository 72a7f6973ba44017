//! What a record's history is made of, with every call paired to its result.

use jiff::Timestamp;
use robota_core::history::{EntryKind, HistoryEntry};
use robota_core::ids::{EntryId, Ids, MessageId};
use robota_core::message::{Block, Message, Role, ToolResult, ToolUse};
use serde_json::{Value, json};

use super::COMPACT;
use crate::replay::universal::Reader;

/// What the model is told of a call that has no result in what was imported.
const NO_RESULT: &str =
    "No result of this call was recorded before the session was imported. It may have had effects.";

/// One piece of a history, in order.
#[derive(Debug, Clone)]
pub(super) enum HistoryItem {
    /// Something said.
    Message(Message, Timestamp),
    /// Something else.
    Entry(HistoryEntry),
    /// What was said before became a summary.
    Compact {
        /// The entry that says so.
        entry: HistoryEntry,
        /// The first message that was kept.
        keep_from: Option<MessageId>,
    },
}

/// What was wrong with it, and was put right.
#[derive(Debug, Default)]
pub(in crate::replay) struct Repairs {
    /// Calls without a result.
    pub(in crate::replay) sealed: Vec<String>,
    /// Results without a call.
    pub(in crate::replay) orphans: u64,
    /// What could not be read at all.
    pub(in crate::replay) unreadable: Vec<String>,
}

/// A history and the pictures that came with it.
pub(super) struct ParsedHistory {
    pub(super) items: Vec<HistoryItem>,
    pub(super) blobs: Vec<Vec<u8>>,
    pub(super) repairs: Repairs,
}

/// Reads a record's history.
pub(super) fn history(values: &[Value], since: Timestamp, ids: &dyn Ids) -> ParsedHistory {
    let mut reader = Reader::new(ids);
    let (mut items, mut waiting, mut repairs) = (Vec::new(), Vec::new(), Repairs::default());
    let mut last = since;
    for value in values {
        if let Some(at) = value.get("timestamp").and_then(Value::as_str) {
            last = at.parse().unwrap_or(last);
        }
        if value.get("category") == Some(&json!("event")) {
            // Entries between two results of one answer wait until it is whole.
            waiting.push(entry(value, last, ids));
        } else {
            let mut data = value.get("data").unwrap_or(value).clone();
            if let (Value::Object(data), Some(id)) = (&mut data, value.get("id")) {
                data.entry("id").or_insert_with(|| id.clone());
            }
            match reader.read(&data) {
                Ok(read) => {
                    let read = read.into_iter();
                    items.extend(
                        read.map(|(message, at)| HistoryItem::Message(message, at.unwrap_or(last))),
                    );
                }
                Err(reason) => repairs.unreadable.push(reason),
            }
        }
        if !reader.collecting() {
            items.append(&mut waiting);
        }
    }
    let rest =
        reader.finish().map(|(message, at)| HistoryItem::Message(message, at.unwrap_or(last)));
    items.extend(rest);
    items.append(&mut waiting);
    let items = pair(items, &mut repairs, ids);
    ParsedHistory { items, blobs: reader.blobs, repairs }
}

/// Reads a record's messages, as its history was read.
pub(super) fn messages(values: &[Value], since: Timestamp, ids: &dyn Ids) -> Vec<Message> {
    let chat: Vec<_> = values.iter().map(|value| json!({"data": value})).collect();
    let items = history(&chat, since, ids).items.into_iter();
    items
        .filter_map(|item| match item {
            HistoryItem::Message(message, _) => Some(message),
            HistoryItem::Entry(_) | HistoryItem::Compact { .. } => None,
        })
        .collect()
}

fn entry(value: &Value, at: Timestamp, ids: &dyn Ids) -> HistoryItem {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let name = text("type").unwrap_or("entry").to_owned();
    let data = value.get("data").cloned().unwrap_or_default();
    let keep_from = data.get("keep_from").and_then(Value::as_str).map(MessageId::from);
    let compact = name == COMPACT && data.get("summary").is_some_and(Value::is_string);
    let id = text("id").map_or_else(|| EntryId::mint(ids), EntryId::from);
    let entry = HistoryEntry { id, timestamp: at, kind: EntryKind::Event { name, data } };
    if compact { HistoryItem::Compact { entry, keep_from } } else { HistoryItem::Entry(entry) }
}

/// Every call has exactly one result, every result has a call.
fn pair(items: Vec<HistoryItem>, repairs: &mut Repairs, ids: &dyn Ids) -> Vec<HistoryItem> {
    let mut paired = Vec::with_capacity(items.len());
    let mut owed: Vec<ToolUse> = Vec::new();
    let mut answer: Option<(MessageId, Timestamp)> = None;
    for item in items {
        let HistoryItem::Message(mut message, at) = item else {
            paired.push(item);
            continue;
        };
        if message.role() == Role::Tool {
            let results: Vec<ToolResult> = message.tool_results().cloned().collect();
            let (known, strays): (Vec<_>, Vec<_>) = results
                .into_iter()
                .partition(|result| owed.iter().any(|call| call.call == result.call));
            for stray in strays {
                repairs.orphans += 1;
                paired.push(HistoryItem::Entry(HistoryEntry::event(
                    ids,
                    at,
                    "result-without-call",
                    json!(stray),
                )));
            }
            owed.retain(|call| known.iter().all(|result| result.call != call.call));
            let sealed = seal(&mut owed, repairs);
            let results = known.into_iter().chain(sealed);
            message.content = results.map(Block::ToolResult).collect();
            if !message.content.is_empty() {
                paired.push(HistoryItem::Message(message, at));
            }
            answer = None;
            continue;
        }
        paired.extend(missing(&mut owed, answer.take(), repairs));
        owed = message.tool_uses().cloned().collect();
        answer = Some((message.id.clone(), at));
        paired.push(HistoryItem::Message(message, at));
    }
    paired.extend(missing(&mut owed, answer, repairs));
    paired
}

/// The message with the results that nobody recorded.
fn missing(
    owed: &mut Vec<ToolUse>,
    answer: Option<(MessageId, Timestamp)>,
    repairs: &mut Repairs,
) -> Option<HistoryItem> {
    let (id, at) = answer?;
    let results = seal(owed, repairs);
    let id = MessageId::from(format!("{id}/results"));
    (!results.is_empty()).then(|| HistoryItem::Message(Message::tool(id, results), at))
}

fn seal(owed: &mut Vec<ToolUse>, repairs: &mut Repairs) -> Vec<ToolResult> {
    owed.drain(..)
        .map(|call| {
            repairs.sealed.push(format!("{} ({})", call.name, call.id));
            ToolResult::text(&call, NO_RESULT, true)
        })
        .collect()
}
