//! The conversation of a session.

use std::path::Path;

use robota_core::context::ContextState;
use robota_core::history::HistoryEntry;
use robota_core::hook::{ConfigSource, HookData};
use robota_core::provider::View;

use super::{InteractiveSession, LoadedContext, history};
use crate::error::SdkError;

/// Gives access to the conversation of a session: what the model sees, what happened, and what
/// fills the window.
///
/// ```
/// # async fn example(session: robota_sdk::InteractiveSession) -> Result<(), robota_sdk::SdkError> {
/// let seen = session.conversation().messages().await?.len();
/// let happened = session.conversation().full_history().await?.len();
/// assert!(seen <= happened);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy)]
pub struct Conversation<'a>(pub(super) &'a InteractiveSession);

impl<'a> Conversation<'a> {
    /// Returns the messages that the model sees.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn messages(&self) -> Result<View, SdkError> {
        Ok(self.0.session().context().messages().await?)
    }

    /// Returns everything that happened, oldest first: all messages, also those that were compacted,
    /// and entries for tool calls, usage and skills.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn full_history(&self) -> Result<Vec<HistoryEntry>, SdkError> {
        Ok(history::read(self.0.session()).await?)
    }

    /// Returns how full the context window is.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn context_state(&self) -> Result<ContextState, SdkError> {
        Ok(self.0.session().context().state().await?)
    }

    /// Returns what was read of the user's files for agents when the session was opened.
    #[must_use]
    pub fn loaded(&self) -> &'a LoadedContext {
        &self.0.0.loaded
    }

    /// Reads a file as it is now, through the gate, without adding it to the conversation: the model
    /// may then edit it, as if it had read it. For a client that knows that the model has seen the
    /// file, although the conversation no longer contains it.
    ///
    /// # Errors
    /// If the file may not be read without approval, or cannot be read.
    pub async fn mark_read(&self, path: &Path) -> Result<(), SdkError> {
        let Some(mentions) = &self.0.0.mentions else {
            let problem = "the session has no tools for files".to_owned();
            return Err(SdkError::NotRead { path: path.to_owned(), problem });
        };
        let marked = mentions.mark_read(self.0.session(), path).await;
        marked.map_err(|problem| SdkError::NotRead { path: path.to_owned(), problem })
    }

    /// Reads the folders with skills again: users and the model can use those that were added since.
    /// The system prompt still lists the skills of the start.
    ///
    /// # Errors
    /// If a ConfigChange hook blocks it; the skills then stay as they are.
    pub async fn reload_skills(&self) -> Result<(), SdkError> {
        if let Some(skills) = &self.0.0.skills {
            let (source, file_path) = (ConfigSource::Skills, None);
            self.0.ask_hooks(HookData::ConfigChange { source, file_path }).await?;
            skills.reload();
        }
        Ok(())
    }
}
