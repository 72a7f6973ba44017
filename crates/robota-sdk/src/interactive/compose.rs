//! Composes a session from settings, tools, policy, sandbox, hooks and context. This is the only
//! place that does.

use std::sync::{Arc, Mutex, OnceLock};

use robota_config::SettingsFile;
use robota_config::model::CompactThreshold;
use robota_core::approve::RuleSink;
use robota_core::driver::SessionConfig;
use robota_core::gate::Gate;
use robota_core::hook::{HookEvent, Hooks};
use robota_core::ids::SessionId;
use robota_core::journal::JournalStore;
use robota_core::permission::{Class, Mode};
use robota_core::redact::Redactor;
use robota_core::sandbox::SandboxLevel;
use robota_core::tool::{Tool, ToolScope, ToolSpec};
use robota_core::turn::AtLimit;
use robota_exec::{SessionVariables, Supervisor};
use robota_mcp::client::{Elicitor, McpClientOptions};
use robota_policy::Policy;
use robota_runtime::SessionSchedules as _;
use robota_session::{Approvals, EarlyLoad, PolicyGate, Resume, Session, SessionBuilder, StartAt};
use robota_store::DurabilityLevel;
use robota_tools::{
    ASK_USER, BackgroundProcess, Brave, CaptureLimits, PolicyAccessCheck, Searcher, Searxng, Todos,
    ToolWorkspace,
};

use super::builder::{InteractiveSessionBuilder, SessionSelection};
use super::first_prompt::FirstPrompt;
use super::hook_wakes::HookWakes;
use super::loaded::report_nested;
use super::mode_questions::ModeQuestions;
use super::session_rules::SessionRules;
use super::{InteractiveSession, LoadedContext, OpenSessions, Shared, main_agent};
use crate::agents::{
    AgentCatalogue, AgentParts, AgentPermissions, AnswerAgents, EstimatingGate, ToolLimits,
};
use crate::budget::{Budget, BudgetGuard};
use crate::commands::command_tools;
use crate::context::{ContextRequest, ProjectContext, lock};
use crate::error::SdkError;
use crate::gated_tools::{GatedTools, Readers};
use crate::hooks::OnHookUsage;
use crate::mcp::{
    self, HookedElicitor, McpChoice, ModelSampler, PromptSource, QuestionElicitor, SessionMcp,
};
use crate::mentions::MentionReader;
use crate::model_setup::ModelSetup;
use crate::notice::Notice;
use crate::plan_mode::{EnterPlanMode, ExitPlanMode, PlanNotices};
use crate::project::{self, Project};
use crate::sandbox::{self, Fences};
use crate::select::SelectedSession;
use crate::settings_hooks::{self, HookParts};
use crate::skills::{LateSkillTool, OwnHooks, SKILL_TOOL, SkillRunner, SkillTool};
use crate::tasks::{NewManagers, SessionRuntime, TaskCommands, TaskNotices};
use crate::transcript::SessionTranscript;
use crate::{openapi, processes, store};

