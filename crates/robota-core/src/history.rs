//! History entries (CORE-02): the conversation with everything around it that people want to
//! see. Messages are entries of the category *chat*; all others are *events* and no model sees
//! them.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{EntryId, Ids};
use crate::message::{Message, Role};

/// One entry of the history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryEntry {
    /// Unique in its session.
    pub id: EntryId,
    /// When.
    #[schemars(with = "String")]
    pub timestamp: Timestamp,
    /// What it is.
    #[serde(flatten)]
    pub kind: EntryKind,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "category", rename_all = "snake_case")]
pub enum EntryKind {
    /// A message.
    Chat {
        /// Its role.
        #[serde(rename = "type")]
        role: Role,
        /// The message.
        data: Message,
    },
    /// Anything else.
    Event {
        /// What it is called, for example `tool-summary`.
        #[serde(rename = "type")]
        name: String,
        /// What it says.
        data: Value,
    },
}

impl HistoryEntry {
    /// An entry for a message; it has the message's id.
    #[must_use]
    pub fn chat(message: Message, timestamp: Timestamp) -> Self {
        Self {
            id: EntryId::from(message.id.as_str()),
            timestamp,
            kind: EntryKind::Chat { role: message.role(), data: message },
        }
    }

    /// An entry for something else.
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

    /// The message, if it is one.
    #[must_use]
    pub fn message(&self) -> Option<&Message> {
        match &self.kind {
            EntryKind::Chat { data, .. } => Some(data),
            EntryKind::Event { .. } => None,
        }
    }
}

/// The messages of a history as a model should see them.
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
