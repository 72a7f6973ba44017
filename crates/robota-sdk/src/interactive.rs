//! The session that every client uses.
//!
//! An [`InteractiveSession`] is a durable [`Session`] with the settings, instructions and commands of
//! a folder. Clients submit prompts and follow [`InteractiveEvents`]; both are views of the journal,
//! so a client can attach at any time, and a second one sees the same.

mod builder;
mod client_hooks;
pub(crate) mod compose;
mod config_change;
mod conversation;
mod enter;
mod event;
mod expansion;
mod first_prompt;
mod history;
mod hook_wakes;
mod loaded;
mod main_agent;
mod mode_questions;
mod open_sessions;
mod queue;
mod resources;
mod result;
mod session_rules;
mod shell;
mod spending;
mod submit;
mod tasks;
mod todo_lists;
mod tool_state;
mod tools;
mod typed_skills;

use std::sync::{Arc, OnceLock};

use robota_core::approve::Question;
use robota_core::event::{Closed, Envelope};
use robota_core::hook::{EventDecision, HookData, HookRunner};
use robota_core::ids::SessionId;
use robota_core::permission::Mode;
use robota_core::tool::ToolSpec;
use robota_exec::Supervisor;
use robota_runtime::TaskManager;
use robota_session::{Selector, Session, StartAt};

pub use builder::{BackgroundOptions, InteractiveSessionBuilder, SessionSelection};
pub use client_hooks::ClientHooks;
pub use config_change::config_change;
pub use conversation::Conversation;
pub(crate) use enter::is_command_name;
pub use enter::{Entered, Prepared, PreparedPrompt};
pub use event::{InteractiveEvent, InteractiveEvents, Projection};
use first_prompt::FirstPrompt;
pub use hook_wakes::HOOK_WAKE;
pub use loaded::LoadedContext;
pub use open_sessions::OpenSessions;
pub use queue::{PromptQueue, QueuedPrompt};
pub use result::{CostStatus, ExecutionResult, UsageKind, UsageSnapshot};
pub use shell::ShellRun;
pub use spending::Spending;
pub use submit::{Prompt, PromptBlock, Submission};
pub(crate) use todo_lists::todo_lists;
pub use tool_state::{DiffLine, ToolEnd, ToolState, diff_lines};
pub use tools::OfferedTools;

use crate::budget::BudgetGuard;
use crate::commands::{CommandRegistry, CommandResult};
use crate::error::SdkError;
use crate::mcp::SessionMcp;
use crate::mentions::MentionReader;
use crate::model_setup::ModelSetup;
use crate::project::Project;
use crate::skills::SkillRunner;
use crate::tasks::SessionRuntime;

/// Combines a durable session with the settings and files of a folder. Clones are handles to the
/// same session; dropping the last one shuts the session down.
///
/// ```
/// use robota_core::journal::MemoryStore;
/// use robota_core::scripted::{Script, ScriptedProvider};
/// use robota_sdk::{InteractiveSession, ModelSetup, Project, ProjectOptions};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let options = ProjectOptions { cwd: Some(folder.path().to_owned()), ..Default::default() };
/// let project = Project::load(options)?;
/// let model = ModelSetup::new(ScriptedProvider::new(Script::new().text("Hello.")), "scripted");
/// let session =
///     InteractiveSession::builder(project, model).store(MemoryStore::new()).open().await?;
/// let result = session.submit("Say hello.").await?.result().await?;
/// assert_eq!(result.response, "Hello.");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct InteractiveSession(SharedHandle);

/// A handle to [`Shared`] that erases its type. A session contains the tools that find it again
/// ([`OpenSessions`]), and for a type that contains itself the compiler proves `Send` anew in each
/// future that holds a session: that was most of the time it took to compile this crate.
#[derive(Clone)]
struct SharedHandle(Arc<dyn SharedParts>);

trait SharedParts: Send + Sync {
    fn shared(&self) -> &Shared;
}

impl SharedParts for Shared {
    fn shared(&self) -> &Shared {
        self
    }
}

impl std::ops::Deref for SharedHandle {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        self.0.shared()
    }
}

/// What the handles of a session share.
struct Shared {
    session: Session,
    mcp: Option<SessionMcp>,
    project: Option<Arc<Project>>,
    since: StartAt,
    supervisor: Option<Supervisor>,
    tools: Arc<OnceLock<Vec<ToolSpec>>>,
    queue_limit: usize,
    /// Held while a prompt is checked against the limit and sent.
    sending: tokio::sync::Mutex<()>,
    may_bypass: bool,
    commands: CommandRegistry,
    loaded: LoadedContext,
    open: OpenSessions,
    settings_hooks: Option<Arc<HookRunner>>,
    skills: Option<SkillRunner>,
    mentions: Option<MentionReader>,
    /// That of the agent which the conversation runs as.
    first_prompt: Option<FirstPrompt>,
    budget: Option<BudgetGuard>,
    tasks: Option<TaskManager>,
    runtime: Option<SessionRuntime>,
}