impl InteractiveSessionBuilder {
    /// Opens the session. The order matters: secrets before the environment, hooks before the
    /// session, tasks after it.
    pub(super) async fn build(mut self) -> Result<InteractiveSession, SdkError> {
        self.add_required();
        let main = self.agents.main.take();
        if let Some(agent) = &main {
            self.run_as(agent)?;
            self.use_servers(agent);
        }
        let project = self.project.clone();
        let places = project.places.clone();
        let mode = self.mode.unwrap_or(project.settings.permissions.mode);
        // Before anything is started or written: a refused mode must leave no trace.
        super::check_bypass(mode, true, Some(&project))?;
        let may_bypass = self.may_bypass || mode == Mode::BypassPermissions;
        let cwd = project.cwd().to_owned();
        let store = match self.store.take() {
            Some(store) => store,
            None => {
                // The session is stored in the folder, so the logs of its tasks may be there too.
                self.background.task_logs = true;
                self.default_store().await?
            }
        };
        let selection = std::mem::take(&mut self.selection);
        let selected = match selection {
            SessionSelection::Selected(selected) => selected,
            SessionSelection::Choice(choice) => {
                choice.select(&*store, &cwd.display().to_string()).await?
            }
        };
        // The journal is read on another thread while the session is composed on this one.
        let early = match &selected {
            SelectedSession::New(_) => None,
            SelectedSession::Resume(id, _) => Some(EarlyLoad::start(store.clone(), id.clone())),
        };
        // Before the environment and the redactor are made, which need the secrets of the services.
        let services = openapi::load(&project).await;
        self.model.secrets.extend(services.secrets);
        self.tools.extend(services.tools);
        let supervisor = processes::supervisor(&cwd, self.reaper.take());
        let environment = processes::command_environment(&project.settings, &self.model.secrets);
        let environment = processes::with_plugins(environment, &project.plugins);
        let fences = sandbox::prepare(sandbox::request(&project), &environment).await?;
        let definitions = std::mem::take(&mut self.agents.definitions);
        let (definitions, read) =
            AgentCatalogue::find(project.clone(), definitions, self.agents.tool);
        let mut notices = [fences.notices.as_slice(), &services.notices].concat();
        let limits = self.budget.or(Budget::of_settings(&project.settings.values));
        let budget = BudgetGuard::new(limits, self.on_notice.clone());
        let on_usage = count_hooks(&self.open, selected.id(), &budget);
        let mcp_options = McpClientOptions {
            elicitor: self.elicitor(&project, selected.id()),
            sampler: Some(Arc::new(ModelSampler {
                session: selected.id().clone(),
                open: self.open.clone(),
                model: self.model.clone(),
                budget: budget.clone(),
                on_usage: on_usage.clone(),
                on_notice: self.on_notice.clone(),
                questions: self.questions.clone(),
            })),
            ..mcp::options(&project, &supervisor, &environment, self.on_notice.clone())
        };
        let mcp = SessionMcp::start(&project, &self.mcp, mcp_options, &mut notices)
            .map(|mcp| mcp.limited(self.tool_limits.clone()));
        let mcp_wait = self.mcp.wait;
        let instructions = mcp.as_ref().map(SessionMcp::instructions).unwrap_or_default();
        let choice = self.tool_choice(&fences);
        let request = ContextRequest {
            text: &self.system,
            main: main.as_ref(),
            agents: read,
            only_skills: self.only_skills.as_deref(),
            lists_skills: choice.may_add(SKILL_TOOL),
            servers: &instructions,
        };
        let context = ProjectContext::load(&project, &request);
        notices.extend_from_slice(&context.notices);
        let variables = SessionVariables::default();
        // Tools are made for each session, a fork included, from one description of the place.
        let place = self
            .place(&fences, supervisor.clone(), &environment)
            .session_variables(variables.clone());
        let place = match &self.questions {
            Some(inner) => place.question_handler(Arc::new(ModeQuestions {
                inner: inner.clone(),
                open: self.open.clone(),
                session: selected.id().clone(),
            })),
            None => place,
        };
        let mut gate = PolicyGate::new(project.policy.clone(), project::paths());
        self.tool_limits.limit_calls(&mut gate, &*self.on_notice);
        let gate = Arc::new(gate);
        if let Some(folders) = fences.follow_folders(&project) {
            gate.on_folders(move |added| folders.follow(added));
        }
        // Skills and hooks cannot use tools that the caller does not offer.
        let own_tools = robota_tools::tools(&place.for_session(store.blobs(selected.id())));
        let own_tools = choice.built_in(own_tools);
        let on_notice = self.on_notice.clone();
        let files = Arc::new(Mutex::new(project.settings.named_files.clone()));
        let redactor = project.redactor(&self.model.secrets)?;
        let parts = HookParts {
            project: &project,
            session: selected.id(),
            supervisor: &supervisor,
            environment: &environment,
            model: &self.model,
            tools: own_tools.clone(),
            gate: gate.clone(),
            redactor: redactor.clone(),
            mode,
            effort: effort_of(&self.model, &project.settings.values),
            variables,
            transcript: Arc::new(SessionTranscript::new(
                store.clone(),
                selected.id().clone(),
                cwd.display().to_string(),
            )),
            observer: self.hook_observer.clone(),
            on_usage,
            files: files.clone(),
            servers: mcp.iter().map(|mcp| mcp.servers.clone()).collect(),
        };
        let (sessions, titled) = (self.open.clone(), selected.id().clone());
        let rename = move |mut title: String| {
            if let Some(session) = sessions.get(&titled) {
                session.session().config().redactor().clean(&mut title);
                // The prompt does not wait for it.
                drop(tokio::spawn(async move { session.session().rename(title).await }));
            }
        };
        let settings_hooks = settings_hooks::runner(
            parts,
            move |notice| {
                let text = format!("{} hook: {}", notice.event.name(), notice.text);
                on_notice(Notice::Note(text));
            },
            &mut notices,
        );
        let wakes =
            HookWakes::new(self.open.clone(), selected.id().clone(), self.on_notice.clone());
        let (wakes, other_inputs) = {
            let wakes = Arc::new(wakes);
            (wakes.clone(), wakes)
        };
        let settings_hooks = settings_hooks.on_title(rename);
        let settings_hooks = match self.background.hooks_wake {
            true => settings_hooks.on_wake(move |wake| wakes.send(wake)),
            false => settings_hooks,
        };
        let settings_hooks = Arc::new(settings_hooks);
        notices.into_iter().for_each(|notice| (self.on_notice)(notice));
        let mut hooks = std::mem::take(&mut self.first_hooks);
        let mut agent_hooks = hooks.clone();
        agent_hooks.append(&mut self.agents.hooks);
        // First: a session whose budget is used up must not run the hooks of the user, which may
        // cost something.
        hooks.insert(0, Arc::new(budget.clone()));
        hooks.push(settings_hooks.clone());
        if let Some(mcp) = &mcp {
            hooks.push(Arc::new(mcp.late_instructions(instructions)));
        }
        hooks.append(&mut self.hooks);
        let readers = Readers::default();
        let own_tools = GatedTools::new(own_tools, readers.clone());
        let mentions = MentionReader::new(project.clone(), own_tools.clone());
        let own_hooks = OwnHooks {
            runner: settings_hooks.clone(),
            files: files.clone(),
            on_notice: self.on_notice.clone(),
        };
        if let Some(agent) = &main {
            main_agent::join(agent, &project, &own_hooks, &gate)?;
            // As for an agent that is started: it may read its memory.
            gate.remember(&context.allow)
                .map_err(|problem| SdkError::Option { option: "agent", problem })?;
        }
        let skills = SkillRunner::new(
            project.clone(),
            context.skills.clone(),
            own_tools,
            self.model.effort.clone().or_else(|| project.settings.values.effort_level.clone()),
            own_hooks,
        );
        // Without a memory the command is not offered: its description is part of every request.
        if !context.has_memory {
            self.commands.hide_from_model("memory");
        }
        self.commands.add_source(Arc::new(project.skill_source(context.skills.clone())));
        let skill_tool = Arc::new(SkillTool::new(skills.clone(), self.open.clone()));
        let late_skills = if lock(&context.skills).has_name_for_model() {
            self.tools.push(skill_tool);
            None
        } else {
            choice.may_add(SKILL_TOOL).then(|| {
                LateSkillTool::new(context.skills.clone(), skill_tool, project.policy.clone())
            })
        };
        if let Some(mcp) = &mcp {
            self.commands.add_source(Arc::new(PromptSource(mcp.servers.clone())));
        }
        let agent_parts = AgentParts {
            project: project.clone(),
            definitions,
            model: self.model.clone(),
            store: store.clone(),
            place: place.clone(),
            // The agents share the sandbox of this session, which follows its own folders.
            sandbox_folders: None,
            only_tools: self.only_tools.clone(),
            tool_limits: self.tool_limits.clone(),
            read_only: choice.read_only,
            more_tools: self.tools.clone(),
            instructions: context.instructions.clone(),
            budget: budget.clone(),
            hooks: agent_hooks,
            observer: self.agents.observer.take(),
            hook_observer: self.hook_observer.take(),
            permissions: self.agents.permissions.take().unwrap_or_else(|| {
                let setting = project.settings.values.agent_permissions.clone();
                setting.map(AgentPermissions::from).unwrap_or_default()
            }),
            supervisor: supervisor.clone(),
            environment: environment.clone(),
            open: self.open.clone(),
            program: self.agents.program.take(),
            own_processes: self.agents.own_processes
                || project.settings.values.agent_processes == Some(true),
            skills: Some(context.skills.clone()),
            mcp: mcp.clone(),
            mcp_choice: McpChoice::from(&self.mcp),
            on_notice: self.on_notice.clone(),
        };
        let runtime = SessionRuntime {
            parts: Arc::new(agent_parts),
            hooks: settings_hooks.clone(),
            files,
            log_files: self.background.task_logs,
            new: NewManagers::default(),
        };
        let manager = runtime.manager(selected.id());
        if self.can_approve() {
            let (open, session) = (self.open.clone(), selected.id().clone());
            hooks.push(Arc::new(PlanNotices { open, session }));
        }
        // Kept here until the tool factory asks for it: the session creates its tools while it is
        // being built.
        runtime.new.put(selected.id().clone(), manager.clone());
        let meter = budget.clone();
        // First: what an answer cost must be known before its calls run.
        let answer = AnswerAgents::default();
        let counted = answer.clone();
        self.callbacks =
            std::mem::take(&mut self.callbacks).first_on_event(Arc::new(move |envelope| {
                meter.observe(envelope);
                counted.observe(envelope);
                other_inputs.observe(envelope);
            }));
        let crash_cleanup = processes::crash_cleanup(&cwd);
        let (tools, todos) = (Arc::new(OnceLock::new()), Arc::new(OnceLock::new()));
        let (queue_limit, commands) = (self.queue_limit, self.commands.clone());
        let runs_schedules = self.background.schedules;
        let was_resumed = matches!(selected, SelectedSession::Resume(..));
        let first_prompt = main.as_ref().filter(|_| !was_resumed);
        let first_prompt =
            first_prompt.and_then(|agent| FirstPrompt::of(agent, self.on_notice.clone()));
        let open = self.open.clone();
        let name = self.name.take();
        let rules = SessionRules { sink: self.rule_sink.take(), open: open.clone() };
        let loaded = LoadedContext {
            parts: context.parts.clone(),
            read: context.counts,
            output_style: project.settings.values.output_style.clone(),
            language: project.settings.values.language.clone(),
        };
        let gate = Arc::new(EstimatingGate {
            inner: gate,
            budget: budget.clone(),
            model: self.model.model.clone(),
            tasks: manager.clone(),
            answer,
        });
        let mut builder = self
            .session(
                place,
                choice,
                (gate, redactor),
                &context,
                (Offered { tools: tools.clone(), todos: todos.clone(), readers }, runtime.clone()),
            )
            .crash_cleanup(crash_cleanup.clone());
        builder = hooks.into_iter().fold(builder, SessionBuilder::hooks);
        let loaded_files = context.nested.clone();
        let (observed, nested, managers) =
            (context.nested.clone(), context.nested, runtime.clone());
        builder = builder
            .session_observer(move |session| observed.of(session).observer())
            .session_hooks(move |session| Arc::new(nested.of(session)) as Arc<dyn Hooks>)
            .session_hooks(move |session| {
                Arc::new(TaskNotices(managers.of_new(session))) as Arc<dyn Hooks>
            });
        builder = builder.rule_sink(Arc::new(rules) as Arc<dyn RuleSink>);
        if let Some(mcp) = &mcp {
            builder = builder.tool_source(mcp.source());
        }
        if let Some(late_skills) = late_skills {
            builder = builder.tool_source(Arc::new(late_skills));
        }
        let (session, since) = match selected {
            SelectedSession::New(id) => {
                if let Some(name) = name {
                    builder = builder.name(name);
                }
                (builder.create(store, Some(id)).await?, StartAt::Start)
            }
            SelectedSession::Resume(id, last) => {
                // Before it is opened: what happens from then on is counted as it happens.
                budget.count_earlier(&*store, &id).await?;
                let hints = processes::recovery_hints(&cwd);
                let resume = Resume { hints, ..Resume::default() };
                let session = builder.resume_loaded(store, &id, resume, early).await?;
                // Only now: the journal contains what the records say, so a crash before this line
                // loses nothing.
                crash_cleanup.remove_records();
                if let Some(name) = name {
                    session.rename(name).await?;
                }
                (session, StartAt::After(last))
            }
        };
        if let Some(mcp) = &mcp {
            // After the session exists: servers start in the background and may need longer than
            // this wait.
            mcp.ready(mcp_wait).await;
        }
        // The watch finds the session through `open`, which has it from here on.
        let sessions = open.clone();
        budget.stop_in_time(move || {
            let running = sessions.all().into_iter().filter(|it| it.is_executing());
            running.map(|it| it.session().clone()).collect()
        });
        let counted = budget.clone();
        let (sessions, of_files) = (open.clone(), places.clone());
        loaded_files.on_load(move |id, file| {
            if let Some(session) = sessions.get(id) {
                report_nested(&session, file, &of_files);
            }
        });
        let interactive = InteractiveSession::new(Shared {
            tasks: runtime.new.take(session.id()),
            runtime: Some(runtime),
            session,
            mcp,
            project: Some(project),
            since,
            supervisor: Some(supervisor),
            tools,
            queue_limit,
            sending: tokio::sync::Mutex::default(),
            may_bypass,
            commands,
            loaded,
            skills: Some(skills),
            mentions: Some(mentions),
            budget: Some(budget),
            first_prompt,
            open,
            settings_hooks: Some(settings_hooks),
        });
        // Now, because recording needs the open session. Tasks of an earlier process are closed
        // here; what they used is not in the part of the journal that was counted.
        for task in interactive.attach_tasks().await? {
            counted.count_agent(&task.usage);
        }
        if let Some(todos) = todos.get().filter(|_| was_resumed) {
            interactive.restore_todos(todos).await?;
        }
        if runs_schedules {
            // The task of the schedules ends with the session. It fires missed times now.
            interactive.session().schedule().start();
        }
        interactive.report_instructions(&places).await;
        Ok(interactive)
    }

