//! The prompts that wait for the running turn.

use robota_core::ids::InputId;
use robota_core::message::Content;
use robota_session::{QueueHandle, QueuedInput};
use serde::Serialize;

use super::event::shown_text;
use super::{InteractiveSession, PreparedPrompt};
use crate::error::SdkError;

/// A prompt that waits.
///
/// ```
/// use robota_sdk::{InteractiveSession, QueuedPrompt, SdkError};
///
/// async fn waiting(session: &InteractiveSession) -> Result<Vec<String>, SdkError> {
///     let prompts: Vec<QueuedPrompt> = session.queue().list().await?;
///     Ok(prompts.into_iter().map(|prompt| prompt.text).collect())
/// }
/// # let _ = waiting;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct QueuedPrompt {
    /// The id, by which the prompt is edited, moved or cancelled.
    pub input: InputId,
    /// What the user typed, as clients show it.
    pub text: String,
}

impl From<QueuedInput> for QueuedPrompt {
    fn from(queued: QueuedInput) -> Self {
        let text = shown_text(&queued.content, &queued.metadata);
        Self { input: queued.input, text }
    }
}

/// Reads and changes the prompts that wait.
///
/// ```
/// use robota_sdk::{InteractiveSession, SdkError};
///
/// async fn forget(session: &InteractiveSession) -> Result<usize, SdkError> {
///     session.queue().clear().await
/// }
/// # let _ = forget;
/// ```
#[derive(Clone)]
pub struct PromptQueue(QueueHandle, InteractiveSession);

impl InteractiveSession {
    /// Returns the prompts that wait for the running turn.
    #[must_use]
    pub fn queue(&self) -> PromptQueue {
        PromptQueue(self.session().queue(), self.clone())
    }
}

impl PromptQueue {
    /// Returns the prompts, in the order in which they are answered.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn list(&self) -> Result<Vec<QueuedPrompt>, SdkError> {
        Ok(self.0.list().await?.into_iter().map(Into::into).collect())
    }

    /// Replaces the text of a prompt, and attaches the files that the new text mentions. Returns false
    /// if it no longer waits.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn edit(&self, prompt: &InputId, text: &str) -> Result<bool, SdkError> {
        // The files are read again: the text may mention others now.
        let PreparedPrompt { content, metadata, .. } = self.1.prepare_prompt(text).await;
        Ok(self.0.change_with(prompt, Content(content), metadata).await?)
    }

    /// Moves a prompt, so that `position` others are answered before it. Returns false if it no
    /// longer waits.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn move_to(&self, prompt: &InputId, position: usize) -> Result<bool, SdkError> {
        Ok(self.0.move_to(prompt, position).await?)
    }

    /// Removes a prompt. Returns false if it no longer waits.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn cancel(&self, prompt: &InputId) -> Result<bool, SdkError> {
        Ok(self.0.cancel(prompt).await?)
    }

    /// Stops the running turn, so that the next prompt is answered. Returns whether something ran.
    /// [`InteractiveSession::abort`] removes the prompts instead.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn start_next(&self) -> Result<bool, SdkError> {
        Ok(self.0.start_next().await?)
    }

    /// Removes all prompts. The running turn continues. Returns how many were removed.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn clear(&self) -> Result<usize, SdkError> {
        let mut cancelled = 0;
        for prompt in self.0.list().await? {
            // False if it was delivered in the meantime.
            cancelled += usize::from(self.0.cancel(&prompt.input).await?);
        }
        Ok(cancelled)
    }
}