impl InteractiveSession {
    /// Builds a session for the folder of a project.
    pub fn builder(
        project: impl Into<Arc<Project>>,
        model: ModelSetup,
    ) -> InteractiveSessionBuilder {
        InteractiveSessionBuilder::new(project.into(), model)
    }

    /// Wraps a session that the caller built, for tests and for programs that compose their own. It
    /// has the built-in commands and no settings.
    #[must_use]
    pub fn from_session(session: Session) -> Self {
        let mut commands = CommandRegistry::new();
        commands.add_module(&crate::commands::builtin::commands());
        Self::new(Shared {
            session,
            mcp: None,
            project: None,
            since: StartAt::Start,
            supervisor: None,
            tools: Arc::default(),
            queue_limit: builder::QUEUE_LIMIT,
            sending: tokio::sync::Mutex::default(),
            may_bypass: false,
            commands,
            loaded: LoadedContext::default(),
            open: OpenSessions::default(),
            settings_hooks: None,
            skills: None,
            mentions: None,
            first_prompt: None,
            budget: None,
            tasks: None,
            runtime: None,
        })
    }

    fn new(shared: Shared) -> Self {
        let shared = SharedHandle(Arc::new(shared));
        // From here on the tools of the session find it.
        shared.open.add(shared.session.id().clone(), &shared);
        Self(shared)
    }

