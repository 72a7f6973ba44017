//! The options of a session.

use std::sync::Arc;

use robota_core::approve::{Approver, RuleSink};
use robota_core::hook::{HookObserver, Hooks};
use robota_core::into_arc::IntoArc;
use robota_core::journal::JournalStore;
use robota_core::permission::Mode;
use robota_core::plugin::Plugin;
use robota_core::tool::Tool;
use robota_exec::ReaperProgram;
use robota_session::{Approvals, Callbacks};
use robota_tools::{EditorFiles, QuestionHandler};

use super::{InteractiveSession, OpenSessions};
use crate::agents::{AgentOptions, ToolLimits};
use crate::budget::Budget;
use crate::commands::{CommandModule, CommandRegistry, SessionPart, builtin};
use crate::error::SdkError;
use crate::mcp::McpSetup;
use crate::model_setup::ModelSetup;
use crate::notice::Notice;
use crate::project::Project;
use crate::prompt::SystemText;
use crate::select::{SelectedSession, SessionChoice};

/// How many prompts may wait while a turn runs, unless the caller says otherwise.
pub(super) const QUEUE_LIMIT: usize = 1;

type NoticeHandler = Arc<dyn Fn(Notice) + Send + Sync>;

/// Says how a session runs background tasks and schedules.
///
/// ```
/// use robota_sdk::BackgroundOptions;
///
/// // For a program that answers one prompt and ends.
/// let background = BackgroundOptions { schedules: false, ..BackgroundOptions::default() };
/// # let _ = background;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackgroundOptions {
    /// Writes the text of background tasks to files in `.robota/tasks` of the folder. The default keeps
    /// it in memory, unless the session is stored in the folder too.
    pub task_logs: bool,
    /// Offers the tool BackgroundProcess, another name for Bash with `run_in_background`. The default is
    /// false.
    pub process_tool: bool,
    /// Lets the [schedules](robota_runtime::SessionSchedules) of the session fire while it is open. The
    /// default is true.
    pub schedules: bool,
    /// Lets hooks with `"asyncRewake": true` run in the background and wake the model. Otherwise the
    /// session waits for them. The default is true.
    pub hooks_wake: bool,
}

impl Default for BackgroundOptions {
    fn default() -> Self {
        Self { task_logs: false, process_tool: false, schedules: true, hooks_wake: true }
    }
}

/// Builds an [`InteractiveSession`].
///
/// ```
/// use robota_core::permission::Mode;
/// use robota_sdk::{InteractiveSession, ModelSetup, Project, SdkError};
///
/// async fn open(project: Project, model: ModelSetup) -> Result<InteractiveSession, SdkError> {
///     InteractiveSession::builder(project, model).mode(Mode::Plan).name("planning").open().await
/// }
/// # let _ = open;
/// ```
#[must_use]
pub struct InteractiveSessionBuilder {
    pub(super) project: Arc<Project>,
    pub(super) model: ModelSetup,
    pub(super) store: Option<Arc<dyn JournalStore>>,
    pub(super) selection: SessionSelection,
    pub(super) approvals: Approvals,
    pub(super) questions: Option<Arc<dyn QuestionHandler>>,
    pub(super) editor: Option<Arc<dyn EditorFiles>>,
    pub(super) rule_sink: Option<Arc<dyn RuleSink>>,
    pub(super) first_hooks: Vec<Arc<dyn Hooks>>,
    pub(super) hooks: Vec<Arc<dyn Hooks>>,
    pub(super) hook_observer: Option<Arc<dyn HookObserver>>,
    pub(super) plugins: Vec<Arc<dyn Plugin>>,
    pub(super) callbacks: Callbacks,
    pub(super) name: Option<String>,
    pub(super) mode: Option<Mode>,
    pub(super) may_bypass: bool,
    pub(super) max_rounds: u32,
    pub(super) system: SystemText,
    pub(super) only_tools: Option<Vec<String>>,
    /// Which tools the agent leaves that the conversation runs as.
    pub(super) tool_limits: ToolLimits,
    pub(super) only_skills: Option<Vec<String>>,
    pub(super) tools: Vec<Arc<dyn Tool>>,
    pub(super) reaper: Option<ReaperProgram>,
    pub(super) on_notice: NoticeHandler,
    pub(super) queue_limit: usize,
    pub(super) budget: Budget,
    pub(super) commands: CommandRegistry,
    pub(super) open: OpenSessions,
    pub(super) mcp: McpSetup,
    pub(super) agents: AgentOptions,
    pub(super) background: BackgroundOptions,
    pub(super) required: Vec<SessionPart>,
}

