//! Runs agent definitions as subagents (SDK-14 to SDK-16): what they may do, what they see, and who
//! answers their questions.

mod approvals;
mod hooks;
mod jobs;
mod prompt;
mod sessions;
mod tool;
mod tools;

use std::sync::Arc;

use robota_config::agents::{AgentDefinition, Agents};
use robota_core::driver::Observer;
use robota_core::hook::Hooks;
use robota_core::journal::JournalStore;
use robota_core::permission::Mode;
use robota_core::tool::Tool;
use robota_exec::{Environment, Supervisor};
use robota_tools::ToolWorkspace;

pub use approvals::AgentPermissions;
pub(crate) use hooks::{SettingsAgentHooks, ToolHooks};
pub use jobs::{AgentResult, AgentRun, AgentRuns};
pub(crate) use sessions::SessionAgents;
pub(crate) use tool::AgentTool;

use crate::budget::BudgetGuard;
use crate::interactive::OpenSessions;
use crate::model_setup::ModelSetup;
use crate::project::Project;

/// How a session runs agents.
///
/// ```
/// use robota_sdk::{AgentOptions, AgentPermissions};
///
/// // The model may start agents, but they cannot do anything that needs an approval.
/// let options = AgentOptions {
///     tool: true,
///     permissions: AgentPermissions::Deny,
///     ..AgentOptions::default()
/// };
/// assert!(options.definitions.is_empty());
/// ```
#[derive(Clone, Default)]
pub struct AgentOptions {
    /// Whether the tool Agent is offered, with which the model gives tasks to agents.
    pub tool: bool,
    /// Definitions above those of files.
    pub definitions: Vec<AgentDefinition>,
    /// What agents may do without a question, and who answers their questions.
    pub permissions: AgentPermissions,
    /// Hooks that run before and after the tool calls of agents, besides those of the settings and the
    /// first hooks of the session.
    pub hooks: Vec<Arc<dyn Hooks>>,
    /// Is called for the events of agents, in their own tasks.
    pub observer: Option<Observer>,
}

/// What agents are made of: parts of the session that starts them.
pub(crate) struct AgentParts {
    pub(crate) project: Arc<Project>,
    pub(crate) definitions: Arc<Agents>,
    pub(crate) model: ModelSetup,
    pub(crate) store: Arc<dyn JournalStore>,
    pub(crate) place: ToolWorkspace,
    /// The names of the built-in tools that the session offers; none for all.
    pub(crate) only_tools: Option<Vec<String>>,
    /// Whether tools that change files are left out.
    pub(crate) read_only: bool,
    /// Tools besides the built-in ones.
    pub(crate) more_tools: Vec<Arc<dyn Tool>>,
    /// The instructions of the project, for the prompt.
    pub(crate) instructions: String,
    pub(crate) budget: BudgetGuard,
    /// Hooks that agents have too.
    pub(crate) hooks: Vec<Arc<dyn Hooks>>,
    pub(crate) observer: Option<Observer>,
    pub(crate) permissions: AgentPermissions,
    pub(crate) supervisor: Supervisor,
    pub(crate) environment: Environment,
    pub(crate) open: OpenSessions,
}

/// Returns the permission mode of an agent. A definition may tighten the mode of its parent, or
/// accept edits where the parent asks; it never lifts plan mode, and never asks for less than a parent
/// whose user has chosen not to be asked.
fn mode_of(parent: Mode, definition: Option<Mode>) -> Mode {
    match (parent, definition) {
        (Mode::Plan, _) | (_, Some(Mode::BypassPermissions) | None) => parent,
        (Mode::BypassPermissions | Mode::AcceptEdits, Some(Mode::Plan)) => Mode::Plan,
        (Mode::BypassPermissions | Mode::AcceptEdits, Some(_)) => parent,
        (_, Some(mode)) => mode,
    }
}

#[cfg(test)]
mod tests;