    /// Returns the durable session, for everything that this type has no method for.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.0.session
    }

    /// Returns the id of the session.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        self.0.session.id()
    }

    /// Returns the settings of the folder; none for a session that the caller built.
    #[must_use]
    pub fn project(&self) -> Option<&Arc<Project>> {
        self.0.project.as_ref()
    }

    /// Returns where the events of this process begin: everything before was recorded by an earlier
    /// one.
    #[must_use]
    pub fn opened_at(&self) -> StartAt {
        self.0.since
    }

    /// Returns the MCP servers of the session; none if none are configured.
    #[must_use]
    pub fn mcp(&self) -> Option<&SessionMcp> {
        self.0.mcp.as_ref()
    }

    /// Returns the tools that the model is offered, those of MCP servers included.
    #[must_use]
    pub fn tools(&self) -> OfferedTools<'_> {
        OfferedTools(self)
    }

    /// Returns the hooks of the settings; none for a session that the caller built.
    #[must_use]
    pub fn settings_hooks(&self) -> Option<Arc<HookRunner>> {
        self.0.settings_hooks.clone()
    }

    /// Follows the session: events from `start` on, then those that follow.
    ///
    /// # Errors
    /// If the session has ended or its journal cannot be read.
    pub async fn events(&self, start: StartAt) -> Result<InteractiveEvents, SdkError> {
        let filter = robota_session::EventFilter::Everything;
        Ok(InteractiveEvents::new(self.session().subscribe(start, filter).await?))
    }

    /// Returns whether a turn runs or is about to.
    #[must_use]
    pub fn is_executing(&self) -> bool {
        self.session().is_running()
    }

    /// Returns the calls that wait for an approval.
    #[must_use]
    pub fn approvals(&self) -> Vec<Question> {
        self.session().permissions().pending()
    }

    /// Changes the permission mode.
    ///
    /// # Errors
    /// If the mode is `bypassPermissions` and the settings forbid it or the builder did not allow it,
    /// or the journal cannot be written.
    pub async fn set_mode(&self, mode: Mode) -> Result<(), SdkError> {
        check_bypass(mode, self.0.may_bypass, self.project())?;
        self.session().permissions().set_mode(mode).await?;
        // The hooks have a context of their own, which does not follow the session.
        if let Some(hooks) = &self.0.settings_hooks {
            hooks.update_context(|context| context.permission_mode = Some(mode));
        }
        Ok(())
    }

    /// Stops the running turn and removes all waiting prompts. Returns whether something ran.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn abort(&self) -> Result<bool, SdkError> {
        // The queue first: the end of the turn would start the next prompt.
        self.queue().clear().await?;
        Ok(self.session().interrupt(None).await?)
    }

    /// Ends the session: refuses new prompts, stops what runs, records the end with its reason and
    /// message, runs the SessionEnd hooks, and ends the child processes. The session can be resumed
    /// later.
    ///
    /// # Errors
    /// If the journal cannot be written. The processes are ended all the same.
    pub async fn shutdown(&self, end: impl Into<Closed>) -> Result<(), SdkError> {
        // Tasks first, while the journal still takes their ends.
        if let Some(tasks) = &self.0.tasks {
            tasks.shutdown().await;
        }
        let ended = self.session().shutdown(end).await;
        if let Some(supervisor) = &self.0.supervisor {
            // Only the first session closes the servers, because forks share them.
            if let Some(mcp) = &self.0.mcp {
                mcp.servers.close().await;
            }
            supervisor.shutdown().await;
        }
        Ok(ended?)
    }

    /// Forks the session at a safe point. The fork has an id and permissions of its own, and this
    /// session stays as it is. Both share the budget, the hooks of the settings and the child
    /// processes: the shutdown of this session ends those of the fork too.
    ///
    /// # Errors
    /// If the journal cannot be read or written.
    pub async fn fork(&self, at: &Selector) -> Result<Self, SdkError> {
        let session = self.session().fork(at, None).await?;
        let shared = &self.0;
        let fork = Self::new(Shared {
            // The fork has made its tools already, and with them its manager.
            tasks: shared.runtime.as_ref().and_then(|it| it.new.take(session.id())),
            runtime: shared.runtime.clone(),
            session,
            mcp: shared.mcp.clone(),
            project: shared.project.clone(),
            since: StartAt::Now,
            // The first session ends the processes, which it shares with its forks.
            supervisor: None,
            tools: shared.tools.clone(),
            queue_limit: shared.queue_limit,
            sending: tokio::sync::Mutex::default(),
            may_bypass: shared.may_bypass,
            commands: shared.commands.clone(),
            loaded: shared.loaded.clone(),
            open: shared.open.clone(),
            settings_hooks: shared.settings_hooks.clone(),
            skills: shared.skills.clone(),
            mentions: shared.mentions.clone(),
            // A fork continues a conversation.
            first_prompt: None,
            budget: shared.budget.clone(),
        });
        fork.attach_tasks().await?;
        Ok(fork)
    }

    /// Returns the name of the session.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn name(&self) -> Result<Option<String>, SdkError> {
        Ok(self.session().info().await?.name)
    }

    /// Names the session.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn set_name(&self, name: impl Into<String>) -> Result<(), SdkError> {
        Ok(self.session().rename(name).await?)
    }

    /// Returns all events of the session's journal.
    pub(crate) async fn journal_events(&self) -> Result<Vec<Envelope>, SdkError> {
        Ok(history::events(self.session()).await?)
    }

    /// Runs the hooks of an event before the action that it is about. Returns the text that they add
    /// for the model.
    ///
    /// # Errors
    /// If a hook blocks the action.
    pub(crate) async fn ask_hooks(&self, data: HookData) -> Result<Option<String>, SdkError> {
        let event = data.event();
        match self.session().config().run_hooks(data).await.decision {
            EventDecision::Continue { context } => Ok(context),
            EventDecision::Block { reason } => Err(SdkError::Blocked { event, reason }),
        }
    }

    /// Returns the conversation: what the model sees, what happened, and what fills the window.
    #[must_use]
    pub fn conversation(&self) -> Conversation<'_> {
        Conversation(self)
    }

    /// Returns what the session cost, and its budget.
    #[must_use]
    pub fn spending(&self) -> Spending<'_> {
        Spending(self)
    }

    /// Returns the slash commands of this session.
    #[must_use]
    pub fn commands(&self) -> &CommandRegistry {
        &self.0.commands
    }

    /// Executes a command. Returns none if there is no such command.
    pub async fn execute_command(&self, name: &str, arguments: &str) -> Option<CommandResult> {
        let command = self.0.commands.find(name)?.clone();
        Some(command.execute(self, arguments).await)
    }
}

/// Refuses the mode `bypassPermissions` where the settings or the builder do not allow it.
fn check_bypass(mode: Mode, may: bool, project: Option<&Arc<Project>>) -> Result<(), SdkError> {
    let forbidden = project.is_some_and(|it| it.settings.permissions.bypass_disabled);
    let problem = match mode {
        Mode::BypassPermissions if forbidden => "the settings forbid bypassPermissions",
        Mode::BypassPermissions if !may => {
            "the mode bypassPermissions must be allowed when the session is opened"
        }
        _ => return Ok(()),
    };
    Err(SdkError::Option { option: "mode", problem: problem.to_owned() })
}