/// Names the session to open.
///
/// ```
/// use robota_sdk::{SessionChoice, SessionSelection};
///
/// let selection = SessionSelection::from(SessionChoice::New(None));
/// assert!(matches!(selection, SessionSelection::Choice(SessionChoice::New(None))));
/// ```
pub enum SessionSelection {
    /// The builder finds the session in the store.
    Choice(SessionChoice),
    /// The caller found the session before.
    Selected(SelectedSession),
}

impl From<SessionChoice> for SessionSelection {
    fn from(choice: SessionChoice) -> Self {
        Self::Choice(choice)
    }
}

impl From<SelectedSession> for SessionSelection {
    fn from(selected: SelectedSession) -> Self {
        Self::Selected(selected)
    }
}

impl InteractiveSessionBuilder {
    pub(crate) fn new(project: Arc<Project>, model: ModelSetup) -> Self {
        let mut commands = CommandRegistry::new();
        commands.add_module(&builtin::commands());
        Self {
            project,
            model,
            store: None,
            selection: SessionSelection::Choice(SessionChoice::default()),
            approvals: Approvals::Deny,
            questions: None,
            hook_observer: None,
            only_skills: None,
            editor: None,
            rule_sink: None,
            first_hooks: Vec::new(),
            hooks: Vec::new(),
            plugins: Vec::new(),
            callbacks: Callbacks::new(),
            name: None,
            mode: None,
            may_bypass: false,
            max_rounds: 0,
            system: SystemText::default(),
            only_tools: None,
            tool_limits: ToolLimits::default(),
            tools: Vec::new(),
            reaper: None,
            on_notice: Arc::new(|_| {}),
            queue_limit: QUEUE_LIMIT,
            budget: Budget::default(),
            commands,
            open: OpenSessions::default(),
            mcp: McpSetup::default(),
            agents: AgentOptions::default(),
            background: BackgroundOptions::default(),
            required: Vec::new(),
        }
    }

    /// Sets how the session runs agents. The default offers the model no agents; commands and skills
    /// can run those of the user's files.
    pub fn agents(mut self, agents: AgentOptions) -> Self {
        self.agents = agents;
        self
    }

    /// Sets how the session runs background tasks and schedules.
    pub fn background(mut self, background: BackgroundOptions) -> Self {
        self.background = background;
        self
    }

    /// Sets where the session is stored. The default is `.robota/sessions` in the working folder.
    pub fn store(mut self, store: impl IntoArc<dyn JournalStore>) -> Self {
        self.store = Some(store.into_arc());
        self
    }

    /// Sets which session is opened: a choice, or what the caller has selected by one before. The default is
    /// a new session.
    pub fn choose(mut self, selection: impl Into<SessionSelection>) -> Self {
        self.selection = selection.into();
        self
    }

    /// Sets the approver, which decides on calls that need approval.
    pub fn approver(self, approver: impl IntoArc<dyn Approver>) -> Self {
        self.approvals(Approvals::Handler(approver.into_arc()))
    }