    async fn default_store(&self) -> Result<Arc<dyn JournalStore>, SdkError> {
        let mut notices = Vec::new();
        let level = DurabilityLevel::default();
        let store = store::open(None, level, &self.project, &mut notices).await?;
        notices.into_iter().for_each(|notice| (self.on_notice)(notice));
        Ok(store)
    }

    /// Returns where the built-in tools work.
    pub(crate) fn place(
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
        if let Some(editor) = &self.editor {
            place = place.editor(editor.clone());
        }
        place
    }

    /// Returns whether a client or an approver can approve a plan.
    fn can_approve(&self) -> bool {
        !matches!(self.approvals, Approvals::Deny)
    }

    /// Returns what asks the user the questions of MCP servers, after the hooks of the session.
    fn elicitor(&self, project: &Project, session: &SessionId) -> Option<Arc<dyn Elicitor>> {
        let questions = || Some(Arc::new(QuestionElicitor(self.questions.clone()?)) as _);
        let asks = self.mcp.elicitor.clone().or_else(questions)?;
        let mut in_code = self.first_hooks.iter().chain(&self.hooks);
        let decided = [HookEvent::Elicitation, HookEvent::ElicitationResult];
        let has_hooks = in_code.any(|hooks| decided.iter().any(|event| hooks.has_event(*event)))
            || has_elicitation_hooks(project);
        Some(Arc::new(HookedElicitor {
            session: session.clone(),
            open: self.open.clone(),
            has_hooks,
            asks,
            on_notice: self.on_notice.clone(),
        }))
    }

