//! Prompts: what a user submits, and what it leads to.

use robota_core::ids::InputId;
use robota_core::message::{Block, Content};
use robota_core::turn::RAW_INPUT;
use robota_session::{Chat, ChatEnd, EventFilter};
use serde_json::{Map, Value, json};

use super::event::{InteractiveEvent, Projection, joined_texts};
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
    content: Vec<PromptBlock>,
    metadata: Map<String, Value>,
}

/// A block of a prompt, by who wrote its text. Only the user can mention a file: the text of an embedded
/// file must not decide what is read.
///
/// ```
/// use robota_core::message::Block;
/// use robota_sdk::{Prompt, PromptBlock};
///
/// let question = PromptBlock::Typed(Block::text("Is @src/main.rs like this file?"));
/// let file = PromptBlock::Embedded(Block::text("// See @notes.md."));
/// // `src/main.rs` is attached, `notes.md` is not.
/// let prompt = Prompt::from(vec![question, file]);
/// # let _ = prompt;
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum PromptBlock {
    /// The user typed it. Files and resources that its text mentions are attached.
    Typed(Block),
    /// A client added it, such as the content of a file. Its text is not searched for mentions.
    Embedded(Block),
}

impl PromptBlock {
    /// Returns the block for the model.
    #[must_use]
    pub fn into_block(self) -> Block {
        match self {
            Self::Typed(block) | Self::Embedded(block) => block,
        }
    }

    /// Returns the text that is searched for mentions.
    fn typed(&self) -> Option<&str> {
        match self {
            Self::Typed(Block::Text(text)) => Some(&text.text),
            Self::Typed(_) | Self::Embedded(_) => None,
        }
    }
}

impl From<Vec<PromptBlock>> for Prompt {
    fn from(content: Vec<PromptBlock>) -> Self {
        Self { content, metadata: Map::new() }
    }
}

impl From<Content> for Prompt {
    fn from(Content(content): Content) -> Self {
        content.into_iter().map(PromptBlock::Typed).collect::<Vec<_>>().into()
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
        let blocks = self.content.into_iter();
        self.content = blocks.map(|it| PromptBlock::Embedded(it.into_block())).collect();
        self
    }

    /// Adds a value that is recorded with the prompt.
    pub fn metadata(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }

    /// Returns the prompt without the files that it mentions.
    pub(super) fn without_files(self) -> PreparedPrompt {
        let content = self.content.into_iter().map(PromptBlock::into_block).collect();
        PreparedPrompt::new(content, self.metadata)
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
        let prompt = prompt.into();
        let typed: Vec<_> = prompt.content.iter().filter_map(PromptBlock::typed).collect();
        let first = self.first_prompt_before(&typed.join("\n"));
        let prompt = self.with_mentions(prompt).await;
        self.after_first(first, prompt).await
    }

    /// Attaches the files that a prompt mentions.
    pub(super) async fn with_mentions(&self, prompt: Prompt) -> PreparedPrompt {
        let typed = prompt.content.iter().filter_map(PromptBlock::typed);
        let typed: Vec<_> = typed.map(str::to_owned).collect();
        let prepared = prompt.without_files();
        let Some(reader) = &self.0.mentions else { return prepared };
        let PreparedPrompt { mut content, mut metadata, .. } = prepared;
        let own = content.len();
        let text = joined_texts(&content);
        let mut attachments = reader.attach(self.session(), &typed, &mut content).await;
        attachments.extend(self.attach_resources(&typed.join("\n"), &mut content).await);
        if !attachments.is_empty() {
            // A text that the caller set stays, such as the command that made the prompt.
            metadata.entry(DISPLAY).or_insert_with(|| text.as_str().into());
            // Hooks judge what the client sent, without the attached files.
            metadata.entry(RAW_INPUT).or_insert_with(|| text.as_str().into());
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
