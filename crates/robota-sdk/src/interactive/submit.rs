//! Prompts: what a user submits, and what it leads to.

use robota_core::ids::InputId;
use robota_core::message::{Block, Content};
use robota_core::turn::RAW_INPUT;
use robota_session::{Chat, ChatEnd, EventFilter, SendOptions};
use serde_json::{Map, Value};

use super::event::{InteractiveEvent, Projection};
use super::history::DISPLAY;
use super::result::ExecutionResult;
use super::{InteractiveSession, PreparedPrompt};
use crate::error::SdkError;

/// What a user submits.
///
/// ```
/// use robota_sdk::Prompt;
///
/// let plain = Prompt::from("Fix the tests.");
/// let command = Prompt::from("A long text that a skill made").display("/review src");
/// # let _ = (plain, command);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Prompt {
    pub(super) content: Vec<Block>,
    pub(super) metadata: Map<String, Value>,
}

impl From<Content> for Prompt {
    fn from(Content(content): Content) -> Self {
        Self { content, metadata: Map::new() }
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Content::from(text).into()
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Content::from(text).into()
    }
}

impl Prompt {
    /// Sets the text that clients show instead of the content.
    pub fn display(self, text: impl Into<String>) -> Self {
        self.metadata(DISPLAY, text.into())
    }

    /// Sets the text as the user typed it, if the content was made from it. Hooks receive this text.
    pub fn raw(self, text: impl Into<String>) -> Self {
        self.metadata(RAW_INPUT, text.into())
    }

    /// Adds a value that is recorded with the prompt.
    pub fn metadata(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }
}

/// A prompt that was accepted: it is in the journal, and is answered even if this value is dropped.
pub struct Submission {
    chat: Chat,
}

impl Submission {
    /// Returns the id of the prompt, by which it can be changed or cancelled while it waits.
    #[must_use]
    pub fn input(&self) -> &InputId {
        self.chat.input()
    }

    /// Waits for the end of the turn.
    ///
    /// # Errors
    /// If the prompt was cancelled or blocked before its turn, or the session ended.
    pub async fn result(mut self) -> Result<ExecutionResult, SdkError> {
        let (mut projection, mut shown) = (Projection::default(), Vec::new());
        while let Some(event) = self.chat.next().await {
            projection.push(&event?.envelope, &mut shown);
            for event in shown.drain(..) {
                match event {
                    InteractiveEvent::Complete(result)
                    | InteractiveEvent::Interrupted(result)
                    | InteractiveEvent::Error(result) => {
                        // The turn before the prompt's own ends first.
                        if matches!(self.chat.end(), Some(ChatEnd::Ended { .. })) {
                            return Ok(*result);
                        }
                    }
                    _ => {}
                }
            }
        }
        // The prompt had no turn of its own.
        let text = self.chat.finish().await?.into_text()?;
        Err(SdkError::NoTurn(text))
    }
}

impl InteractiveSession {
    /// Submits a prompt. While a turn runs, the prompt waits in the queue and is answered after it.
    /// When this returns, the prompt is in the journal and cannot be lost.
    ///
    /// # Errors
    /// If the queue is full, the session has ended, or its journal cannot be written.
    pub async fn submit(&self, prompt: impl Into<Prompt>) -> Result<Submission, SdkError> {
        self.send_prepared(prompt.into().into()).await
    }

    pub(super) async fn send_prepared(
        &self,
        prompt: PreparedPrompt,
    ) -> Result<Submission, SdkError> {
        let PreparedPrompt { content, metadata, rules } = prompt;
        let _sending = self.0.sending.lock().await;
        let limit = self.0.queue_limit;
        if self.is_executing() && self.queue().list().await?.len() >= limit {
            return Err(SdkError::QueueFull { limit });
        }
        let options = SendOptions { metadata, rules, ..SendOptions::default() };
        let mut chat =
            self.session().chat_with(Content(content), options, EventFilter::Everything).await?;
        chat.wait_for_approvals();
        Ok(Submission { chat })
    }
}