    /// Returns which built-in tools are offered.
    pub(crate) fn tool_choice(&self, fences: &Fences) -> ToolChoice {
        let level = fences.confinement.as_ref().map(|it| it.current().boundaries().fence.level);
        ToolChoice {
            only: self.only_tools.clone(),
            limits: self.tool_limits.clone(),
            more: Vec::new(),
            asks_user: self.questions.is_some(),
            policy: self.project.policy.clone(),
            read_only: level == Some(SandboxLevel::ReadOnly),
        }
    }

    fn session(
        mut self,
        place: ToolWorkspace,
        choice: ToolChoice,
        (gate, redactor): (Arc<dyn Gate>, Redactor),
        context: &ProjectContext,
        (offered, runtime): (Offered, SessionRuntime),
    ) -> SessionBuilder {
        let can_approve = self.can_approve();
        let project = self.project;
        let choice = ToolChoice { more: std::mem::take(&mut self.tools), ..choice };
        let conversation_tools = std::mem::take(&mut self.agents.conversation_tools);
        let (commands, open) = (self.commands, self.open);
        let (agent_tool, process_tool) = (self.agents.tool, self.background.process_tool);
        let plans = can_approve.then(|| open.clone());
        let tools = move |session: &ToolScope| {
            let manager = runtime.of_new(&session.session);
            let place = place
                .for_session(session.blobs.clone())
                .command_tasks(Arc::new(TaskCommands(manager.clone())));
            let mut built_in = robota_tools::tools(&place);
            if process_tool {
                built_in.push(Arc::new(BackgroundProcess::new(&place)));
            }
            if agent_tool {
                built_in.push(runtime.agent_tool(manager));
            }
            if let Some(open) = &plans {
                built_in.push(Arc::new(EnterPlanMode::new(open.clone())));
                built_in.push(Arc::new(ExitPlanMode::new(open.clone())));
            }
            let mut tools = choice.built_in(built_in);
            // `only_tools` names built-in tools. What the caller adds besides is offered in any
            // case, unless a rule denies it or the agent of the conversation does not have it.
            let mut more = choice.more.clone();
            more.extend(command_tools(&commands, &open, &session.session));
            more.retain(|tool| choice.may_add(&tool.spec().name));
            tools.extend(more);
            let denied = |name: &str| choice.policy.denies_tool(name) || choice.limits.denies(name);
            tools.extend(conversation_tools.iter().filter(|it| !denied(&it.spec().name)).cloned());
            let _ = offered.todos.set(place.todos().clone());
            // A fork of the session has the same tools.
            offered.readers.add(&session.session, &tools);
            let _ = offered.tools.set(tools.iter().map(|tool| tool.spec().clone()).collect());
            tools
        };
        let model = self.model;
        let builder = Session::builder(model.provider.clone(), model.model.clone());
        let builder = self.plugins.into_iter().fold(builder, SessionBuilder::plugin);
        builder
            .system(context.system.as_str())
            // The list of sessions selects by this text, so it is the canonical path.
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
                // A client shows that the limit was reached; a further call for a summary would
                // cost more than the user allowed.
                config.turn.at_limit = AtLimit::Stop;
                config.compact_instructions.clone_from(&context.compact_instructions);
                apply_settings(&project.settings.values, config);
            })
    }
}

