//! History entries (CORE-02): the conversation with everything around it that users want to see.
//! Messages are entries of the category *chat*. All other entries are *events*; models do not see
//! them.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{EntryId, Ids};
use crate::message::{Message, Role};

/// One entry that the history contains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryEntry {
    /// The id of the entry, which no other entry of the session has.
    pub id: EntryId,
    /// When the session added the entry.
    #[schemars(with = "String")]
    pub timestamp: Timestamp,
    /// Whether it is a message or something else.
    #[serde(flatten)]
    pub kind: EntryKind,
}

/// Whether an entry is a message or something that happened between messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "category", rename_all = "snake_case")]
pub enum EntryKind {
    /// A message of the user, of the model, or with results of calls.
    Chat {
        /// The role of the author of the message.
        #[serde(rename = "type")]
        role: Role,
        /// The message, also if the model no longer sees it.
        data: Message,
    },
    /// Anything else than a message, such as a summary of tools for people.
    Event {
        /// The type of the entry, for example `tool-summary`.
        #[serde(rename = "type")]
        name: String,
        /// The data of the entry; its form depends on the type.
        data: Value,
    },
}

impl HistoryEntry {
    /// Creates an entry for a message; it has the message's id.
    #[must_use]
    pub fn chat(message: Message, timestamp: Timestamp) -> Self {
        Self {
            id: EntryId::from(message.id.as_str()),
            timestamp,
            kind: EntryKind::Chat { role: message.role(), data: message },
        }
    }

    /// Creates an entry for anything else.
    pub fn event(
        ids: &dyn Ids,
        timestamp: Timestamp,
        name: impl Into<String>,
        data: Value,
    ) -> Self {
        Self {
            id: EntryId::mint(ids),
            timestamp,
            kind: EntryKind::Event { name: name.into(), data },
        }
    }

    /// Returns the message, if the entry is one.
    #[must_use]
    pub fn message(&self) -> Option<&Message> {
        match &self.kind {
            EntryKind::Chat { data, .. } => Some(data),
            EntryKind::Event { .. } => None,
        }
    }
}

/// Returns the messages of a history as a model should see them.
#[must_use]
pub fn messages_for_api(history: &[HistoryEntry]) -> Vec<Message> {
    history
        .iter()
        .filter_map(HistoryEntry::message)
        .map(|message| message.for_api().into_owned())
        .collect()
}

#[cfg(test)]
mod tests;
