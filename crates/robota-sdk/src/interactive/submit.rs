//! Prompts: what a user submits, and what it leads to.

use robota_core::ids::InputId;
use robota_core::message::{Block, Content};
use robota_core::turn::RAW_INPUT;
use robota_session::{Chat, ChatEnd, EventFilter};
use serde_json::{Map, Value, json};

use super::event::{InteractiveEvent, Projection};
use super::history::DISPLAY;
use super::result::ExecutionResult;
use super::{InteractiveSession, PreparedPrompt};
use crate::error::SdkError;
use crate::mentions::{ATTACHMENTS, AttachedBlocks};

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
    pub(super) mentions: bool,
}

impl From<Content> for Prompt {
    fn from(Content(content): Content) -> Self {
        Self { content, metadata: Map::new(), mentions: true }
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

    /// Leaves `@path` in the texts as it is. By default the mentioned files are attached, as far as
    /// they may be read without a question ([`crate::mentions`]).
    pub fn without_mentions(mut self) -> Self {
        self.mentions = false;
        self
    }

    /// Adds a value that is recorded with the prompt.
    pub fn metadata(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }
}

/// A prompt that was accepted: it is in the journal, and is answered even if this value is dropped.
///
/// ```
/// use robota_sdk::{InteractiveSession, SdkError};
///
/// async fn ask(session: &InteractiveSession) -> Result<String, SdkError> {
///     let submission = session.submit("What is new?").await?;
///     Ok(submission.result().await?.response)
/// }
/// # let _ = ask;
/// ```
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
        self.send_prepared(self.prepare_prompt(prompt).await).await
    }

    /// Attaches the files that a prompt mentions. For clients that send prompts themselves; others use
    /// [`InteractiveSession::submit`].
    pub async fn prepare_prompt(&self, prompt: impl Into<Prompt>) -> PreparedPrompt {
        let Prompt { mut content, mut metadata, mentions } = prompt.into();
        let reader = self.0.mentions.as_ref().filter(|_| mentions);
        let Some(reader) = reader else { return PreparedPrompt::new(content, metadata) };
        let typed = content.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        let typed = typed.collect::<Vec<_>>().join("\n");
        let own = content.len();
        let mut attachments = reader.attach(self.session(), &mut content).await;
        attachments.extend(self.attach_resources(&typed, &mut content).await);
        if !attachments.is_empty() {
            // A text that the caller set stays, such as the command that made the prompt.
            metadata.entry(DISPLAY).or_insert_with(|| typed.as_str().into());
            // Hooks judge what the user typed.
            metadata.entry(RAW_INPUT).or_insert_with(|| typed.as_str().into());
            let added = content.len() - own;
            let attached = AttachedBlocks { own, added, files: attachments.clone() };
            metadata.insert(ATTACHMENTS.to_owned(), json!(attached));
        }
        PreparedPrompt { attachments, ..PreparedPrompt::new(content, metadata) }
    }

    pub(super) async fn send_prepared(
        &self,
        prompt: PreparedPrompt,
    ) -> Result<Submission, SdkError> {
        let (content, options) = prompt.into_parts();
        let _sending = self.0.sending.lock().await;
        let limit = self.0.queue_limit;
        if self.is_executing() && self.queue().list().await?.len() >= limit {
            return Err(SdkError::QueueFull { limit });
        }
        let mut chat =
            self.session().chat_with(Content(content), options, EventFilter::Everything).await?;
        // A question about a call must not end the wait for the result.
        chat.wait_for_approvals();
        Ok(Submission { chat })
    }
}
