//! Uses skills (SDK-13): reads a skill when it is invoked, runs its commands through the gate,
//! attaches its files, and allows what it asks for during that turn only.

mod hooks;
mod source;
mod tool;

use std::sync::{Arc, Mutex};

use robota_config::ModelNotAvailable;
use robota_config::agents::AgentModel;
use robota_config::skills::{SkillContext, SkillError, SkillInvocation, SkillPart, Skills};
use robota_config::{ContextReader, Layer, TrustStore};
use robota_core::catalogue::Catalogue;
use robota_core::error::{Diagnose, ErrorKind};
use robota_core::ids::{CallId, TaskId};
use robota_core::task::TaskMode;
use robota_runtime::AgentWork;
use robota_session::{Session, TurnPermissions};
use robota_tools::Bash;
use serde_json::json;

pub(crate) use hooks::{HookOwner, OwnHooks, written_groups};
pub(crate) use source::SkillSource;
pub(crate) use tool::{LateSkillTool, SKILL_TOOL, SkillTool};

use crate::agents::{AgentResult, AgentRun};
use crate::context::lock;
use crate::gated_tools::{GatedTools, READ};
use crate::interactive::{InteractiveSession, is_command_name};
use crate::project::Project;

/// Why a skill was not used.
///
/// ```
/// use robota_sdk::skills::SkillFailure;
///
/// let failure = SkillFailure::NotInvocable("deploy".to_owned());
/// assert!(failure.to_string().contains("deploy"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkillFailure {
    /// The skill cannot be read, or is not trusted.
    #[error(transparent)]
    Skill(#[from] SkillError),
    /// A command of the skill may not run without approval.
    #[error("the skill `{skill}` runs `{command}`, which is not allowed: {reason}")]
    NotAllowed {
        /// The skill, by the name with which it was invoked.
        skill: String,
        /// The command that the text of the skill contains.
        command: String,
        /// Why the gate does not allow it, for people.
        reason: String,
    },
    /// A command of the skill failed.
    #[error("the skill `{skill}` runs `{command}`, which failed: {output}")]
    CommandFailed {
        /// The skill, by the name with which it was invoked.
        skill: String,
        /// The command that the text of the skill contains.
        command: String,
        /// The result of the command, as the model would read it.
        output: String,
    },
    /// The agent that runs the skill failed, or there are no agents here.
    #[error("the skill `{skill}` runs in a subagent, which failed: {reason}")]
    Subagent {
        /// The skill, by the name with which it was invoked.
        skill: String,
        /// Why the agent failed, or why there is none.
        reason: String,
    },
    /// The settings do not allow the model of the skill.
    #[error("the skill `{skill}` cannot be used: {error}")]
    Model {
        /// The skill, by the name with which it was invoked.
        skill: String,
        /// The model, and those that are available.
        error: ModelNotAvailable,
    },
    /// The user may not invoke the skill, or the model may not.
    #[error("the skill `{0}` cannot be invoked here")]
    NotInvocable(String),
}

impl Diagnose for SkillFailure {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Skill(error) => error.kind(),
            Self::NotAllowed { .. } | Self::NotInvocable(_) | Self::Model { .. } => {
                ErrorKind::Validation
            }
            Self::CommandFailed { .. } | Self::Subagent { .. } => ErrorKind::ToolExecution,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Skill(error) => error.hint(),
            Self::NotAllowed { .. } => {
                Some("add an allow rule for the command, or change the skill".to_owned())
            }
            Self::CommandFailed { .. }
            | Self::Subagent { .. }
            | Self::Model { .. }
            | Self::NotInvocable(_) => None,
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
    /// The model of its turn; none for that of the session.
    pub(crate) model: Option<String>,
    /// How hard the model thinks in its turn.
    pub(crate) effort: Option<String>,
    /// The agent that works on the text, apart from the conversation (`context: fork`).
    pub(crate) fork: Option<Fork>,
}

/// The agent of a skill.
pub(crate) struct Fork {
    pub(crate) run: AgentRun,
    /// Whether nothing waits for its end.
    background: bool,
}

/// What the agent of a skill did.
pub(crate) enum Forked {
    Ended(Box<AgentResult>),
    /// It works in the background.
    Started(TaskId),
}

