//! What a user types: a command, a skill, or a prompt.

use robota_core::hook::ExpansionType;
use robota_core::message::Block;
use robota_session::TurnPermissions;
use serde_json::{Map, Value, json};

use super::expansion::Expansion;
use super::history::SKILL;
use super::{InteractiveSession, Prompt, Submission};
use crate::commands::CommandResult;
use crate::error::SdkError;
use crate::mentions::Attachment;
use crate::skills::{Invoker, SkillRunner};

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
    /// What is recorded with it.
    pub metadata: Map<String, Value>,
    /// The permission rules of its turn.
    pub rules: TurnPermissions,
    /// The files that it mentions.
    pub attachments: Vec<Attachment>,
}

impl PreparedPrompt {
    pub(super) fn new(content: Vec<Block>, metadata: Map<String, Value>) -> Self {
        let rules = TurnPermissions::default();
        Self { content, metadata, rules, attachments: Vec::new() }
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
        let Some((name, arguments)) = slash_command(text) else {
            return Ok(Prepared::Prompt(self.prepare_prompt(text).await));
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
        let full = match self.has_skill(name) {
            true => Some(name.to_owned()),
            false => self.0.commands.qualified_name(name),
        };
        let full = full.ok_or_else(|| SdkError::UnknownCommand(name.to_owned()))?;
        let kind = ExpansionType::SlashCommand;
        self.prepare_skill(&Expansion { kind, name: &full, ..expansion }).await
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
        let text = mcp.servers.prompt(&found, arguments).await?;
        let typed = format!("/{name} {arguments}");
        // Clients and hooks get what the user typed, not the text of the server.
        let prompt = Prompt::from(text).display(typed.trim()).raw(typed.trim());
        Ok(Some(prompt.without_files().with_context(context)))
    }

    fn has_skill(&self, name: &str) -> bool {
        self.0.skills.as_ref().is_some_and(|skills| skills.has(name))
    }

    async fn prepare_skill(&self, expansion: &Expansion<'_>) -> Result<Prepared, SdkError> {
        let Expansion { name, arguments, .. } = *expansion;
        let skills = self.0.skills.as_ref().filter(|skills| skills.has(name));
        let skills = skills.ok_or_else(|| SdkError::UnknownCommand(name.to_owned()))?;
        // Before the commands of the skill run.
        let context = self.before_expansion(expansion).await?;
        let skill = skills.prepare(self.session(), name, arguments, Invoker::User).await?;
        if let Some(mut run) = skill.fork {
            if let Some(context) = context {
                run.work.prompt = format!("{context}\n{}", run.work.prompt);
            }
            let result = SkillRunner::run_fork(self, name, run, Invoker::User, None).await?;
            let message = CommandResult::ok(result.output.as_str());
            return Ok(Prepared::Command(message.with("result", json!(result))));
        }
        let typed = format!("/{name} {arguments}");
        let prompt =
            Prompt::from(skill.text).display(typed.trim()).metadata(SKILL, name).raw(typed.trim());
        let prompt = PreparedPrompt { rules: skill.rules, ..prompt.without_files() };
        Ok(Prepared::Prompt(prompt.with_context(context)))
    }
}

/// Splits `/name arguments`. A path such as `/etc/hosts` is no command.
fn slash_command(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim().strip_prefix('/')?;
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let valid = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    let named = !name.is_empty() && name.chars().all(valid);
    named.then(|| (name, arguments.trim()))
}
