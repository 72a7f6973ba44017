//! Builds a session from settings, tools, policy and sandbox. This is the only place that does.

use std::sync::{Arc, OnceLock};

use robota_config::SettingsFile;
use robota_config::model::CompactThreshold;
use robota_core::approve::RuleSink;
use robota_core::driver::SessionConfig;
use robota_core::hook::Hooks;
use robota_core::into_arc::IntoArc;
use robota_core::journal::JournalStore;
use robota_core::permission::{Class, Mode};
use robota_core::sandbox::SandboxLevel;
use robota_core::tool::{Tool, ToolScope};
use robota_core::turn::AtLimit;
use robota_exec::{ReaperProgram, SessionVariables, Supervisor};
use robota_session::{
    Approvals, Callbacks, PolicyGate, RecoveryHint, Resume, Session, SessionBuilder, StartAt,
};
use robota_store::DurabilityLevel;
use robota_tools::{
    Brave, CaptureLimits, PolicyAccessCheck, QuestionHandler, Searcher, Searxng, ToolWorkspace,
};

use super::{InteractiveSession, LoadedContext, OpenSessions, Shared};
use crate::budget::{Budget, BudgetGuard};
use crate::commands::{CommandModule, CommandRegistry, builtin, command_tools};
use crate::context::{ProjectContext, lock};
use crate::error::SdkError;
use crate::gated_tools::GatedTools;
use crate::model_setup::ModelSetup;
use crate::notice::Notice;
use crate::project::{self, Project};
use crate::prompt::SystemText;
use crate::sandbox::{self, Fences};
use crate::select::{SelectedSession, SessionChoice};
use crate::settings_hooks::{self, HookParts};
use crate::skills::{SkillRunner, SkillSource, SkillTool, TurnGrants};
use crate::{processes, store};

/// How many prompts may wait while a turn runs, unless the caller says otherwise.
pub(super) const QUEUE_LIMIT: usize = 1;

/// The tool that asks the user.
const ASK_USER: &str = "AskUserQuestion";

type NoticeHandler = Arc<dyn Fn(Notice) + Send + Sync>;

/// Builds an [`InteractiveSession`].
#[must_use]
pub struct InteractiveSessionBuilder {
    project: Arc<Project>,
    model: ModelSetup,
    store: Option<Arc<dyn JournalStore>>,
    selection: Selection,
    approvals: Approvals,
    questions: Option<Arc<dyn QuestionHandler>>,
    rule_sink: Option<Arc<dyn RuleSink>>,
    first_hooks: Vec<Arc<dyn Hooks>>,
    hooks: Vec<Arc<dyn Hooks>>,
    callbacks: Callbacks,
    name: Option<String>,
    mode: Option<Mode>,
    max_rounds: u32,
    system: SystemText,
    only_tools: Option<Vec<String>>,
    tools: Vec<Arc<dyn Tool>>,
    reaper: Option<ReaperProgram>,
    hints: Option<Vec<RecoveryHint>>,
    on_notice: NoticeHandler,
    queue_limit: usize,
    budget: Budget,
    commands: CommandRegistry,
    open: OpenSessions,
}

/// The session to open: still to be found, or found by the caller.
enum Selection {
    Choice(SessionChoice),
    Selected(SelectedSession),
}

impl InteractiveSessionBuilder {
    pub(super) fn new(project: Arc<Project>, model: ModelSetup) -> Self {
        let mut commands = CommandRegistry::new();
        commands.add_module(&builtin::commands());
        Self {
            project,
            model,
            store: None,
            selection: Selection::Choice(SessionChoice::default()),
            approvals: Approvals::Deny,
            questions: None,
            rule_sink: None,
            first_hooks: Vec::new(),
            hooks: Vec::new(),
            callbacks: Callbacks::new(),
            name: None,
            mode: None,
            max_rounds: 0,
            system: SystemText::default(),
            only_tools: None,
            tools: Vec::new(),
            reaper: None,
            hints: None,
            on_notice: Arc::new(|_| {}),
            queue_limit: QUEUE_LIMIT,
            budget: Budget::default(),
            commands,
            open: OpenSessions::default(),
        }
    }

    /// Sets where the session is stored. The default is `.robota/sessions` in the working folder.
    pub fn store(mut self, store: impl IntoArc<dyn JournalStore>) -> Self {
        self.store = Some(store.into_arc());
        self
    }

