//! Parses the history of a record, and pairs every call with its result.

use jiff::Timestamp;
use robota_core::history::{EntryKind, HistoryEntry};
use robota_core::ids::{EntryId, Ids, MessageId};
use robota_core::message::{Block, Message, Role, ToolResult, ToolUse};
use serde_json::{Value, json};

use super::COMPACT;
use crate::replay::universal::Reader;

/// The result that the model gets for a call that has none in the imported record.
const NO_RESULT: &str =
    "No result of this call was recorded before the session was imported. It may have had effects.";

#[derive(Debug, Clone)]
pub(super) enum HistoryItem {
    /// A message, and when it was sent.
    Message(Message, Timestamp),
    /// An entry that is not a message.
    Entry(HistoryEntry),
    /// A compaction: what comes before it is no longer sent to the model.
    Compact {
        /// The history entry of the compaction.
        entry: HistoryEntry,
        /// The first message that was kept; none if none was.
        keep_from: Option<MessageId>,
    },
}

/// What was wrong in a history and was repaired.
#[derive(Debug, Default)]
pub(in crate::replay) struct Repairs {
    /// Calls without a result.
    pub(in crate::replay) sealed: Vec<String>,
    /// Number of results without a call.
    pub(in crate::replay) orphans: u64,
    /// Why parts could not be read.
    pub(in crate::replay) unreadable: Vec<String>,
}

/// A parsed history, and the images that came with it.
pub(super) struct ParsedHistory {
    pub(super) items: Vec<HistoryItem>,
    pub(super) blobs: Vec<Vec<u8>>,
    pub(super) repairs: Repairs,
}

/// Parses a record's history; calls without a result get one that says so.
pub(super) fn history(values: &[Value], since: Timestamp, ids: &dyn Ids) -> ParsedHistory {
    let mut reader = Reader::new(ids);
    let (mut items, mut waiting, mut repairs) = (Vec::new(), Vec::new(), Repairs::default());
    let mut last = since;
    for value in values {
        if let Some(at) = value.get("timestamp").and_then(Value::as_str) {
            last = at.parse().unwrap_or(last);
        }
        if value.get("category") == Some(&json!("event")) {
            // Entries between two results of one answer wait until all its results are read.
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

/// Parses a record's messages in the same way as its history.
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

/// Adds or drops results so that every call has exactly one result, and every result a call.
fn pair(items: Vec<HistoryItem>, repairs: &mut Repairs, ids: &dyn Ids) -> Vec<HistoryItem> {
    let mut paired = Vec::with_capacity(items.len());
    let mut open: Vec<ToolUse> = Vec::new();
    let mut answer: Option<(MessageId, Timestamp)> = None;
    for item in items {
        let HistoryItem::Message(mut message, at) = item else {
            paired.push(item);
            continue;
        };
        if message.role() == Role::Tool {
            let results: Vec<ToolResult> = message.tool_results().cloned().collect();
            let (matched, strays): (Vec<_>, Vec<_>) = results
                .into_iter()
                .partition(|result| open.iter().any(|call| call.call == result.call));
            for stray in strays {
                repairs.orphans += 1;
                paired.push(HistoryItem::Entry(HistoryEntry::event(
                    ids,
                    at,
                    "result-without-call",
                    json!(stray),
                )));
            }
            let order: Vec<_> = open.iter().map(|call| call.call.clone()).collect();
            open.retain(|call| matched.iter().all(|result| result.call != call.call));
            let sealed = seal(&mut open, repairs);
            let mut results: Vec<_> = matched.into_iter().chain(sealed).collect();
            results.sort_by_key(|result| order.iter().position(|call| *call == result.call));
            message.content =
                results.into_iter().map(|result| Block::ToolResult(result.into())).collect();
            if !message.content.is_empty() {
                paired.push(HistoryItem::Message(message, at));
            }
            answer = None;
            continue;
        }
        paired.extend(missing(&mut open, answer.take(), repairs));
        open = message.tool_uses().cloned().collect();
        answer = Some((message.id.clone(), at));
        paired.push(HistoryItem::Message(message, at));
    }
    paired.extend(missing(&mut open, answer, repairs));
    paired
}

/// Returns the message with the results that were not recorded.
fn missing(
    open: &mut Vec<ToolUse>,
    answer: Option<(MessageId, Timestamp)>,
    repairs: &mut Repairs,
) -> Option<HistoryItem> {
    let (id, at) = answer?;
    let results = seal(open, repairs);
    let id = MessageId::from(format!("{id}/results"));
    (!results.is_empty()).then(|| HistoryItem::Message(Message::tool(id, results), at))
}

fn seal(open: &mut Vec<ToolUse>, repairs: &mut Repairs) -> Vec<ToolResult> {
    open.drain(..)
        .map(|call| {
            repairs.sealed.push(format!("{} ({})", call.name, call.id));
            ToolResult::text(&call, NO_RESULT, true)
        })
        .collect()
}
