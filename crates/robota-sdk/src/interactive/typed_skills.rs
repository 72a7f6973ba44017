//! Skills at the start of a text that a user typed.

use robota_core::hook::ExpansionType;
use robota_core::message::Block;
use serde_json::json;

use super::enter::slash_command;
use super::expansion::Expansion;
use super::history::SKILL;
use super::{InteractiveSession, Prepared, Prompt, PromptBlock};
use crate::commands::CommandResult;
use crate::error::SdkError;
use crate::skills::{Fork, Forked, Invoker, SkillRunner};

/// The most skills that one text begins with.
const MAX_SKILLS: usize = 6;

/// A skill that a text names, and what follows the name.
struct Typed<'a> {
    name: String,
    arguments: &'a str,
}

impl InteractiveSession {
    /// Returns the skill that a text names, and its arguments, if the name has a character that no
    /// command has: `/apps/web:deploy now`.
    pub(super) fn unusual_skill<'a>(&self, text: &'a str) -> Option<(String, &'a str)> {
        let typed = text.trim().strip_prefix('/')?;
        let first = typed.split(char::is_whitespace).next()?;
        // No skill can replace a command, whatever the names of its folders are.
        if self.0.commands.find(first).is_some() {
            return None;
        }
        let name = self.0.skills.as_ref()?.unusual(typed)?;
        let arguments = typed.get(name.len()..)?.trim();
        Some((name, arguments))
    }

    /// Prepares the prompt of a skill, and of those that follow its name: `/style /review src`. What
    /// follows the last name are the arguments of the last skill.
    ///
    /// # Errors
    /// If there is no such skill, it cannot be used, or a hook blocks it.
    pub(super) async fn prepare_skills(
        &self,
        name: &str,
        arguments: &str,
        text: &str,
    ) -> Result<Prepared, SdkError> {
        let unknown = || SdkError::UnknownCommand(name.to_owned());
        let skills = self.0.skills.as_ref().ok_or_else(unknown)?;
        let first = self.full_name(name).ok_or_else(unknown)?;
        let all = self.leading_skills(Typed { name: first, arguments });
        let names: Vec<_> = all.iter().map(|skill| format!("/{}", skill.name)).collect();
        let last = all.last().map(|skill| skill.arguments).unwrap_or_default();
        let typed = format!("{} {last}", names.join(" "));
        let name = all.first().map(|skill| skill.name.as_str()).unwrap_or_default();
        let prompt = Prompt::from(Vec::<PromptBlock>::new())
            .display(typed.trim())
            .metadata(SKILL, name)
            .raw(typed.trim());
        let mut prompt = prompt.without_files();
        for Typed { name, arguments } in &all {
            let kind = ExpansionType::SlashCommand;
            // Before the commands of the skill run.
            let expansion = Expansion { kind, name, arguments, typed: text };
            let context = self.before_expansion(&expansion).await?;
            let skill = skills.prepare(self.session(), name, arguments, Invoker::User).await?;
            if let Some(fork) = skill.fork {
                return self.run_typed_fork(name, fork, context).await;
            }
            prompt.content.extend(context.map(Block::text));
            prompt.content.push(Block::text(skill.text));
            prompt.rules.allow.extend(skill.rules.allow);
            prompt.rules.deny.extend(skill.rules.deny);
            prompt.model = skill.model.or(prompt.model);
            prompt.effort = skill.effort.or(prompt.effort);
        }
        Ok(Prepared::Prompt(prompt))
    }

    /// Returns a skill and those that follow it. A skill that runs in a subagent is no part of the
    /// conversation, so no other skill joins it: what follows its name are its arguments.
    fn leading_skills<'a>(&self, first: Typed<'a>) -> Vec<Typed<'a>> {
        let mut all = vec![first];
        while all.len() < MAX_SKILLS {
            let Some(last) = all.last_mut().filter(|skill| self.joins(&skill.name)) else { break };
            let Some(next) = self.typed_skill(last.arguments) else { break };
            if !self.joins(&next.name) {
                break;
            }
            last.arguments = "";
            all.push(next);
        }
        all
    }

    /// Returns the skill that a text begins with.
    fn typed_skill<'a>(&self, text: &'a str) -> Option<Typed<'a>> {
        if let Some((name, arguments)) = self.unusual_skill(text) {
            return Some(Typed { name, arguments });
        }
        let (name, arguments) = slash_command(text)?;
        if self.0.commands.find(name).is_some() {
            return None;
        }
        Some(Typed { name: self.full_name(name)?, arguments })
    }

    /// Returns the name of a skill, with its plugin if only that has such a skill.
    fn full_name(&self, name: &str) -> Option<String> {
        let skills = self.0.skills.as_ref()?;
        if skills.has(name) {
            return Some(name.to_owned());
        }
        self.0.commands.qualified_name(name).filter(|full| skills.has(full))
    }

    /// Returns whether a skill can be one of several in a prompt.
    fn joins(&self, name: &str) -> bool {
        self.0.skills.as_ref().is_some_and(|skills| skills.joins(name))
    }

    async fn run_typed_fork(
        &self,
        name: &str,
        mut fork: Fork,
        context: Option<String>,
    ) -> Result<Prepared, SdkError> {
        if let Some(context) = context {
            let prompt = &mut fork.run.work.prompt;
            *prompt = format!("{context}\n{prompt}");
        }
        let forked = SkillRunner::run_fork(self, name, fork, Invoker::User, None).await?;
        let message = CommandResult::ok(forked.to_string());
        Ok(Prepared::Command(match forked {
            Forked::Ended(result) => message.with("result", json!(result)),
            Forked::Started(task) => message.with("agentId", json!(task)),
        }))
    }
}
