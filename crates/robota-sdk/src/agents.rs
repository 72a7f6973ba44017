//! Runs agent definitions as subagents (SDK-14 to SDK-16): what they may do, what they see, and who
//! answers their questions.

mod approvals;
mod catalogue;
mod estimate;
mod handle;
mod hooks;
mod jobs;
mod preload;
mod process;
mod prompt;
mod servers;
mod sessions;
mod tool;
mod tools;

use std::sync::{Arc, Mutex};

use robota_config::agents::AgentDefinition;
use robota_config::skills::Skills;
use robota_core::driver::Observer;
use robota_core::hook::{HookObserver, Hooks};
use robota_core::journal::JournalStore;
use robota_core::permission::Mode;
use robota_core::task::{TaskError, TaskErrorCategory};
use robota_core::tool::Tool;
use robota_exec::{Environment, Supervisor};
use robota_runtime::{AgentJob, AgentWork};
use robota_tools::ToolWorkspace;

pub use approvals::AgentPermissions;
pub(crate) use catalogue::AgentCatalogue;
pub(crate) use estimate::{AnswerAgents, EstimatingGate};
pub use handle::AgentHandle;
pub(crate) use hooks::{SettingsAgentHooks, ToolHooks, hook_owner};
pub use jobs::{AgentResult, AgentRun, AgentRuns};
pub(crate) use preload::Preloaded;
pub(crate) use process::SessionAgentProcesses;
pub use process::{AgentProcess, AgentProgram, AgentStart};
pub(crate) use servers::NamedServers;
pub(crate) use sessions::SessionAgents;
pub(crate) use tool::SessionAgentRunner;
pub(crate) use tools::{ToolLimits, filter as filter_tools, remove_partly_denied};

use crate::budget::BudgetGuard;
use crate::interactive::OpenSessions;
use crate::mcp::{McpChoice, SessionMcp};
use crate::model_setup::ModelSetup;
use crate::notice::Notice;
use crate::project::Project;
use crate::sandbox::SandboxFolders;

/// The variable with the model of all agents, which wins over calls and definitions.
const MODEL_VARIABLE: &str = "CLAUDE_CODE_SUBAGENT_MODEL";

/// How a session runs agents.
///
/// ```
/// use robota_sdk::{AgentOptions, AgentPermissions};
///
/// // The model may start agents, but they cannot do anything that needs an approval.
/// let options = AgentOptions {
///     tool: true,
///     permissions: Some(AgentPermissions::Deny),
///     ..AgentOptions::default()
/// };
/// assert!(options.definitions.is_empty());
/// ```
#[derive(Clone, Default)]
pub struct AgentOptions {
    /// Whether the tool Agent is offered, with which the model gives tasks to agents.
    pub tool: bool,
    /// Definitions of the caller. One of them replaces the definition of a file with the same name.
    pub definitions: Vec<AgentDefinition>,
    /// The agent that the conversation itself runs as: with its prompt, tools, denied calls, skills,
    /// memory, MCP servers, hooks, first prompt, permission mode, effort and limit of rounds, where the
    /// builder has no other. The caller chooses its model.
    pub main: Option<AgentDefinition>,
    /// Tools of the conversation alone, such as one that takes its answer. Agents do not have them, and the
    /// tools that `main` lists do not leave them out; what `main` or a rule denies is not offered.
    pub conversation_tools: Vec<Arc<dyn Tool>>,
    /// What agents may do without a question, and who answers their questions; none for what the setting
    /// `agentPermissions` says.
    pub permissions: Option<AgentPermissions>,
    /// Hooks that run before and after the tool calls of agents, besides those of the settings and the
    /// first hooks of the session.
    pub hooks: Vec<Arc<dyn Hooks>>,
    /// Receives the events of agents. It is called in the tasks of the agents.
    pub observer: Option<Observer>,
    /// The program that runs agents in processes of their own; none if agents cannot have one.
    pub program: Option<AgentProgram>,
    /// Whether agents run in processes of their own unless their definition says otherwise. The setting
    /// `agentProcesses` does the same.
    pub own_processes: bool,
}

