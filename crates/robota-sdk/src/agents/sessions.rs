//! Opens the sessions of agents.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

use async_trait::async_trait;
use robota_config::ContextReader;
use robota_config::agents::{AgentDefinition, AgentModel};
use robota_core::approve::Approver;
use robota_core::catalogue::Catalogue;
use robota_core::event::{Envelope, SpawnedBy};
use robota_core::gate::{Gate as _, Restrictions};
use robota_core::hook::Hooks;
use robota_core::ids::SessionId;
use robota_core::permission::{Class, Mode};
use robota_core::redact::Redactor;
use robota_core::task::{TaskError, TaskErrorCategory};
use robota_core::tool::{Tool, ToolScope};
use robota_exec::SessionVariables;
use robota_policy::List;
use robota_runtime::{AgentJob, AgentSession, AgentSessions};
use robota_session::{Callbacks, PolicyGate, Resume, Session, SessionBuilder, WeakSession};
use robota_tools::{ASK_USER, PolicyAccessCheck, ToolWorkspace};
use serde::{Deserialize, Serialize};

use super::approvals::AgentApprover;
use super::hooks::hook_owner;
use super::preload::Preloaded;
use super::servers::AgentServers;
use super::{AgentParts, AgentPermissions, ToolHooks, ToolLimits, agent_mode, prompt, tools};
use crate::budget::BudgetGuard;
use crate::context::{self, NestedContext};
use crate::interactive::OpenSessions;
use crate::interactive::compose::{apply_settings, effort_of};
use crate::processes;
use crate::project::{self, Project};
use crate::settings_hooks::{self, HookParts};
use crate::skills::OwnHooks;
use crate::transcript::SessionTranscript;

/// What an agent has from the session that starts it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ParentFacts {
    /// The session that started the agent; the journal of the agent refers to it.
    pub(crate) session: SessionId,
    /// Its mode at the time of the start; later changes do not reach an agent that runs.
    pub(crate) mode: Mode,
    /// The rules that the user allowed for it.
    pub(crate) allowed: Vec<String>,
    /// The rules that deny calls or require approval, of the session and of its running turn.
    #[serde(default)]
    pub(crate) restrictions: Restrictions,
    /// The folders of its workspace besides the working folder.
    #[serde(default)]
    pub(crate) folders: Option<Vec<PathBuf>>,
}

impl ParentFacts {
    /// Returns the facts of an open session.
    pub(super) fn of(open: &OpenSessions, session: &SessionId) -> Result<Self, TaskError> {
        let ended = || TaskError::new(TaskErrorCategory::Start, "the session has ended");
        let parent = open.get(session).ok_or_else(ended)?;
        let permissions = parent.session().permissions();
        let (mode, allowed) = (permissions.mode(), permissions.session_allowed());
        let (restrictions, folders) = (permissions.restrictions(), permissions.folders());
        Ok(Self { session: session.clone(), mode, allowed, restrictions, folders })
    }
}

/// Opens sessions for the agents of one session.
pub(crate) struct SessionAgents {
    pub(crate) parts: Arc<AgentParts>,
    pub(crate) parent: SessionId,
}

#[async_trait]
impl AgentSessions for SessionAgents {
    async fn open(&self, job: &AgentJob) -> Result<AgentSession, TaskError> {
        let definition = self.parts.definition_for(&job.work)?;
        Ok(AgentSession { session: self.agent(job, definition)?.open().await? })
    }
}

impl SessionAgents {
    fn agent(&self, job: &AgentJob, definition: AgentDefinition) -> Result<NewAgent, TaskError> {
        let parts = &self.parts;
        let approver = AgentApprover {
            open: parts.open.clone(),
            parent: self.parent.clone(),
            task: job.task.clone(),
            agent: definition.name.clone(),
            folder: job.work.cwd.clone(),
        };
        Ok(NewAgent {
            parts: parts.clone(),
            parent: ParentFacts::of(&parts.open, &self.parent)?,
            approver: Arc::new(approver),
            job: parts.with_model_of_user(job),
            preloaded: parts.preload(&definition),
            definition,
        })
    }