    /// Sets which session is opened. The default is a new one.
    pub fn choose(mut self, choice: SessionChoice) -> Self {
        self.selection = Selection::Choice(choice);
        self
    }

    /// Sets the session that is opened, for a caller that has selected it before.
    pub fn selected(mut self, selected: SelectedSession) -> Self {
        self.selection = Selection::Selected(selected);
        self
    }

    /// Sets who decides on calls that need approval. The default denies them.
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.approvals = approvals;
        self
    }

    /// Sets who answers the questions of the tool AskUserQuestion. Without it the tool is not
    /// offered.
    pub fn questions(mut self, questions: Arc<dyn QuestionHandler>) -> Self {
        self.questions = Some(questions);
        self
    }

    /// Sets who saves the rules of the answer "always". Without it that answer lasts for the session.
    pub fn rule_sink(mut self, sink: impl IntoArc<dyn RuleSink>) -> Self {
        self.rule_sink = Some(sink.into_arc());
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

    /// Offers only the built-in tools with these names. The default offers all.
    pub fn only_tools(mut self, names: Vec<String>) -> Self {
        self.only_tools = Some(names);
        self
    }

    /// Offers a tool besides the built-in ones.
    pub fn tool(mut self, tool: impl IntoArc<dyn Tool>) -> Self {
        self.tools.push(tool.into_arc());
        self
    }

    /// Sets the program that ends child processes if this process crashes. See [`ReaperProgram`].
    pub fn reaper(mut self, program: ReaperProgram) -> Self {
        self.reaper = Some(program);
        self
    }

    /// Sets what is known of calls that ran when an earlier run crashed. The default is what the
    /// reaper recorded ([`processes::recovery_hints`]).
    pub fn recovery_hints(mut self, hints: Vec<RecoveryHint>) -> Self {
        self.hints = Some(hints);
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

    /// Adds the commands of a module.
    pub fn command_module(mut self, module: &CommandModule) -> Self {
        self.commands.add_module(module);
        self
    }

    /// Opens the session: creates it, resumes it, or forks an earlier one.
    ///
    /// # Errors
    /// If the session cannot be found or read, another process writes it, or a sandbox is required
    /// that the system does not have.
    pub async fn open(self) -> Result<InteractiveSession, SdkError> {
        // The future is large; callers need not carry it.
        Box::pin(self.build()).await
    }

    async fn build(mut self) -> Result<InteractiveSession, SdkError> {
        let project = self.project.clone();
        let cwd = project.cwd().to_owned();
        let store = match self.store.take() {
            Some(store) => store,
            None => self.default_store().await?,
        };
        let selection = std::mem::take(&mut self.selection);
        let selected = match selection {
            Selection::Selected(selected) => selected,
            Selection::Choice(choice) => choice.select(&*store, &cwd.display().to_string()).await?,
        };
        let supervisor = processes::supervisor(&cwd, self.reaper.take());
        let environment = processes::command_environment(&project.settings, &self.model.secrets);
        let fences = sandbox::prepare(sandbox::request(&project), &environment).await?;
        let context = ProjectContext::load(&project, &self.system);
        let mut notices = [fences.notices.as_slice(), &context.notices].concat();
        let variables = SessionVariables::default();
        let place = self
            .place(&fences, supervisor.clone(), &environment)
            .session_variables(variables.clone());
        let gate = Arc::new(PolicyGate::new(project.policy.clone(), project::paths()));
        let own_tools = robota_tools::tools(&place.for_session(store.blobs(selected.id())));
        let on_notice = self.on_notice.clone();
        let parts = HookParts {
            project: &project,
            session: selected.id(),
            supervisor: &supervisor,
            environment: &environment,
            model: &self.model,
            tools: own_tools.clone(),
            gate: gate.clone(),
            variables,
        };
        let settings_hooks = Arc::new(settings_hooks::runner(
            parts,
            move |notice| {
                let text = format!("{} hook: {}", notice.event.name(), notice.text);
                on_notice(Notice::Note(text));
            },
            &mut notices,
        ));
        notices.into_iter().for_each(|notice| (self.on_notice)(notice));
        let budget = BudgetGuard::new(self.budget, self.on_notice.clone());
        let mut hooks = std::mem::take(&mut self.first_hooks);
        hooks.insert(0, Arc::new(budget.clone()));
        hooks.push(settings_hooks.clone());
        hooks.push(Arc::new(context.nested.clone()));
        hooks.append(&mut self.hooks);
        let skills = SkillRunner::new(
            project.clone(),
            context.skills.clone(),
            GatedTools::new(gate.clone(), own_tools),
            TurnGrants::new(gate.clone()),
            self.model.effort.clone(),
        );
        // Its description is part of every request.
        if !context.has_memory {
            self.commands.hide_from_model("memory");
        }
        self.commands.add_source(Arc::new(SkillSource(context.skills.clone())));
        if !lock(&context.skills).is_empty() {
            self.tools.push(Arc::new(SkillTool::new(skills.clone())));
        }
        let (grants, meter) = (skills.grants().clone(), budget.clone());
        self.callbacks =
            std::mem::take(&mut self.callbacks).first_on_event(Arc::new(move |envelope| {
                grants.observe(envelope);
                meter.observe(envelope);
            }));
        let crash_cleanup = processes::crash_cleanup(&cwd);
        let tools = Arc::new(OnceLock::new());
        let (queue_limit, commands) = (self.queue_limit, self.commands.clone());
        let open = self.open.clone();
        let name = self.name.take();
        let (hints, rule_sink) = (self.hints.take(), self.rule_sink.take());
        let loaded = LoadedContext {
            parts: context.parts.clone(),
            read: context.counts,
            output_style: project.settings.values.output_style.clone(),
            language: project.settings.values.language.clone(),
        };
        let mut builder = self
            .session(place, &fences, gate, &context, tools.clone())?
            .crash_cleanup(crash_cleanup.clone());
        builder = hooks.into_iter().fold(builder, SessionBuilder::hooks);
        builder = rule_sink.into_iter().fold(builder, SessionBuilder::rule_sink);
        let (session, since) = match selected {
            SelectedSession::New(id) => {
                if let Some(name) = name {
                    builder = builder.name(name);
                }
                (builder.create(store, Some(id)).await?, StartAt::Start)
            }
            SelectedSession::Resume(id, last) => {
                let hints = hints.unwrap_or_else(|| processes::recovery_hints(&cwd));
                let resume = Resume { hints, ..Resume::default() };
                let session = builder.resume(store, &id, resume).await?;
                crash_cleanup.remove_records();
                if let Some(name) = name {
                    session.rename(name).await?;
                }
                (session, StartAt::After(last))
            }
        };
        Ok(InteractiveSession::new(Shared {
            session,
            project: Some(project),
            since,
            supervisor: Some(supervisor),
            tools,
            queue_limit,
            commands,
            loaded,
            skills: Some(skills),
            budget: Some(budget),
            open,
            settings_hooks: Some(settings_hooks),
        }))
    }

    async fn default_store(&self) -> Result<Arc<dyn JournalStore>, SdkError> {
        let mut notices = Vec::new();
        let level = DurabilityLevel::default();
        let store = store::open(None, level, &self.project, &mut notices).await?;
        notices.into_iter().for_each(|notice| (self.on_notice)(notice));
        Ok(store)
    }

    /// Returns where the built-in tools work.
    fn place(
        &self,
        fences: &Fences,
        supervisor: Supervisor,
        environment: &robota_exec::Environment,
    ) -> ToolWorkspace {
        let project = &self.project;
        let confined = fences.confinement.is_some();
        let environment = sandbox::environment(environment, confined, project);
        let policy = Arc::new(project.policy.clone());
        let mut place = ToolWorkspace::new(project.cwd(), supervisor, environment)
            .access_check(Arc::new(PolicyAccessCheck::new(policy, project::paths())))
            .capture_limits(capture_limits(&project.settings.values))
            .follow_cd();
        if let Some(fence) = &fences.read_only {
            place = place.read_only_fence(fence.clone());
        }
        if let Some(confinement) = &fences.confinement {
            place = place.confine(confinement.clone());
        }
        if let Some(searcher) = searcher(&project.environment) {
            place = place.searcher(searcher);
        }
        if let Some(questions) = &self.questions {
            place = place.question_handler(questions.clone());
        }
        place
    }

    fn session(
        self,
        place: ToolWorkspace,
        fences: &Fences,
        gate: Arc<PolicyGate>,
        context: &ProjectContext,
        offered: Arc<OnceLock<Vec<String>>>,
    ) -> Result<SessionBuilder, SdkError> {
        let project = self.project;
        let read_only = fences.confinement.as_ref().is_some_and(|confinement| {
            confinement.boundaries().fence.level == SandboxLevel::ReadOnly
        });
        let choice = ToolChoice {
            only: self.only_tools,
            more: self.tools,
            asks_user: self.questions.is_some(),
            read_only,
        };
        let (commands, open) = (self.commands, self.open);
        let tools = move |session: &ToolScope| {
            let built_in = robota_tools::tools(&place.for_session(session.blobs.clone()));
            let mut tools = choice.apply(built_in);
            tools.extend(command_tools(&commands, &open, &session.session));
            // A fork of the session has the same tools.
            let _ = offered.set(tools.iter().map(|tool| tool.spec().name.clone()).collect());
            tools
        };
        let redactor = project.redactor(&self.model.secrets)?;
        let model = self.model;
        Ok(Session::builder(model.provider.clone(), model.model.clone())
            .system(context.system.as_str())
            .cwd(project.cwd().display().to_string())
            .mode(self.mode.unwrap_or(project.settings.permissions.mode))
            .gate(gate)
            .tool_factory(Arc::new(tools))
            .approvals(self.approvals)
            .idle_timeout(model.idle_timeout)
            .max_rounds(self.max_rounds)
            .callbacks(self.callbacks)
            .configure(|config| {
                model.apply(config);
                config.redactor = redactor;
                config.turn.at_limit = AtLimit::Stop;
                config.compact_instructions.clone_from(&context.compact_instructions);
                apply_settings(&project.settings.values, config);
            }))
    }
}

impl Default for Selection {
    fn default() -> Self {
        Self::Choice(SessionChoice::default())
    }
}

/// Applies settings that change the turns of a session.
fn apply_settings(settings: &SettingsFile, config: &mut SessionConfig) {
    match (settings.auto_compact_enabled, &settings.auto_compact_threshold) {
        (Some(false), _) => config.turn.compact_at = None,
        (_, Some(CompactThreshold(share))) => config.turn.compact_at = *share,
        (_, None) => {}
    }
    if let (Some(effort), false) = (&settings.effort_level, config.options.contains_key("effort")) {
        config.options.insert("effort".to_owned(), effort.clone().into());
    }
}

/// The tools that a session offers.
struct ToolChoice {
    only: Option<Vec<String>>,
    more: Vec<Arc<dyn Tool>>,
    asks_user: bool,
    read_only: bool,
}

impl ToolChoice {
    /// Removes built-in tools that are not offered, and adds the others.
    fn apply(&self, mut tools: Vec<Arc<dyn Tool>>) -> Vec<Arc<dyn Tool>> {
        tools.retain(|tool| {
            let spec = tool.spec();
            let chosen = |only: &Vec<String>| only.contains(&spec.name);
            // In a read-only sandbox commands cannot change files; the file tools, which run outside
            // of it, must not do it for the model.
            (!self.read_only || spec.class != Class::Modify)
                && (self.asks_user || spec.name != ASK_USER)
                && self.only.as_ref().is_none_or(chosen)
        });
        tools.extend(self.more.iter().cloned());
        tools
    }
}

/// Returns the web search service: SearXNG at `SEARXNG_URL`, else Brave with `BRAVE_API_KEY`.
fn searcher(environment: &robota_config::Environment) -> Option<Arc<dyn Searcher>> {
    let set = |name| environment.get(name).filter(|value| !value.is_empty());
    match (set("SEARXNG_URL"), set("BRAVE_API_KEY")) {
        (Some(base), _) => Some(Arc::new(Searxng::new(base))),
        (None, Some(key)) => Some(Arc::new(Brave::new(key))),
        (None, None) => None,
    }
}

/// Returns the limits within which the files that commands change are recorded.
fn capture_limits(settings: &robota_config::SettingsFile) -> Option<CaptureLimits> {
    let mut limits = CaptureLimits::default();
    if let Some(files) = settings.file_checkpointing_max_files {
        limits.entries = usize::try_from(files).unwrap_or(usize::MAX);
    }
    settings.file_checkpointing_enabled.unwrap_or(true).then_some(limits)
}