/// Returns whether hooks of the settings or of a plugin decide about questions of MCP servers.
fn has_elicitation_hooks(project: &Project) -> bool {
    let decides = |event| matches!(event, HookEvent::Elicitation | HookEvent::ElicitationResult);
    let mut of_settings = project.settings.hooks.keys().filter_map(|name| name.parse().ok());
    let plugins = project.plugins.active().filter(|_| !project.settings.managed_hooks_only);
    let mut of_plugins = plugins.flat_map(|plugin| plugin.hooks().0);
    project.settings.values.disable_all_hooks != Some(true)
        && (of_settings.any(decides) || of_plugins.any(|(event, _)| decides(event)))
}

/// Returns what counts the model calls of hooks: in the journal, once the session is open.
fn count_hooks(open: &OpenSessions, id: &SessionId, budget: &BudgetGuard) -> OnHookUsage {
    let (open, id, budget) = (open.clone(), id.clone(), budget.clone());
    Arc::new(move |model, usage| match open.get(&id) {
        Some(session) => {
            let model = model.to_owned();
            // Does not wait: the session's task may be waiting for this hook.
            drop(tokio::spawn(async move {
                // Fails only if the session has ended; then the call is not counted.
                let _ = session.session().journal().record_model_call(model, Some(usage)).await;
            }));
        }
        None => budget.count(model, usage),
    })
}