    /// Writes the end of an agent whose process ended without doing so: its calls get results, and its
    /// journal the reason. The process may have ended before it created the journal.
    pub(crate) async fn close(&self, job: &AgentJob, reason: &str) {
        let mut job = job.clone();
        job.work.resume = Some(job.session.clone());
        // The end is written also if the definition is gone, such as one that an earlier run was given.
        let definition = match self.parts.definition(&job.work.agent) {
            Ok(definition) => definition.clone(),
            Err(_) => match self.parts.definitions.all().iter().next() {
                Some(other) => {
                    AgentDefinition { name: job.work.agent.clone(), hooks: None, ..other.clone() }
                }
                None => return,
            },
        };
        let Ok(agent) = self.agent(&job, definition) else { return };
        let resume = Resume { deliver: false, ..Resume::default() };
        // Without MCP servers: nothing is called any more.
        // A process that was ended before it created its journal left nothing to close.
        let Ok(session) = agent.open_with(&AgentServers::default(), resume).await else { return };
        let _ = session.shutdown(reason).await;
    }
}

/// The session of an agent that is about to be opened, in this process or in one of its own.
pub(super) struct NewAgent {
    pub(super) parts: Arc<AgentParts>,
    pub(super) parent: ParentFacts,
    /// Answers the questions that are not denied.
    pub(super) approver: Arc<dyn Approver>,
    pub(super) job: AgentJob,
    pub(super) definition: AgentDefinition,
    pub(super) preloaded: Preloaded,
}

impl NewAgent {
    /// Creates the session, or resumes it.
    pub(super) async fn open(self) -> Result<Session, TaskError> {
        let only = self.job.work.tools.as_deref();
        let servers = self.parts.servers(&self.definition, only, &self.project()).await;
        self.open_with(&servers, Resume::default()).await
    }

    /// Returns the project in the folder of the agent: in a worktree its rules apply to the paths there.
    fn project(&self) -> Arc<Project> {
        match &self.job.work.cwd {
            None => self.parts.project.clone(),
            Some(cwd) => Arc::new(self.parts.project.in_folder(cwd)),
        }
    }

    async fn open_with(self, servers: &AgentServers, resume: Resume) -> Result<Session, TaskError> {
        let start = |text: String| TaskError::new(TaskErrorCategory::Start, text);
        let project = self.project();
        let id = &self.job.session;
        let budget = self.parts.budget.of_agent();
        let nested = self.nested(&project);
        let mut builder = self.builder(&project, id, servers, &budget, nested).map_err(start)?;
        for source in servers.sources() {
            builder = builder.tool_source(source);
        }
        let store = self.parts.store.clone();
        let session = match &self.job.work.resume {
            None => builder.create(store, Some(id.clone())).await,
            Some(_) => builder.resume(store, id, resume).await,
        };
        let session = session.map_err(|error| start(error.to_string()))?;
        // Weak: the watch must not keep a session open that its task has left.
        let weak = WeakSession::from(&session);
        budget.stop_in_time(move || weak.upgrade().into_iter().collect());
        Ok(session)
    }

