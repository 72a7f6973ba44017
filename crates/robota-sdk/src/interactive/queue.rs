//! The prompts that wait for the running turn.

use robota_core::ids::InputId;
use robota_core::message::Block;
use robota_session::QueuedInput;
use serde::Serialize;
use serde_json::Value;

use super::InteractiveSession;
use super::history::DISPLAY;
use crate::error::SdkError;

/// A prompt that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct QueuedPrompt {
    /// Its id.
    pub input: InputId,
    /// The text to show.
    pub text: String,
}

impl From<QueuedInput> for QueuedPrompt {
    fn from(queued: QueuedInput) -> Self {
        let display = queued.metadata.get(DISPLAY).and_then(Value::as_str).map(str::to_owned);
        let text = || {
            let texts = queued.content.iter().filter_map(|block| match block {
                Block::Text(text) => Some(text.text.as_str()),
                _ => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        };
        Self { input: queued.input, text: display.unwrap_or_else(text) }
    }
}

impl InteractiveSession {
    /// Returns the prompts that wait, in the order in which they are answered.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn queue(&self) -> Result<Vec<QueuedPrompt>, SdkError> {
        Ok(self.session().queue().list().await?.into_iter().map(Into::into).collect())
    }

    /// Replaces the text of a prompt that waits. Returns false if it does not wait any more.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn edit_queued(&self, prompt: &InputId, text: &str) -> Result<bool, SdkError> {
        Ok(self.session().queue().change(prompt, text).await?)
    }

    /// Moves a prompt that waits, so that `position` others are answered before it. Returns false if
    /// it does not wait any more.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn move_queued(&self, prompt: &InputId, position: usize) -> Result<bool, SdkError> {
        Ok(self.session().queue().move_to(prompt, position).await?)
    }

    /// Removes a prompt that waits. Returns false if it does not wait any more.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn cancel_queued(&self, prompt: &InputId) -> Result<bool, SdkError> {
        Ok(self.session().queue().cancel(prompt).await?)
    }

    /// Removes all prompts that wait. The running turn continues. Returns how many were removed.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn cancel_queue(&self) -> Result<usize, SdkError> {
        let mut cancelled = 0;
        for prompt in self.session().queue().list().await? {
            cancelled += usize::from(self.session().queue().cancel(&prompt.input).await?);
        }
        Ok(cancelled)
    }
}
