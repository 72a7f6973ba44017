//! Builds the record of a conversation from messages in order.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use robota_core::usage::Usage;
use robota_session::replay::Record;
use serde_json::{Map, Value, json};

/// The name of a compaction in the history of a record.
const COMPACT: &str = "context-compact";

/// The result of a call, wherever in the file it was found.
#[derive(Debug, Clone)]
pub(super) struct CallResult {
    /// What the model received.
    pub(super) text: String,
    /// Whether the call failed.
    pub(super) is_error: bool,
    /// When it was recorded.
    pub(super) at: Option<Timestamp>,
}

/// A call of an answer. Its id finds its result.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// The id that the model service gave it.
    pub(super) id: String,
    pub(super) name: String,
    /// The arguments as JSON text.
    pub(super) arguments: String,
}

/// A message of the user or the model.
#[derive(Debug, Clone, Default)]
pub(super) struct Turn {
    pub(super) id: String,
    pub(super) from_user: bool,
    pub(super) at: Option<Timestamp>,
    /// Text and images, as parts of a record's message.
    pub(super) parts: Vec<Value>,
    pub(super) calls: Vec<Call>,
    pub(super) thinking: Vec<String>,
    pub(super) usage: Option<Usage>,
}

/// What happened in a conversation.
#[derive(Debug, Clone)]
pub(super) enum Item {
    Message(Turn),
    /// Everything before it was replaced by a summary, except the messages from `keep_from` on.
    Compacted {
        id: String,
        at: Option<Timestamp>,
        summary: String,
        keep_from: Option<String>,
    },
}

/// Fills the messages and the history of a record. The results of a message's calls follow it, in the
/// order of the calls, and each call has at most one: the import adds those that are missing.
pub(super) fn fill(record: &mut Record, items: &[Item], results: &HashMap<String, CallResult>) {
    let mut at = record.created_at;
    let mut answered = HashSet::new();
    let mut seen: Vec<Value> = Vec::new();
    for item in items {
        match item {
            Item::Message(turn) => {
                at = turn.at.unwrap_or(at);
                let mut values = vec![message(turn, at)];
                // Two answers may name the same call; its result is added once.
                for call in turn.calls.iter().filter(|call| answered.insert(call.id.clone())) {
                    let Some(result) = results.get(&call.id) else { continue };
                    // Entries stay in order, even if a clock was set back.
                    at = result.at.unwrap_or(at).max(at);
                    values.push(json!({
                        "id": format!("{}/results/{}", turn.id, call.id),
                        "role": "tool",
                        "toolCallId": call.id,
                        "name": call.name,
                        "content": result.text,
                        "isError": result.is_error,
                        "timestamp": at.to_string(),
                    }));
                }
                record.history.extend(values.iter().map(entry));
                seen.extend(values);
            }
            Item::Compacted { id, at: compacted, summary, keep_from } => {
                at = compacted.unwrap_or(at);
                let keep = keep_from.as_ref().and_then(|keep| {
                    seen.iter().position(|message| message["id"] == keep.as_str())
                });
                let mut data = json!({ "summary": summary });
                if let (Some(_), Some(keep_from)) = (keep, keep_from) {
                    data["keep_from"] = keep_from.as_str().into();
                }
                record.history.push(json!({
                    "id": id, "timestamp": at.to_string(), "category": "event",
                    "type": COMPACT, "data": data,
                }));
                let kept = keep.map_or_else(Vec::new, |keep| seen.split_off(keep));
                let summary = json!({"id": id, "role": "user", "content": summary});
                seen = std::iter::once(summary).chain(kept).collect();
            }
        }
    }
    record.messages = seen;
    record.updated_at = record.updated_at.max(at);
}

fn message(turn: &Turn, at: Timestamp) -> Value {
    let mut fields = Map::new();
    fields.insert("id".to_owned(), turn.id.as_str().into());
    let role = if turn.from_user { "user" } else { "assistant" };
    fields.insert("role".to_owned(), role.into());
    fields.insert("content".to_owned(), turn.parts.clone().into());
    fields.insert("timestamp".to_owned(), at.to_string().into());
    if !turn.calls.is_empty() {
        let call = |call: &Call| {
            json!({
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            })
        };
        let calls: Vec<_> = turn.calls.iter().map(call).collect();
        fields.insert("toolCalls".to_owned(), calls.into());
    }
    if let Some(usage) = turn.usage {
        fields.insert("usage".to_owned(), json!(usage));
    }
    if !turn.thinking.is_empty() {
        // Not content: the service that signed it would refuse it in another conversation.
        fields.insert("metadata".to_owned(), json!({ "thinking": turn.thinking }));
    }
    Value::Object(fields)
}

fn entry(message: &Value) -> Value {
    json!({
        "id": message["id"],
        "timestamp": message["timestamp"],
        "category": "chat",
        "type": message["role"],
        "data": message,
    })
}

/// Stands for an image that is not in the file.
pub(super) const NO_IMAGE: &str = "[an image that was not imported]";

/// Returns a part of a message with this text.
pub(super) fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}
