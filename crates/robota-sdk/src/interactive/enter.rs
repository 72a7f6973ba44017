//! What a user types: a command, a skill, or a prompt.

use robota_core::hook::ExpansionType;
use robota_core::message::Block;
use robota_mcp::names::in_command;
use robota_session::{SendOptions, TurnPermissions};
use serde_json::{Map, Value};

use super::expansion::Expansion;
use super::{InteractiveSession, Prompt, Submission};
use crate::commands::CommandResult;
use crate::error::SdkError;
use crate::mentions::Attachment;

/// What [`InteractiveSession::enter`] did with a text that a user typed.
///
/// ```
/// use robota_sdk::{Entered, InteractiveSession, SdkError};
///
/// async fn answer(session: &InteractiveSession, text: &str) -> Result<String, SdkError> {
///     Ok(match session.enter(text).await? {
///         Entered::Command(result) => result.message,
///         Entered::Submitted(submission) => submission.result().await?.response,
///     })
/// }
/// # let _ = answer;
/// ```
pub enum Entered {
    /// It was a command; this is its result.
    Command(CommandResult),
    /// It was a prompt or a skill, and was submitted.
    Submitted(Box<Submission>),
}

/// The meaning of a text that a user typed.
///
/// ```
/// use robota_sdk::{InteractiveSession, Prepared, SdkError};
///
/// async fn blocks(session: &InteractiveSession, text: &str) -> Result<usize, SdkError> {
///     Ok(match session.prepare(text).await? {
///         Prepared::Command(_) => 0,
///         Prepared::Prompt(prompt) => prompt.content.len(),
///     })
/// }
/// # let _ = blocks;
/// ```
#[derive(Debug)]
pub enum Prepared {
    /// It was a command, which was executed; this is its result.
    Command(CommandResult),
    /// It is a prompt, which the caller sends.
    Prompt(PreparedPrompt),
}

/// A prompt that is ready to be sent.
///
/// ```
/// use robota_sdk::{InteractiveSession, PreparedPrompt};
///
/// async fn attached(session: &InteractiveSession) -> usize {
///     let prompt: PreparedPrompt = session.prepare_prompt("Look at @src/main.rs").await;
///     prompt.attachments.len()
/// }
/// # let _ = attached;
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct PreparedPrompt {
    /// The content for the model: the text of the user or of the skill, then the attached files.
    pub content: Vec<Block>,
    /// Values that the session records with the input, such as the name of the skill.
    pub metadata: Map<String, Value>,
    /// The permission rules of its turn.
    pub rules: TurnPermissions,
    /// The model of its turn; none for that of the session.
    pub model: Option<String>,
    /// How hard the model thinks in its turn; none for what the session says.
    pub effort: Option<String>,
    /// The files that the text mentions, with what was attached of each.
    pub attachments: Vec<Attachment>,
}

impl PreparedPrompt {
    pub(super) fn new(content: Vec<Block>, metadata: Map<String, Value>) -> Self {
        Self {
            content,
            metadata,
            rules: TurnPermissions::default(),
            model: None,
            effort: None,
            attachments: Vec::new(),
        }
    }

    /// Returns the content, and the options with which it is sent.
    ///
    /// ```
    /// use robota_sdk::{InteractiveSession, SdkError};
    ///
    /// async fn send(session: &InteractiveSession) -> Result<(), SdkError> {
    ///     let (content, options) = session.prepare_prompt("Look at @src/main.rs").await.into_parts();
    ///     session.session().send_with(robota_core::message::Content(content), options).await?;
    ///     Ok(())
    /// }
    /// # let _ = send;
    /// ```
    #[must_use]
    pub fn into_parts(self) -> (Vec<Block>, SendOptions) {
        let Self { content, metadata, rules, model, effort, attachments: _ } = self;
        let effort = effort.map(|effort| ("effort".to_owned(), effort.into()));
        let model_options = effort.into_iter().collect();
        (content, SendOptions { metadata, rules, model, model_options, ..SendOptions::default() })
    }
}

impl InteractiveSession {
    /// Takes a text as a user types it. `/name …` executes a command or a skill, anything else is a
    /// prompt.
    ///
    /// # Errors
    /// If there is no such command or skill, the skill cannot be used, a hook blocks it, or the prompt
    /// is not accepted.
    pub async fn enter(&self, text: &str) -> Result<Entered, SdkError> {
        match self.prepare(text).await? {
            Prepared::Command(result) => Ok(Entered::Command(result)),
            Prepared::Prompt(prompt) => {
                Ok(Entered::Submitted(Box::new(self.send_prepared(prompt).await?)))
            }
        }
    }

    /// Executes the command that a text names, or prepares the prompt. For clients that send
    /// prompts themselves; others use [`InteractiveSession::enter`].
    ///
    /// # Errors
    /// If there is no such command or skill, the skill cannot be used, or a hook blocks it.
    pub async fn prepare(&self, text: &str) -> Result<Prepared, SdkError> {
        let first = self.first_prompt_before(text);
        Ok(match self.prepare_typed(text).await? {
            Prepared::Prompt(prompt) => Prepared::Prompt(self.after_first(first, prompt).await),
            command @ Prepared::Command(_) => command,
        })
    }

    /// Does what [`prepare`](Self::prepare) does, without the first prompt of an agent.
    pub(super) async fn prepare_typed(&self, text: &str) -> Result<Prepared, SdkError> {
        let found = self.unusual_skill(text);
        let found = found.as_ref().map(|(name, arguments)| (name.as_str(), *arguments));
        let Some((name, arguments)) = found.or_else(|| slash_command(text)) else {
            return Ok(Prepared::Prompt(self.with_mentions(text.into()).await));
        };
        // Commands first: no skill and no server can replace a built-in command.
        if let Some(result) = self.execute_command(name, arguments).await {
            return Ok(Prepared::Command(result));
        }
        let kind = ExpansionType::McpPrompt;
        let expansion = Expansion { kind, name, arguments, typed: text };
        if let Some(prompt) = self.mcp_prompt(&expansion).await? {
            return Ok(Prepared::Prompt(prompt));
        }
        self.prepare_skills(name, arguments, text).await
    }

    /// Returns the text of a prompt of an MCP server; none if no server has such a prompt.
    async fn mcp_prompt(
        &self,
        expansion: &Expansion<'_>,
    ) -> Result<Option<PreparedPrompt>, SdkError> {
        let Expansion { name, arguments, .. } = *expansion;
        let Some(mcp) = self.mcp().filter(|_| name.starts_with("mcp__")) else { return Ok(None) };
        let found = mcp.servers.prompts().into_iter().find(|prompt| prompt.name == name);
        let Some(found) = found else { return Ok(None) };
        let context = self.before_expansion(expansion).await?;
        let mut text = mcp.servers.prompt(&found, arguments).await?;
        self.session().config().redactor().clean(&mut text);
        let typed = format!("/{name} {arguments}");
        // Clients and hooks get what the user typed, not the text of the server.
        let prompt = Prompt::from(text).display(typed.trim()).raw(typed.trim());
        Ok(Some(prompt.without_files().with_context(context)))
    }
}

/// Splits `/name arguments`. A path such as `/etc/hosts` is no command.
pub(super) fn slash_command(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim().strip_prefix('/')?;
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    is_command_name(name).then(|| (name, arguments.trim()))
}

/// Returns whether a text can be the name of a command.
pub(crate) fn is_command_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(in_command)
}