    fn builder(
        &self,
        project: &Arc<Project>,
        id: &SessionId,
        servers: &AgentServers,
        budget: &BudgetGuard,
        nested: Option<NestedContext>,
    ) -> Result<SessionBuilder, String> {
        let Self { parts, parent, job, definition, .. } = self;
        let mode = agent_mode(parent.mode, definition.permission_mode);
        let mut gate = PolicyGate::new(project.policy.clone(), project::paths());
        for limits in [&ToolLimits::of(definition), &parts.tool_limits] {
            limits.limit_calls(&mut gate, &*parts.on_notice);
        }
        let own = tools::denied_calls(definition);
        // What the conversation may not do, it may not have done by an agent either.
        for rule in own.iter().chain(parts.tool_limits.denied_calls()) {
            gate.add_session_rule(List::Deny, rule).map_err(|error| error.to_string())?;
        }
        if parts.permissions.inherits_rules() {
            // Copied: what the user allows later for the session does not reach a running agent.
            gate.remember(&parent.allowed)?;
        }
        if let AgentPermissions::PreApproved(rules) = &parts.permissions {
            gate.remember(rules)?;
        }
        gate.remember(&job.work.allow)?;
        gate.remember(&self.preloaded.allow)?;
        let gate = Arc::new(gate);
        let folders = match parts.open.get(&parent.session) {
            Some(parent) => {
                let follower: Weak<PolicyGate> = Arc::downgrade(&gate);
                let permissions = parent.session().permissions();
                // Before the permissions are read: a change meanwhile must not be missed.
                permissions.pass_changes_to(follower);
                permissions.restrictions().apply(&*gate)?;
                // A change between the two would be undone, so they are read until they stay the same.
                let mut given = None;
                while let folders = permissions.folders()
                    && folders != given
                {
                    if let Some(folders) = folders.clone() {
                        use_folders(&gate, folders)?;
                    }
                    given = folders;
                }
                None
            }
            // In a process of its own, where the session that started the agent is not open.
            None => {
                if let Some(folders) = parts.sandbox_folders.clone() {
                    gate.on_folders(move |added| folders.follow(added));
                }
                parent.restrictions.apply(&*gate)?;
                parent.folders.clone()
            }
        };
        if let Some(folders) = folders {
            use_folders(&gate, folders)?;
        }
        let model = model_of(job, definition, &parts.model.model);
        if model != parts.model.model {
            let available = &project.settings.available_models;
            available.check(None, &model).map_err(|error| error.to_string())?;
        }
        let redactor = project.redactor(&parts.model.secrets).map_err(|error| error.to_string())?;
        let setup = parts.model.clone();
        let effort = self.own_effort();
        let spawned_by =
            SpawnedBy { session: parent.session.clone(), turn: None, call: job.call.clone() };
        let cwd = project.cwd().to_owned();
        let of_servers = servers.instructions();
        let system = prompt::compose(
            definition,
            (&parts.instructions, &of_servers),
            &cwd,
            (job.work.worker, &self.preloaded.parts),
        );
        // What hooks of the agent set is not for the session that started it.
        let variables = parts.place.variables().copied();
        let mut builder = Session::builder(setup.provider.clone(), model)
            .system(system)
            .cwd(cwd.display().to_string())
            .name(format!("{}: {}", definition.name, job.task))
            .mode(mode)
            .gate(gate.clone())
            .approvals(parts.permissions.approvals(self.approver.clone()))
            .tool_factory(self.tools(project, &variables))
            .idle_timeout(setup.idle_timeout)
            // Zero is no limit.
            .max_rounds(definition.max_turns.unwrap_or(0))
            .spawned_by(spawned_by)
            .crash_cleanup(processes::crash_cleanup(&cwd))
            .callbacks(self.callbacks(budget.clone(), nested.clone()))
            .configure(|config| {
                setup.apply(config);
                apply_settings(&project.settings.values, config);
                if let Some(effort) = effort {
                    config.options.insert("effort".to_owned(), effort.into());
                }
                config.redactor = redactor.clone();
            });
        let own_budget: Arc<dyn Hooks> =
            Arc::new(ToolHooks { hooks: Arc::new(budget.clone()), folder: None });
        for hooks in std::iter::once(own_budget).chain(self.hooks(
            project,
            id,
            (gate, redactor),
            (variables, servers),
        )) {
            builder = builder.hooks(hooks);
        }
        if let Some(nested) = nested {
            builder = builder.hooks(nested);
        }
        if let Some(late) = servers.late_instructions(of_servers) {
            builder = builder.hooks(late);
        }
        Ok(builder)
    }

    /// Returns what gives the agent the instructions of subfolders; none if it has no instructions.
    fn nested(&self, project: &Project) -> Option<NestedContext> {
        self.definition.instructions.then(|| {
            let reader = ContextReader::new(&project.places);
            // The problems of the files were reported for the session. A worktree has files of its
            // own, so that they are read here.
            NestedContext::of_agent(context::instructions(project, &reader, &mut Vec::new()))
        })
    }

    /// Returns what counts the events of the agent into its own budget and that of its parent.
    fn callbacks(&self, budget: BudgetGuard, nested: Option<NestedContext>) -> Callbacks {
        let (meter, observer) = (self.parts.budget.child(), self.parts.observer.clone());
        Callbacks::new().on_event(Arc::new(move |envelope: &Arc<Envelope>| {
            budget.observe(envelope);
            meter.observe(envelope);
            if let Some(nested) = &nested {
                nested.observe(envelope);
            }
            if let Some(observer) = &observer {
                observer(envelope);
            }
        }))
    }

    /// Returns where the tools of the agent work.
    fn place(&self, project: &Project, variables: &SessionVariables) -> ToolWorkspace {
        let place = self.parts.place.clone().without_questions();
        let place = place.session_variables(variables.clone());
        // Rules name paths below the working folder, so another folder needs its own check.
        if self.job.work.cwd.is_none() {
            return place;
        }
        let policy = Arc::new(project.policy.clone());
        let rules = Arc::new(PolicyAccessCheck::new(policy, project::paths()));
        place.in_folder(project.cwd(), rules)
    }