    /// Sets who decides on calls that need approval. The default denies them.
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.approvals = approvals;
        self
    }

    /// Sets who answers the questions of the tool AskUserQuestion. Without it the tool is not
    /// offered.
    pub fn questions(mut self, questions: impl QuestionHandler + 'static) -> Self {
        self.questions = Some(Arc::new(questions));
        self
    }

    /// Sets the editor that has the folder open: its text that is not saved is read, and files are
    /// changed through it.
    pub fn editor(mut self, editor: impl EditorFiles + 'static) -> Self {
        self.editor = Some(Arc::new(editor));
        self
    }

    /// Sets who saves the rules of the answer "always". Without it that answer lasts for the session.
    pub fn rule_sink(mut self, sink: impl IntoArc<dyn RuleSink>) -> Self {
        self.rule_sink = Some(sink.into_arc());
        self
    }

    /// Limits the skills that the model sees and may invoke to these names. The user can invoke the
    /// others.
    pub fn only_skills(mut self, names: Vec<String>) -> Self {
        self.only_skills = Some(names);
        self
    }

    /// Sets what observes each run of a hook of the settings, of plugins and of skills.
    pub fn hook_observer(mut self, observer: Arc<dyn HookObserver>) -> Self {
        self.hook_observer = Some(observer);
        self
    }

    /// Adds hooks that run before those of the settings.
    pub fn first_hooks(mut self, hooks: impl IntoArc<dyn Hooks>) -> Self {
        self.first_hooks.push(hooks.into_arc());
        self
    }

    /// Adds hooks that run after those of the settings.
    pub fn hooks(mut self, hooks: impl IntoArc<dyn Hooks>) -> Self {
        self.hooks.push(hooks.into_arc());
        self
    }

    /// Adds a plugin in code, which follows the runs of the session and can stop them. Plugins run before
    /// the hooks. They do not follow the agents of the session.
    pub fn plugin(mut self, plugin: impl IntoArc<dyn Plugin>) -> Self {
        self.plugins.push(plugin.into_arc());
        self
    }

    /// Sets functions that are called for the events of the session.
    pub fn callbacks(mut self, callbacks: Callbacks) -> Self {
        self.callbacks = callbacks;
        self
    }

    /// Sets the display name of the session.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the permission mode. The default is that of the settings.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Lets clients change to the mode `bypassPermissions` later. A session that starts in this mode
    /// may always do so.
    pub fn may_bypass(mut self, may: bool) -> Self {
        self.may_bypass = may;
        self
    }

    /// Sets how many rounds a turn may take before it ends; zero means no limit.
    pub fn max_rounds(mut self, rounds: u32) -> Self {
        self.max_rounds = rounds;
        self
    }

    /// Replaces the instructions at the start of the system prompt.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system.replace = Some(text.into());
        self
    }

    /// Adds text at the end of the system prompt.
    pub fn append_system(mut self, text: impl Into<String>) -> Self {
        self.system.append = Some(text.into());
        self
    }

    /// Offers only the built-in tools with these names. The default offers all. `Bash(git *)` offers Bash
    /// and denies other calls of it. These names replace the tools that the definition of
    /// [`AgentOptions::main`] lists, but not what it denies.
    pub fn only_tools(mut self, names: Vec<String>) -> Self {
        let name = |entry: &String| entry.split('(').next().unwrap_or_default().trim().to_owned();
        self.only_tools = Some(names.iter().map(name).collect());
        self.tool_limits = self.tool_limits.with_calls(names);
        self
    }

    /// Offers a tool besides the built-in ones, to the conversation and to the agents that it starts. If
    /// the conversation runs as an agent whose definition lists its tools, the tool must be one of them.
    pub fn tool(mut self, tool: impl IntoArc<dyn Tool>) -> Self {
        self.tools.push(tool.into_arc());
        self
    }

    /// Sets what is added to the configured MCP servers.
    pub fn mcp(mut self, setup: McpSetup) -> Self {
        self.mcp = setup;
        self
    }

    /// Sets the program that ends child processes if this process crashes. See [`ReaperProgram`].
    pub fn reaper(mut self, program: ReaperProgram) -> Self {
        self.reaper = Some(program);
        self
    }

    /// Sets the function that receives messages for the user. The default drops them.
    pub fn on_notice(mut self, handler: impl Fn(Notice) + Send + Sync + 'static) -> Self {
        self.on_notice = Arc::new(handler);
        self
    }

    /// Sets how many prompts may wait while a turn runs. The default is one.
    pub fn queue_limit(mut self, limit: usize) -> Self {
        self.queue_limit = limit;
        self
    }

    /// Limits what the session may use. The default has no limits.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Adds the commands of a module, and the parts of the session that they need, whatever the other
    /// options say.
    pub fn command_module(mut self, module: &CommandModule) -> Self {
        self.commands.add_module(module);
        self.required.extend_from_slice(&module.requires);
        self
    }

    /// Adds the parts that command modules need.
    pub(super) fn add_required(&mut self) {
        for part in std::mem::take(&mut self.required) {
            match part {
                SessionPart::Agents => self.agents.tool = true,
                SessionPart::BackgroundProcess => self.background.process_tool = true,
                SessionPart::Schedules => self.background.schedules = true,
            }
        }
    }

    /// Opens the session: creates it, resumes it, or forks an earlier one.
    ///
    /// # Errors
    /// If the session cannot be found or read, another process writes it, or a sandbox is required
    /// that the system does not have.
    pub async fn open(self) -> Result<InteractiveSession, SdkError> {
        // Boxed, because the future is large: it would be part of the futures of all callers.
        Box::pin(self.build()).await
    }
}

impl Default for SessionSelection {
    fn default() -> Self {
        Self::Choice(SessionChoice::default())
    }
}
