//! The conversation of a session, and the context window that it must fit into.

use std::sync::Arc;

use robota_core::context::ContextState;
use robota_core::event::{EntryAdded, MessageInjected};
use robota_core::history::HistoryEntry;
use robota_core::ids::MessageId;
use robota_core::journal::for_each_without_chunks;
use robota_core::message::{Message, Role};
use robota_core::project::History;
use robota_core::provider::View;

use super::Session;
use crate::actor::{Request, Rewrite};
use crate::error::SessionError;
use crate::open::check_threshold;

/// Reads and changes the conversation of a session.
#[derive(Clone)]
pub struct ContextHandle(pub(super) Session);

impl ContextHandle {
    /// Returns how full the window is.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn state(&self) -> Result<ContextState, SessionError> {
        let shared = Arc::clone(&self.0.shared);
        // Read in the session's task: a turn that has ended may have found out the window.
        let window = move || shared.turn_setup().setup.base.config.turn.context_window;
        self.0.inspect(move |state| state.context(window()).state()).await
    }

    /// Returns the messages that the model sees.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn messages(&self) -> Result<View, SessionError> {
        self.0.inspect(|state| state.view.messages.clone()).await
    }

    /// Returns all messages, including those that were compacted, and the entries that programs
    /// added.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn full_history(&self) -> Result<Vec<HistoryEntry>, SessionError> {
        let (store, mut history) = (&*self.0.shared.store, History::default());
        for_each_without_chunks(store, self.0.id(), 0, |envelope| history.push(envelope)).await?;
        Ok(history.finish())
    }

    /// Returns how many turns ended with an answer.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn message_count(&self) -> Result<u64, SessionError> {
        self.0.inspect(|state| state.turns_completed).await
    }

    /// Adds a message to the conversation; while a turn runs, after that turn.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn inject(&self, message: Message) -> Result<(), SessionError> {
        let events = vec![MessageInjected { message: message.into() }.into()];
        self.0.ask(|reply| Request::Append { events, at_rest: true, reply }).await
    }

    /// Adds an entry to the history. The model does not see it.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn add_entry(&self, entry: HistoryEntry) -> Result<(), SessionError> {
        self.0.append(vec![EntryAdded { entry }.into()]).await
    }

    /// Starts a new, empty conversation. The history stays.
    ///
    /// # Errors
    /// If something runs.
    pub async fn clear(&self) -> Result<(), SessionError> {
        self.0.ask(|reply| Request::Rewrite { how: Rewrite::Clear, reply }).await
    }

    /// Goes back to a message of the conversation: later messages leave it, except the results of
    /// the calls of that message. The history stays.
    ///
    /// # Errors
    /// If the conversation has no such message, or something runs.
    pub async fn rewind(&self, to: &MessageId) -> Result<(), SessionError> {
        let messages = self.messages().await?;
        let Some(at) = messages.iter().position(|message| message.id == *to) else {
            return Err(SessionError::NoSuchMessage(to.clone()));
        };
        let results = messages[at].tool_uses().next().is_some()
            && messages.get(at + 1).is_some_and(|next| next.role() == Role::Tool);
        let how = Rewrite::Keep(at + 1 + usize::from(results));
        self.0.ask(|reply| Request::Rewrite { how, reply }).await
    }

    /// Compacts the conversation now.
    ///
    /// # Errors
    /// If something runs, there is nothing to summarise, a hook blocks it, or the model fails. Then
    /// the conversation does not change.
    pub async fn compact(&self, instructions: Option<String>) -> Result<(), SessionError> {
        self.0.ask(|reply| Request::Compact { instructions, reply }).await
    }

    /// Undoes the last compaction. Messages since then stay.
    ///
    /// # Errors
    /// If there is none, or something runs.
    pub async fn restore(&self) -> Result<(), SessionError> {
        self.0.ask(|reply| Request::Rewrite { how: Rewrite::Restore, reply }).await
    }

    /// Returns the share of the window above which the session compacts the conversation
    /// automatically; none if it never does.
    #[must_use]
    pub fn auto_compact(&self) -> Option<f64> {
        self.0.shared.turn_setup().setup.base.config.turn.compact_at
    }

    /// Sets that share, from the next turn on; none turns automatic compaction off.
    ///
    /// # Errors
    /// If it is not above 0 and at most 1.
    pub fn set_auto_compact(&self, threshold: Option<f64>) -> Result<(), SessionError> {
        check_threshold(threshold)?;
        self.0.shared.turn_setup_mut().setup.base.config.turn.compact_at = threshold;
        Ok(())
    }
}
