//! Uses skills (SDK-13): reads a skill when it is invoked, runs its commands through the gate,
//! attaches its files, and allows what it asks for during that turn only.

mod hooks;
mod source;
mod tool;

use std::sync::{Arc, Mutex};

use robota_config::TrustStore;
use robota_config::skills::{SkillContext, SkillError, SkillInvocation, SkillPart, Skills};
use robota_core::error::{Diagnose, ErrorKind};
use robota_session::{Session, TurnPermissions};
use serde_json::json;

pub(crate) use hooks::SkillHooks;
pub(crate) use source::SkillSource;
pub(crate) use tool::SkillTool;

use crate::context::lock;
use crate::gated_tools::GatedTools;
use crate::project::Project;

/// Why a skill was not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkillFailure {
    /// The skill cannot be read, or is not trusted.
    #[error(transparent)]
    Skill(#[from] SkillError),
    /// A command of the skill may not run without approval.
    #[error("the skill `{skill}` runs `{command}`, which is not allowed: {reason}")]
    NotAllowed {
        /// The skill.
        skill: String,
        /// The command.
        command: String,
        /// The reason of the gate.
        reason: String,
    },
    /// A command of the skill failed.
    #[error("the skill `{skill}` runs `{command}`, which failed: {output}")]
    CommandFailed {
        /// The skill.
        skill: String,
        /// The command.
        command: String,
        /// What it printed.
        output: String,
    },
    /// The skill runs in a subagent.
    #[error("the skill `{0}` runs in a subagent (context: fork), which this version does not have")]
    NeedsSubagent(String),
    /// The user may not invoke the skill, or the model may not.
    #[error("the skill `{0}` cannot be invoked here")]
    NotInvocable(String),
}

impl Diagnose for SkillFailure {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Skill(error) => error.kind(),
            Self::NotAllowed { .. } | Self::NeedsSubagent(_) | Self::NotInvocable(_) => {
                ErrorKind::Validation
            }
            Self::CommandFailed { .. } => ErrorKind::ToolExecution,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Skill(error) => error.hint(),
            Self::NotAllowed { .. } => {
                Some("add an allow rule for the command, or change the skill".to_owned())
            }
            Self::CommandFailed { .. } | Self::NeedsSubagent(_) | Self::NotInvocable(_) => None,
        }
    }
}

/// Who invokes a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Invoker {
    User,
    Model,
}

/// A skill that was prepared: the text for the model, and the rules that its turn gets.
pub(crate) struct PreparedSkill {
    pub(crate) text: String,
    pub(crate) rules: TurnPermissions,
}

/// Prepares skills for a session and its forks.
#[derive(Clone)]
pub(crate) struct SkillRunner {
    project: Arc<Project>,
    skills: Arc<Mutex<Skills>>,
    tools: GatedTools,
    effort: Option<String>,
    hooks: SkillHooks,
}

impl SkillRunner {
    pub(crate) fn new(
        project: Arc<Project>,
        skills: Arc<Mutex<Skills>>,
        tools: GatedTools,
        effort: Option<String>,
        hooks: SkillHooks,
    ) -> Self {
        Self { project, skills, tools, effort, hooks }
    }

    /// Returns the tools that the program runs itself.
    pub(crate) fn tools(&self) -> &GatedTools {
        &self.tools
    }

    /// Returns whether there is a skill of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        lock(&self.skills).get(name).is_some()
    }

    /// Reads a skill, runs its commands, and attaches its files.
    pub(crate) async fn prepare(
        &self,
        session: &Session,
        name: &str,
        arguments: &str,
        by: Invoker,
    ) -> Result<PreparedSkill, SkillFailure> {
        let (body, invocable) = {
            let skills = lock(&self.skills);
            let body = skills.open(name, &TrustStore::load(&self.project.places))?;
            let invocable = match by {
                Invoker::User => body.skill.user_invocable,
                Invoker::Model => skills.is_for_model(&body.skill),
            };
            (body, invocable)
        };
        if !invocable {
            return Err(SkillFailure::NotInvocable(name.to_owned()));
        }
        if body.skill.context == SkillContext::Fork {
            return Err(SkillFailure::NeedsSubagent(name.to_owned()));
        }
        let parts = body.expand(&SkillInvocation {
            arguments,
            session_id: Some(session.id().as_str()),
            effort: body.skill.effort.as_deref().or(self.effort.as_deref()),
            commands_disabled: self.project.settings.values.disable_skill_shell_execution
                == Some(true),
        })?;
        let mut text = String::new();
        for part in parts {
            match part {
                SkillPart::Text(plain) => text.push_str(&plain),
                SkillPart::Command { command } => {
                    text.push_str(&self.output_of(session, name, &command).await?);
                }
                SkillPart::File { path, text: mention } => {
                    text.push_str(&mention);
                    if let Some(content) = self.file(session, &path).await {
                        text.push_str(&format!("\n<file path=\"{path}\">\n{content}\n</file>\n"));
                    }
                }
            }
        }
        let grants = body.grants();
        if let Some(hooks) = &grants.hooks {
            self.hooks.add(&self.project, name, hooks);
        }
        let allow = grants.allowed_tools;
        let rules = TurnPermissions { allow, deny: body.skill.disallowed_tools.clone() };
        Ok(PreparedSkill { text, rules })
    }

    async fn output_of(
        &self,
        session: &Session,
        skill: &str,
        command: &str,
    ) -> Result<String, SkillFailure> {
        let (skill, command) = (skill.to_owned(), command.to_owned());
        match self.tools.run(session, "Bash", json!({"command": command})).await {
            Err(refused) => {
                let reason = refused.reason();
                Err(SkillFailure::NotAllowed { skill, command, reason })
            }
            // Searches end with 1 if they find nothing.
            Ok(outcome) if outcome.ok || outcome.metadata.get("exit_code") == Some(&json!(1)) => {
                Ok(outcome.text().trim_end().to_owned())
            }
            Ok(outcome) => {
                Err(SkillFailure::CommandFailed { skill, command, output: outcome.text() })
            }
        }
    }

    /// Returns the content of a file that may be read without a question.
    async fn file(&self, session: &Session, path: &str) -> Option<String> {
        let path = self.project.cwd().join(path);
        let outcome = self.tools.run(session, "Read", json!({"file_path": path})).await.ok()?;
        outcome.ok.then(|| outcome.text())
    }
}