/// Remembers parts of the tools that sessions were given.
struct Offered {
    tools: Arc<OnceLock<Vec<ToolSpec>>>,
    /// The to-do list of the session itself, which is made before its forks.
    todos: Arc<OnceLock<Todos>>,
    readers: Readers,
}

/// Returns how hard the model thinks. An effort of the caller wins over that of the settings.
pub(crate) fn effort_of(model: &ModelSetup, settings: &SettingsFile) -> Option<String> {
    model.effort.clone().or_else(|| settings.effort_level.clone())
}

/// Applies settings that change the turns of a session.
pub(crate) fn apply_settings(settings: &SettingsFile, config: &mut SessionConfig) {
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
pub(crate) struct ToolChoice {
    only: Option<Vec<String>>,
    /// Those of the agent that the conversation runs as.
    limits: ToolLimits,
    more: Vec<Arc<dyn Tool>>,
    asks_user: bool,
    /// A tool that it denies is not offered.
    policy: Policy,
    pub(crate) read_only: bool,
}

impl ToolChoice {
    /// Returns the built-in tools that are offered.
    fn built_in(&self, mut tools: Vec<Arc<dyn Tool>>) -> Vec<Arc<dyn Tool>> {
        tools.retain(|tool| {
            let spec = tool.spec();
            let named = self.only.as_ref().is_none_or(|only| only.contains(&spec.name));
            // In a read-only sandbox commands cannot change files; the file tools, which run outside
            // of it, must not do it for the model.
            (!self.read_only || spec.class != Class::Modify)
                && (self.asks_user || spec.name != ASK_USER)
                && named
                && self.may_add(&spec.name)
        });
        tools
    }

    /// Returns whether the rules and the agent of the conversation leave a tool. The caller's names
    /// replace those of the agent, but not what the agent denies.
    fn may_add(&self, name: &str) -> bool {
        let named = self.only.as_ref().is_some_and(|only| only.iter().any(|it| it == name));
        let left = if named { !self.limits.denies(name) } else { self.limits.allows(name) };
        left && !self.policy.denies_tool(name)
    }
}

/// Returns the web search service: SearXNG at `SEARXNG_URL`, else Brave with `BRAVE_API_KEY`.
fn searcher(environment: &robota_config::ProgramEnvironment) -> Option<Arc<dyn Searcher>> {
    let set = |name| environment.get(name).filter(|value| !value.is_empty());
    match (set("SEARXNG_URL"), set("BRAVE_API_KEY")) {
        // A server of one's own is preferred to a paid service.
        (Some(base), _) => Some(Arc::new(Searxng::new(base))),
        (None, Some(key)) => Some(Arc::new(Brave::new(key))),
        (None, None) => None,
    }
}

/// Returns the limits within which the files that commands change are recorded.
fn capture_limits(settings: &SettingsFile) -> Option<CaptureLimits> {
    let mut limits = CaptureLimits::default();
    if let Some(files) = settings.file_checkpointing_max_files {
        limits.entries = usize::try_from(files).unwrap_or(usize::MAX);
    }
    settings.file_checkpointing_enabled.unwrap_or(true).then_some(limits)
}