impl std::fmt::Display for Forked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ended(result) => f.write_str(&result.output),
            Self::Started(task) => write!(
                f,
                "Agent {task} works in the background. Its result is reported when it ends."
            ),
        }
    }
}

/// The agent of a skill that names none.
const DEFAULT_AGENT: &str = "general-purpose";

/// Prepares skills for a session and its forks.
#[derive(Clone)]
pub(crate) struct SkillRunner {
    project: Arc<Project>,
    skills: Arc<Mutex<Skills>>,
    tools: GatedTools,
    effort: Option<String>,
    hooks: OwnHooks,
}

impl SkillRunner {
    pub(crate) fn new(
        project: Arc<Project>,
        skills: Arc<Mutex<Skills>>,
        tools: GatedTools,
        effort: Option<String>,
        hooks: OwnHooks,
    ) -> Self {
        Self { project, skills, tools, effort, hooks }
    }

    /// Returns the tools that the program runs itself.
    pub(crate) fn tools(&self) -> &GatedTools {
        &self.tools
    }

    /// Reads the folders with skills again.
    pub(crate) fn reload(&self) {
        let reader = ContextReader::new(&self.project.places);
        let mut skills = lock(&self.skills);
        // A limit on the skills of the model stays.
        let found = self.project.skills(&reader);
        *skills = found.only_for_model(skills.names_for_model().as_deref());
    }

    /// Returns whether there is a skill of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        lock(&self.skills).get(name).is_some()
    }

    /// Returns the longest name at the start of a typed text that is no name of a command: that of a
    /// skill in a folder such as `apps/web` or `my app`.
    pub(crate) fn unusual(&self, typed: &str) -> Option<String> {
        let skills = lock(&self.skills);
        let is_typed = |name: &&str| {
            let rest = typed.strip_prefix(*name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        };
        let unusual = skills.names().filter(|name| !is_command_name(name));
        let name = unusual.filter(is_typed).max_by_key(|name| name.len())?.to_owned();
        skills.get(&name).map(|_| name)
    }

    /// Returns whether a skill can be one of several that a user types: the user may invoke it, and it
    /// runs in the conversation.
    pub(crate) fn joins(&self, name: &str) -> bool {
        let skill = lock(&self.skills).get(name);
        skill.is_some_and(|it| it.user_invocable && it.context == SkillContext::Inline)
    }

    /// Returns the layer that a skill comes from.
    pub(crate) fn layer(&self, name: &str) -> Option<Layer> {
        lock(&self.skills).get(name).map(|skill| skill.origin.layer)
    }

    /// Reads a skill, runs its commands, and attaches its files.
    pub(crate) async fn prepare(
        &self,
        session: &Session,
        name: &str,
        arguments: &str,
        by: Invoker,
    ) -> Result<PreparedSkill, SkillFailure> {
        // A block, so that the lock ends before the commands of the skill run.
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
        let parts = body.expand(&SkillInvocation {
            arguments,
            session_id: Some(session.id().as_str()),
            effort: body.skill.effort.as_deref().or(self.effort.as_deref()),
            commands_disabled: self.project.settings.values.disable_skill_shell_execution
                == Some(true),
        })?;
        let grants = body.grants();
        // Only for this skill: the rules of its turn begin with the turn.
        let tools = self.tools.allowing(&grants.allowed_tools);
        let mut text = String::new();
        for part in parts {
            match part {
                SkillPart::Text(plain) => text.push_str(&plain),
                // One after the other, in the order of the text: a later command may rely on an
                // earlier one.
                SkillPart::Command { command } => {
                    text.push_str(&output_of(&tools, session, name, &command).await?);
                }
                SkillPart::File { path, text: mention } => {
                    text.push_str(&mention);
                    if let Some(content) = self.file(&tools, session, &path).await {
                        text.push_str(&format!("\n<file path=\"{path}\">\n{content}\n</file>\n"));
                    }
                }
            }
        }
        if let Some(hooks) = &grants.hooks {
            let layer = body.skill.origin.layer;
            let owner = HookOwner { name: format!("the skill `{name}`"), layer };
            self.hooks.add(&self.project, &owner, hooks);
        }
        let (allow, deny) = (grants.allowed_tools, body.skill.disallowed_tools.clone());
        let effort = body.skill.effort.clone();
        let work = || AgentWork {
            agent: body.skill.agent.clone().unwrap_or_else(|| DEFAULT_AGENT.to_owned()),
            prompt: text.clone(),
            model: body.skill.model.clone(),
            effort: effort.clone(),
            tools: body.fork_tools().map(<[String]>::to_vec),
            allow: allow.clone(),
            deny: deny.clone(),
            worker: true,
            ..AgentWork::default()
        };
        let fork = (body.skill.context == SkillContext::Fork).then(|| Fork {
            run: AgentRun {
                label: format!("/{name} {arguments}").trim().to_owned(),
                work: work(),
                isolation: None,
                own_process: None,
            },
            background: body.skill.background,
        });
        let model = match &body.skill.model {
            Some(model) => turn_model(session, model).await,
            None => None,
        };
        if let Some(model) = &model {
            let check = self.project.settings.available_models.check(None, model);
            check.map_err(|error| SkillFailure::Model { skill: name.to_owned(), error })?;
        }
        let rules = TurnPermissions { allow, deny };
        Ok(PreparedSkill { text, rules, model, effort, fork })
    }

    /// Runs the agent of a skill to its end, or starts it in the background. It is never left to the
    /// model whether it runs.
    pub(crate) async fn run_fork(
        session: &InteractiveSession,
        name: &str,
        Fork { run, background }: Fork,
        by: Invoker,
        call: Option<CallId>,
    ) -> Result<Forked, SkillFailure> {
        let failed = |reason: String| SkillFailure::Subagent { skill: name.to_owned(), reason };
        let runs = session.agent_runs();
        let runs = runs.ok_or_else(|| failed("this session has no agents".to_owned()))?;
        let agent = &run.work.agent;
        if !runs.kinds().iter().any(|(name, _)| name == agent) {
            return Err(failed(format!("there is no agent `{agent}`")));
        }
        if background {
            let started = runs.start(run, TaskMode::Background, call).await;
            return match started {
                Ok(agent) => Ok(Forked::Started(agent.id().clone())),
                Err(error) => Err(failed(error.to_string())),
            };
        }
        // The model receives with the next prompt what the user saw.
        let mode = match by {
            Invoker::User => TaskMode::Background,
            Invoker::Model => TaskMode::Foreground,
        };
        // Waits for the end, also in the background mode, which only decides how it is reported.
        let result = runs.run_as(run, mode, call).await;
        match &result.error {
            Some(error) => Err(failed(error.clone())),
            None => Ok(Forked::Ended(Box::new(result))),
        }
    }

    /// Returns the content of a file that may be read without a question.
    async fn file(&self, tools: &GatedTools, session: &Session, path: &str) -> Option<String> {
        let path = self.project.cwd().join(path);
        let outcome = tools.run(session, READ, json!({"file_path": path})).await.ok()?;
        outcome.ok.then(|| outcome.text())
    }
}