    fn tools(
        &self,
        project: &Arc<Project>,
        variables: &SessionVariables,
    ) -> Arc<dyn robota_core::tool::ToolFactory> {
        let Self { parts, job, definition, .. } = self;
        let parts = parts.clone();
        let place = self.place(project, variables);
        let (definition, only) = (definition.clone(), job.work.tools.clone());
        Arc::new(move |session: &ToolScope| -> Vec<Arc<dyn Tool>> {
            let mut tools = parts.built_in(&place.for_session(session.blobs.clone()));
            tools.extend(parts.more_tools.iter().cloned());
            // After all tools are collected: a rule denies tools of plugins and services too.
            tools.retain(|tool| {
                let name = tool.spec().name.as_str();
                !parts.project.policy.denies_tool(name) && !parts.tool_limits.denies(name)
            });
            tools::filter(&mut tools, &definition, only.as_deref());
            tools
        })
    }

    /// Returns the effort that the agent has whatever that of the session is.
    fn own_effort(&self) -> Option<String> {
        self.job.work.effort.clone().or_else(|| self.definition.effort.clone())
    }

    fn hooks(
        &self,
        project: &Arc<Project>,
        id: &SessionId,
        (gate, redactor): (Arc<PolicyGate>, Redactor),
        (variables, servers): (SessionVariables, &AgentServers),
    ) -> Vec<Arc<dyn Hooks>> {
        let Self { parts, job, definition, .. } = self;
        let budget = parts.budget.clone();
        let files = Arc::new(Mutex::new(project.settings.named_files.clone()));
        let place = self.place(project, &variables).for_session(parts.store.blobs(id));
        let mut tools = parts.built_in(&place);
        tools.retain(|tool| {
            let name = tool.spec().name.as_str();
            !project.policy.denies_tool(name) && !parts.tool_limits.denies(name)
        });
        let own = HookParts {
            project,
            session: id,
            supervisor: &parts.supervisor,
            environment: &parts.environment,
            model: &parts.model,
            tools,
            gate,
            redactor,
            mode: agent_mode(project.settings.permissions.mode, definition.permission_mode),
            effort: self.own_effort().or_else(|| effort_of(&parts.model, &project.settings.values)),
            variables,
            transcript: Arc::new(SessionTranscript::new(
                parts.store.clone(),
                id.clone(),
                project.cwd().display().to_string(),
            )),
            observer: parts.hook_observer.clone(),
            on_usage: Arc::new(move |model, usage| budget.count(model, usage)),
            files: files.clone(),
            servers: servers.all(),
        };
        // The problems of the settings were reported for the session.
        let runner = settings_hooks::runner(own, |_| {}, &mut Vec::new());
        runner.update_context(|context| {
            context.agent_id = Some(job.task.to_string());
            context.agent_type = Some(definition.name.clone());
        });
        let runner = Arc::new(runner);
        if let Some(hooks) = &definition.hooks {
            let on_notice = parts.on_notice.clone();
            let own = OwnHooks { runner: runner.clone(), files, on_notice };
            own.add(project, &hook_owner(definition), hooks);
        }
        let settings: Arc<dyn Hooks> = Arc::new(ToolHooks { hooks: runner, folder: None });
        parts.program_hooks(&job.work).into_iter().chain([settings]).collect()
    }
}

impl AgentParts {
    /// Returns the built-in tools that an agent can have in a place.
    fn built_in(&self, place: &ToolWorkspace) -> Vec<Arc<dyn Tool>> {
        let mut tools = robota_tools::tools(place);
        tools.retain(|tool| {
            let spec = tool.spec();
            let offered = match &self.only_tools {
                Some(only) => only.contains(&spec.name),
                None => self.tool_limits.allows(&spec.name),
            };
            // No user watches an agent.
            spec.name != ASK_USER && (!self.read_only || spec.class != Class::Modify) && offered
        });
        tools
    }
}

/// Gives an agent the folders of the session that starts it.
fn use_folders(gate: &PolicyGate, mut folders: Vec<PathBuf>) -> Result<(), String> {
    gate.set_folders(&folders).or_else(|_| {
        // The session keeps a folder that was removed since it was added; a sandbox cannot begin with it.
        folders.retain(|folder| folder.is_dir());
        gate.set_folders(&folders)
    })
}

/// Returns the model: that of the call, of the definition, or of the parent.
fn model_of(job: &AgentJob, definition: &AgentDefinition, parent: &str) -> String {
    let called = job.work.model.as_deref().map(AgentModel::parse);
    let model = called.as_ref().unwrap_or(&definition.model);
    model.resolve(parent, Catalogue::builtin()).to_owned()
}
