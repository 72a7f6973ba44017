//! The conversation of a session and the window it has to fit into.

use robota_core::context::ContextState;
use robota_core::event::{EntryAdded, MessageInjected};
use robota_core::history::HistoryEntry;
use robota_core::message::Message;
use robota_core::project::History;
use robota_core::provider::View;

use super::Session;
use crate::actor::{Request, Rewrite};
use crate::error::SessionError;
use crate::open::check_threshold;

/// Events read from the journal at a time.
const PAGE: usize = 4_096;

/// The conversation of a session.
#[derive(Clone)]
pub struct ContextHandle(pub(super) Session);

impl ContextHandle {
    /// How full the window is.
    ///
    /// # Errors
    /// When the session has ended.
    pub async fn state(&self) -> Result<ContextState, SessionError> {
        let window = self.0.shared.turn_setup().setup.config.turn.context_window;
        self.0.inspect(move |state| state.context(window).state()).await
    }

    /// The conversation as the model sees it.
    ///
    /// # Errors
    /// When the session has ended.
    pub async fn messages(&self) -> Result<View, SessionError> {
        self.0.inspect(|state| state.view.messages.clone()).await
    }

    /// Everything that was ever said, and the entries programs added, for people.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn full_history(&self) -> Result<Vec<HistoryEntry>, SessionError> {
        let (store, mut history, mut after) = (&*self.0.shared.store, History::default(), 0);
        loop {
            let page = store.read(self.0.id(), after, PAGE).await?;
            page.iter().for_each(|envelope| history.push(envelope));
            match page.last() {
                Some(last) if page.len() == PAGE => after = last.seq,
                _ => return Ok(history.finish()),
            }
        }
    }

    /// Runs that ended with an answer.
    ///
    /// # Errors
    /// When the session has ended.
    pub async fn message_count(&self) -> Result<u64, SessionError> {
        self.0.inspect(|state| state.turns_completed).await
    }

    /// Puts a message into the conversation; while a turn runs, after it.
    ///
    /// # Errors
    /// When it could not be made safe.
    pub async fn inject(&self, message: Message) -> Result<(), SessionError> {
        let events = vec![MessageInjected { message }.into()];
        self.0.ask(|reply| Request::Append { events, at_rest: true, reply }).await
    }

    /// Puts something for people into the history; no model sees it.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn add_entry(&self, entry: HistoryEntry) -> Result<(), SessionError> {
        self.0.append(vec![EntryAdded { entry }.into()]).await
    }

    /// The conversation begins anew; the history stays.
    ///
    /// # Errors
    /// When something runs.
    pub async fn clear(&self) -> Result<(), SessionError> {
        self.0.ask(|reply| Request::Rewrite { how: Rewrite::Clear, reply }).await
    }

    /// Summarises the conversation now.
    ///
    /// # Errors
    /// When something runs, there is nothing to summarise, a hook refuses, or the model fails;
    /// the conversation then stays as it was.
    pub async fn compact(&self, instructions: Option<String>) -> Result<(), SessionError> {
        self.0.ask(|reply| Request::Compact { instructions, reply }).await
    }

    /// Takes the last compaction back; what was said since stays.
    ///
    /// # Errors
    /// When there is none, or something runs.
    pub async fn restore(&self) -> Result<(), SessionError> {
        self.0.ask(|reply| Request::Rewrite { how: Rewrite::Restore, reply }).await
    }

    /// The share of the window above which the conversation is summarised by itself.
    #[must_use]
    pub fn auto_compact(&self) -> Option<f64> {
        self.0.shared.turn_setup().setup.config.turn.compact_at
    }

    /// Another threshold, from the next turn on; none never summarises by itself.
    ///
    /// # Errors
    /// When it is no share of the window: above 0 and at most 1.
    pub fn set_auto_compact(&self, threshold: Option<f64>) -> Result<(), SessionError> {
        check_threshold(threshold)?;
        self.0.shared.turn_setup_mut().setup.config.turn.compact_at = threshold;
        Ok(())
    }
}