/// Returns the model of a turn for the field `model` of a skill; none for that of the session. A model
/// of another vendor cannot be called through the provider of the session.
async fn turn_model(session: &Session, wanted: &str) -> Option<String> {
    let current = session.info().await.ok()?.model;
    let (catalogue, wanted) = (Catalogue::builtin(), AgentModel::parse(wanted));
    let model = wanted.resolve(&current, catalogue);
    let vendor = |model: &str| catalogue.get(model).map(|model| model.vendor.clone());
    // The provider of a model that the catalogue does not have may offer no other model.
    let other = vendor(model).is_some_and(|of| vendor(&current) != Some(of));
    (model != current && !other).then(|| model.to_owned())
}

/// Runs a command of a skill, and returns what it printed.
async fn output_of(
    tools: &GatedTools,
    session: &Session,
    skill: &str,
    command: &str,
) -> Result<String, SkillFailure> {
    let (skill, command) = (skill.to_owned(), command.to_owned());
    match tools.run(session, Bash::NAME, json!({"command": command})).await {
        Err(refused) => {
            let reason = refused.reason();
            Err(SkillFailure::NotAllowed { skill, command, reason })
        }
        Ok(outcome) if outcome.ok && Bash::failed_code(&command, &outcome.metadata).is_none() => {
            Ok(Bash::printed(&outcome.text(), &outcome.metadata).trim_end().to_owned())
        }
        Ok(outcome) => {
            let output = outcome.text().trim_end().to_owned();
            Err(SkillFailure::CommandFailed { skill, command, output })
        }
    }
}
