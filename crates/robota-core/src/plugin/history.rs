//! Stores the messages of conversations.

use super::storage::store;
use super::{Plugin, PluginCategory, PluginStorage, StorageError};
use crate::event::{Envelope, Event};
use crate::message::Message;

/// Stores the messages of the user, the model and the program, for programs that keep conversations
/// of in-memory agents. A durable session has its journal.
///
/// ```
/// use std::sync::Arc;
///
/// use robota_core::agent::Agent;
/// use robota_core::plugin::{HistoryPlugin, MemoryStorage};
/// use robota_core::scripted::{Script, ScriptedProvider};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let history = Arc::new(HistoryPlugin::new(MemoryStorage::default()));
/// let model = ScriptedProvider::new(Script::new().text("Hello!"));
/// Agent::builder(model, "any-model").plugin(history.clone()).build()?.run("Hi").await;
/// let texts: Vec<_> = history.messages()?.iter().map(|message| message.text()).collect();
/// assert_eq!(texts, ["Hi", "Hello!"]);
/// # Ok(()) }
/// ```
pub struct HistoryPlugin {
    storage: Box<dyn PluginStorage>,
}

impl HistoryPlugin {
    /// Creates a plugin that keeps the messages in this storage.
    pub fn new(storage: impl PluginStorage + 'static) -> Self {
        Self { storage: Box::new(storage) }
    }

    /// Returns the stored messages, oldest first. Records of another form are left out.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn messages(&self) -> Result<Vec<Message>, StorageError> {
        let records = self.storage.records()?.into_iter();
        Ok(records.filter_map(|record| serde_json::from_value(record).ok()).collect())
    }
}

impl Plugin for HistoryPlugin {
    fn name(&self) -> &str {
        "conversation-history"
    }

    fn category(&self) -> PluginCategory {
        PluginCategory::Storage
    }

    fn on_event(&self, event: &Envelope) {
        let message = match &event.event {
            Event::UserMessage(added) => &added.message,
            Event::AssistantMessage(added) => &added.message,
            Event::MessageInjected(added) => &added.message,
            _ => return,
        };
        if let Ok(record) = serde_json::to_value(message) {
            store(&*self.storage, self.name(), &record);
        }
    }
}