/// The parts of a session that its agents use.
pub(crate) struct AgentParts {
    pub(crate) project: Arc<Project>,
    pub(crate) definitions: AgentCatalogue,
    pub(crate) model: ModelSetup,
    pub(crate) store: Arc<dyn JournalStore>,
    pub(crate) place: ToolWorkspace,
    /// What makes the sandbox of an agent's own process follow the folders of its session; none in the
    /// process of the session that starts agents.
    pub(crate) sandbox_folders: Option<Arc<SandboxFolders>>,
    /// The names of the built-in tools that the session offers; none for all.
    pub(crate) only_tools: Option<Vec<String>>,
    /// Which tools the agent leaves that the conversation runs as.
    pub(crate) tool_limits: ToolLimits,
    /// Whether tools that change files are left out.
    pub(crate) read_only: bool,
    /// Tools besides the built-in ones.
    pub(crate) more_tools: Vec<Arc<dyn Tool>>,
    /// The instructions of the project, for the prompt.
    pub(crate) instructions: String,
    pub(crate) budget: BudgetGuard,
    /// Hooks of the session that agents use too.
    pub(crate) hooks: Vec<Arc<dyn Hooks>>,
    pub(crate) observer: Option<Observer>,
    /// What observes each run of a hook; none in the process of an agent.
    pub(crate) hook_observer: Option<Arc<dyn HookObserver>>,
    pub(crate) permissions: AgentPermissions,
    pub(crate) supervisor: Supervisor,
    pub(crate) environment: Environment,
    pub(crate) open: OpenSessions,
    /// The program that runs agents in processes of their own.
    pub(crate) program: Option<AgentProgram>,
    pub(crate) own_processes: bool,
    /// The skills; none in the process of an agent.
    pub(crate) skills: Option<Arc<Mutex<Skills>>>,
    /// The MCP servers of the session.
    pub(crate) mcp: Option<SessionMcp>,
    /// What the caller said about the configured MCP servers.
    pub(crate) mcp_choice: McpChoice,
    pub(crate) on_notice: Arc<dyn Fn(Notice) + Send + Sync>,
}

impl AgentParts {
    /// Returns the definition of an agent.
    fn definition(&self, name: &str) -> Result<&AgentDefinition, TaskError> {
        let unknown =
            || TaskError::new(TaskErrorCategory::Start, format!("there is no agent `{name}`"));
        self.definitions.all().get(name).ok_or_else(unknown)
    }

    /// Returns the definition of the agent of some work, with what the work denies besides.
    fn definition_for(&self, work: &AgentWork) -> Result<AgentDefinition, TaskError> {
        let mut definition = self.definition(&work.agent)?.clone();
        definition.disallowed_tools.extend(work.deny.iter().cloned());
        Ok(definition)
    }

    /// Returns a job with the model that the user set for all agents, if there is one.
    fn with_model_of_user(&self, job: &AgentJob) -> AgentJob {
        let mut job = job.clone();
        let set = |name: &str| match self.project.settings.values.env.get(name) {
            Some(value) => Some(value.as_str()),
            None => self.project.environment.get(name),
        };
        if let Some(model) = set(MODEL_VARIABLE).map(str::trim).filter(|model| !model.is_empty()) {
            job.work.model = Some(model.to_owned());
        }
        job
    }

    /// Returns the hooks of the program that runs the session, for the calls of an agent: its budget,
    /// and those of its code.
    fn program_hooks(&self, work: &AgentWork) -> Vec<Arc<dyn Hooks>> {
        // The budget is the first hook: once it is used up, no hook of the caller runs for a call
        // that it refuses anyway.
        let budget: Arc<dyn Hooks> = Arc::new(self.budget.clone());
        let all = std::iter::once(budget).chain(self.hooks.iter().cloned());
        let of_agent = |hooks| ToolHooks { hooks, folder: work.cwd.clone() };
        all.map(|hooks| Arc::new(of_agent(hooks)) as Arc<dyn Hooks>).collect()
    }
}

/// Returns the permission mode of an agent. A definition may tighten the mode of its parent, or
/// accept edits where the parent asks; it never lifts plan mode, and never asks for less than a parent
/// whose user has chosen not to be asked.
///
/// ```
/// use robota_core::permission::Mode;
/// use robota_sdk::agent_mode;
///
/// assert_eq!(agent_mode(Mode::Default, Some(Mode::Plan)), Mode::Plan);
/// assert_eq!(agent_mode(Mode::Default, Some(Mode::BypassPermissions)), Mode::Default);
/// ```
#[must_use]
pub fn agent_mode(parent: Mode, definition: Option<Mode>) -> Mode {
    match (parent, definition) {
        // A definition is a file that a checkout may contain, so it cannot turn off all questions.
        (Mode::Plan, _) | (_, Some(Mode::BypassPermissions) | None) => parent,
        // Stricter: they allow less than the parent without a question.
        (
            Mode::BypassPermissions | Mode::AcceptEdits,
            Some(mode @ (Mode::Plan | Mode::DontAsk)),
        ) => mode,
        (Mode::BypassPermissions | Mode::AcceptEdits, Some(_)) => parent,
        // The user chose not to be asked: a definition neither asks nor allows more.
        (Mode::DontAsk, Some(mode)) => {
            if mode == Mode::Plan {
                mode
            } else {
                parent
            }
        }
        (_, Some(mode)) => mode,
    }
}

#[cfg(test)]
mod tests;
