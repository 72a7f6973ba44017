//! Agents in processes of their own: what the process is started with, and what it does.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use robota_config::agents::AgentDefinition;
use robota_core::gate::{Gate, Grant, Judgement, PermissionChange, Restrictions, Source};
use robota_core::hook::{HookAnswer, HookPoint, HookReply, Hooks, PreToolDecision};
use robota_core::ids::SessionId;
use robota_core::journal::JournalStore;
use robota_core::message::ToolUse;
use robota_core::permission::Verdict;
use robota_core::task::{TaskError, TaskErrorCategory};
use robota_core::tool::ToolSpec;
use robota_exec::{CommandSpec, ReaperProgram, SessionVariables};
use robota_runtime::{
    AgentJob, AgentOutput, AgentProcesses, AgentReply, AgentRequest, FromAgent, NewAgentProcess,
    ParentRequests, ToAgent, serve_agent,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;

use super::approvals::AgentApprover;
use super::preload::Preloaded;
use super::servers::names_server;
use super::sessions::{NewAgent, ParentFacts};
use super::{AgentCatalogue, AgentParts, AgentPermissions, SessionAgents, ToolLimits};
use crate::budget::{Budget, BudgetGuard};
use crate::error::SdkError;
use crate::interactive::InteractiveSessionBuilder;
use crate::mcp::{self, McpChoice, McpSetup, SessionMcp};
use crate::model_setup::ModelSetup;
use crate::notice::Notice;
use crate::processes;
use crate::project::Project;
use crate::sandbox;

/// The program that runs agents in processes of their own.
///
/// It is started with its arguments and an environment without secrets. The first line of its
/// standard input is a [`ToAgent::Start`] with an [`AgentStart`]; then it opens an [`AgentProcess`].
///
/// ```
/// use robota_sdk::AgentProgram;
///
/// let program = AgentProgram {
///     program: "my-program".into(),
///     args: vec!["agent".into()],
///     cwd: None,
///     setup: serde_json::json!({"vendor": "anthropic"}),
/// };
/// assert_eq!(program.args, ["agent"]);
/// ```
#[derive(Clone)]
pub struct AgentProgram {
    /// The executable; the `robota` program passes its own path.
    pub program: PathBuf,
    /// Its arguments, which everybody can read.
    pub args: Vec<OsString>,
    /// The folder that it is started in; none for the working folder of the session.
    pub cwd: Option<PathBuf>,
    /// What it needs to know about settings, model and store, credentials included. Only the process
    /// receives it.
    pub setup: Value,
}

/// What the process of an agent is started with.
///
/// ```
/// use robota_sdk::AgentStart;
///
/// /// Reads the first line of the standard input.
/// fn read(line: &str) -> serde_json::Result<AgentStart> {
///     serde_json::from_str(line)
/// }
/// assert!(read("{}").is_err());
/// ```
#[derive(Clone, Serialize, Deserialize)]
pub struct AgentStart {
    /// What the program gave in [`AgentProgram::setup`].
    pub setup: Value,
    /// The model that the session uses at the start of the agent. It replaces that of the setup.
    pub model: String,
    /// The level of effort that the session has at the start of the agent; none for the
    /// default.
    pub effort: Option<String>,
    job: AgentJob,
    definition: AgentDefinition,
    parent: ParentFacts,
    permissions: AgentPermissions,
    only_tools: Option<Vec<String>>,
    #[serde(default)]
    tool_limits: ToolLimits,
    instructions: String,
    /// The points at which each of the program's hooks runs.
    hooks: Vec<Vec<HookPoint>>,
    /// Whether the parent observes the hooks that run in the process.
    #[serde(default)]
    observes_hooks: bool,
    preloaded: Preloaded,
    mcp_choice: McpChoice,
}

/// Starts agents of a session in processes of their own.
pub(crate) struct SessionAgentProcesses {
    pub(crate) parts: Arc<AgentParts>,
    pub(crate) parent: SessionId,
    pub(crate) program: AgentProgram,
}

#[async_trait]
impl AgentProcesses for SessionAgentProcesses {
    async fn prepare(&self, job: &AgentJob) -> Result<NewAgentProcess, TaskError> {
        let parts = &self.parts;
        let points = |hooks: &Arc<dyn Hooks>| {
            HookPoint::ALL.into_iter().filter(|point| hooks.has_point(*point)).collect()
        };
        let definition = parts.definition_for(&job.work)?;
        let of_host = parts.mcp.as_ref().map(SessionMcp::of_host).unwrap_or_default();
        // Refused now, with the cause: in the other process the tools would simply be missing.
        if let Some(server) = of_host.iter().find(|server| names_server(&definition, server)) {
            let text = format!(
                "the agent `{}` runs in a process of its own, which does not have the MCP server \
                 `{server}`: the host has added that to this session only",
                definition.name
            );
            return Err(TaskError::new(TaskErrorCategory::Start, text));
        }
        let (send_changes, changes) = mpsc::unbounded_channel();
        let forwarded: Arc<dyn Gate> = Arc::new(ForwardedChanges(send_changes));
        let open = parts
            .open
            .get(&self.parent)
            .ok_or_else(|| TaskError::new(TaskErrorCategory::Start, "the session has ended"))?;
        // Before the permissions are read: a change meanwhile must not be missed.
        open.session().permissions().pass_changes_to(Arc::downgrade(&forwarded));
        let start = AgentStart {
            setup: self.program.setup.clone(),
            model: parts.model.model.clone(),
            effort: parts.model.effort.clone(),
            job: parts.with_model_of_user(job),
            preloaded: parts.preload(&definition),
            definition,
            // Now, and not when the session was opened: the mode may have changed.
            parent: ParentFacts::of(&parts.open, &self.parent)?,
            permissions: parts.permissions.clone(),
            only_tools: parts.only_tools.clone(),
            tool_limits: parts.tool_limits.clone(),
            instructions: parts.instructions.clone(),
            hooks: parts.program_hooks(&job.work).iter().map(points).collect(),
            mcp_choice: parts.mcp_choice.clone(),
            observes_hooks: parts.hook_observer.is_some(),
        };
        let start = serde_json::to_value(start)
            .map_err(|error| TaskError::new(TaskErrorCategory::Start, error.to_string()))?;
        let cwd = self.program.cwd.clone().unwrap_or_else(|| parts.project.cwd().to_owned());
        let spec = CommandSpec::new(self.program.program.as_os_str(), cwd)
            .args(self.program.args.clone())
            .env(parts.environment.clone());
        let (meter, budget, observer) =
            (parts.budget.child(), parts.budget.clone(), parts.observer.clone());
        let own_budget = parts.budget.of_agent();
        let (stop, stops) = mpsc::unbounded_channel();
        // A command without output, or a model that does not answer, causes no event.
        own_budget.call_in_time(move |reason| drop(stop.send(reason)));
        // It returns why the process must stop: the budgets of the agent and of the session, which the
        // process itself cannot see.
        let observer = Box::new(move |envelope: &Arc<_>| {
            // The session passes changes on for as long as this exists: as long as the agent runs.
            let _passes_changes = &forwarded;
            own_budget.observe(envelope);
            meter.observe(envelope);
            if let Some(observer) = &observer {
                observer(envelope);
            }
            own_budget.exhausted().or_else(|| budget.exhausted())
        });
        let hooks = parts.hook_observer.clone();
        Ok(NewAgentProcess { spec, start, observer, stops, changes, hooks })
    }

    async fn reply(&self, job: &AgentJob, request: AgentRequest) -> AgentReply {
        match request {
            AgentRequest::Question(question) => {
                let approver = AgentApprover {
                    open: self.parts.open.clone(),
                    parent: self.parent.clone(),
                    task: job.task.clone(),
                    agent: job.work.agent.clone(),
                    folder: job.work.cwd.clone(),
                };
                AgentReply::Answer(robota_core::approve::Approver::ask(&approver, question).await)
            }
            AgentRequest::Hook { hooks, input } => {
                AgentReply::Hook(match self.parts.program_hooks(&job.work).get(hooks) {
                    Some(hooks) => hooks.run(input).await,
                    // A hook that cannot run must not allow a call, and only a faulty agent names
                    // one that does not exist.
                    None => HookReply::from(HookAnswer::PreToolUse(PreToolDecision::Deny {
                        reason: format!("the agent names hooks {hooks}, which do not exist"),
                    })),
                })
            }
        }
    }

    async fn settle(&self, job: &AgentJob, reason: &str) {
        let agents = SessionAgents { parts: self.parts.clone(), parent: self.parent.clone() };
        agents.close(job, reason).await;
    }
}

/// Passes changes of the session's permissions on to the process of an agent, which judges its calls
/// itself.
struct ForwardedChanges(mpsc::UnboundedSender<PermissionChange>);

#[async_trait]
impl Gate for ForwardedChanges {
    async fn judge(&self, _call: &ToolUse, tool: &ToolSpec) -> Judgement {
        // No call gets here. One that did must not run.
        Judgement {
            verdict: Verdict::Deny,
            class: tool.class,
            reason: "the calls of the agent are judged in its process".to_owned(),
            source: Source::Rule,
            rules: Vec::new(),
            grant: Grant::Full,
        }
    }

    fn restrict(&self, verdict: Verdict, rules: &[String]) -> Result<(), String> {
        let mut restrictions = Restrictions::default();
        match verdict {
            Verdict::Deny => restrictions.deny = rules.to_vec(),
            Verdict::Ask => restrictions.ask = rules.to_vec(),
            Verdict::Allow => return Err("a restriction cannot allow".to_owned()),
        }
        // Fails only if the agent has ended.
        let _ = self.0.send(PermissionChange::Restrict(restrictions));
        Ok(())
    }

    fn set_folders(&self, folders: &[PathBuf]) -> Result<(), String> {
        // Fails only if the agent has ended.
        let _ = self.0.send(PermissionChange::Folders(folders.to_vec()));
        Ok(())
    }
}

/// The process of an agent: it opens the session of the agent, and works until its input ends.
///
/// ```
/// use robota_runtime::{AgentOutput, ToAgent};
/// use robota_sdk::AgentProcess;
///
/// async fn work(process: AgentProcess, lines: tokio::sync::mpsc::UnboundedReceiver<ToAgent>) {
///     process.serve(lines, AgentOutput::new(|line| drop(line))).await;
/// }
/// ```
pub struct AgentProcess {
    start: AgentStart,
    parts: AgentParts,
}

impl AgentProcess {
    /// Prepares the process with the settings, the model and the store of the parent.
    ///
    /// # Errors
    /// If the sandbox of the settings is not available.
    pub async fn new(
        start: AgentStart,
        project: Arc<Project>,
        mut model: ModelSetup,
        store: Arc<dyn JournalStore>,
        reaper: Option<ReaperProgram>,
    ) -> Result<Self, SdkError> {
        // The parent may have changed its model since the settings were read.
        model.model.clone_from(&start.model);
        model.effort.clone_from(&start.effort);
        let cwd = project.cwd().to_owned();
        let supervisor = processes::supervisor(&cwd, reaper);
        let environment = processes::command_environment(&project.settings, &model.secrets);
        let environment = processes::with_plugins(environment, &project.plugins);
        let fences = sandbox::prepare(sandbox::request(&project), &environment).await?;
        let builder = InteractiveSessionBuilder::new(project.clone(), model.clone());
        let place = builder
            .place(&fences, supervisor.clone(), &environment)
            .session_variables(SessionVariables::default());
        let sandbox_folders = fences.follow_folders(&project).map(Arc::new);
        // Decided by the sandbox of this process, which reads the same settings.
        let read_only = builder.tool_choice(&fences).read_only;
        // The parent has reported the problems of the settings.
        let on_notice: Arc<dyn Fn(Notice) + Send + Sync> = Arc::new(|_| {});
        let setup = McpSetup::from(start.mcp_choice.clone());
        let options = mcp::options(&project, &supervisor, &environment, on_notice.clone());
        let mcp = SessionMcp::start(&project, &setup, options, &mut Vec::new())
            .map(|mcp| mcp.limited(start.tool_limits.clone()));
        if let Some(mcp) = &mcp {
            mcp.ready(mcp::DEFAULT_WAIT).await;
        }
        let parts = AgentParts {
            definitions: AgentCatalogue::of([start.definition.clone()]),
            project,
            model,
            store,
            place,
            sandbox_folders,
            only_tools: start.only_tools.clone(),
            tool_limits: start.tool_limits.clone(),
            read_only,
            more_tools: Vec::new(),
            instructions: start.instructions.clone(),
            // The parent counts and limits: it sees every event of this process.
            budget: BudgetGuard::new(Budget::default(), on_notice.clone()),
            hooks: Vec::new(),
            observer: None,
            hook_observer: None,
            permissions: start.permissions.clone(),
            supervisor,
            environment,
            open: crate::interactive::OpenSessions::default(),
            // Agents do not start agents.
            program: None,
            own_processes: false,
            skills: None,
            mcp,
            mcp_choice: start.mcp_choice.clone(),
            on_notice,
        };
        Ok(Self { start, parts })
    }

    /// Works on the prompts of the parent until the input ends. Then the session is closed and all
    /// commands have ended.
    pub async fn serve(self, lines: mpsc::UnboundedReceiver<ToAgent>, output: AgentOutput) {
        let Self { start, mut parts } = self;
        let requests = ParentRequests::new(output.clone());
        let hooks = start.hooks.into_iter().enumerate();
        // The hooks run in the parent; this process has only their numbers.
        parts.hooks = hooks.map(|(index, points)| requests.hooks(index, points)).collect();
        parts.hook_observer = start.observes_hooks.then(|| requests.hook_observer());
        let (supervisor, mcp) = (parts.supervisor.clone(), parts.mcp.clone());
        let new = NewAgent {
            parts: Arc::new(parts),
            parent: start.parent,
            approver: Arc::new(requests.clone()),
            job: start.job,
            definition: start.definition,
            preloaded: start.preloaded,
        };
        match new.open().await {
            Err(error) => output.send(&FromAgent::Failed { error }),
            Ok(session) => {
                if let Err(error) = serve_agent(&session, lines, &requests).await {
                    let error = TaskError::new(TaskErrorCategory::Runner, error.to_string());
                    output.send(&FromAgent::Failed { error });
                }
            }
        }
        if let Some(mcp) = mcp {
            // Before the supervisor, so that servers can end on their own.
            mcp.servers.close().await;
        }
        supervisor.shutdown().await;
    }
}
