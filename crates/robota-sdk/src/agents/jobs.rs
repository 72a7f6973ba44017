//! Starts agents as tasks of a session, for the tool, the commands and programs.

use std::path::PathBuf;
use std::sync::Arc;

use robota_config::agents::Agents;
use robota_core::event::{Envelope, Event};
use robota_core::ids::{CallId, GroupId, SessionId, TaskId};
use robota_core::redact::Redactor;
use robota_core::task::{Isolation, TaskKind, TaskMode, TaskState, TaskStatus, WaitPolicy};
use robota_runtime::{AgentJob, AgentWork, TaskManager, TaskManagerError, TaskRequest, TaskWork};
use robota_session::replay;
use serde::Serialize;

use super::handle::AgentHandle;
use super::{AgentParts, SessionAgents};

/// How many events of a transcript are read at once.
const BATCH: usize = 1_000;

/// An agent to run.
///
/// ```
/// use robota_sdk::{AgentRun, AgentWork};
///
/// let run = AgentRun {
///     label: "find the parser".to_owned(),
///     work: AgentWork {
///         agent: "Explore".to_owned(),
///         prompt: "Which file parses the settings?".to_owned(),
///         ..AgentWork::default()
///     },
///     ..AgentRun::default()
/// };
/// assert!(run.isolation.is_none());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentRun {
    /// What it does, in a few words.
    pub label: String,
    /// What to do, and by which agent.
    pub work: AgentWork,
    /// Where it works; none for what the definition says.
    pub isolation: Option<Isolation>,
    /// Whether it runs in a process of its own; none for what the definition or the settings say.
    pub own_process: Option<bool>,
}

/// What an agent returned.
///
/// ```
/// use robota_sdk::AgentResult;
///
/// fn show(result: &AgentResult) -> String {
///     match &result.error {
///         None => format!("{}: {}", result.label, result.output),
///         Some(error) => format!("{} failed: {error}", result.label),
///     }
/// }
/// # let _ = show;
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentResult {
    /// The id of its task; none if it was not started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<TaskId>,
    /// What it did, in a few words.
    pub label: String,
    /// Whether it ended with an answer.
    pub success: bool,
    /// Its answer; empty if it was not started.
    pub output: String,
    /// Why it failed, for people; none if it succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The worktree with its changes; none if it had none of its own, or left no changes in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree_path: Option<String>,
    /// The branch that the worktree has checked out; present together with `worktree_path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

impl AgentResult {
    pub(crate) fn of(task: TaskState) -> Self {
        let success = task.status == TaskStatus::Completed;
        let error = match (task.status, task.error) {
            (_, Some(error)) => Some(error.message),
            (TaskStatus::Cancelled, None) => Some("it was cancelled".to_owned()),
            _ => None,
        };
        let (worktree_path, branch) = task.worktree.map(|it| (it.path, it.branch)).unzip();
        Self {
            agent_id: Some(task.task),
            label: task.label,
            success,
            output: task.output,
            error,
            worktree_path,
            branch,
        }
    }

    fn not_started(label: String, error: &TaskManagerError) -> Self {
        Self {
            agent_id: None,
            label,
            success: false,
            output: String::new(),
            error: Some(error.to_string()),
            worktree_path: None,
            branch: None,
        }
    }
}

/// Starts the agents of a session.
///
/// ```
/// use robota_sdk::{AgentRun, AgentWork};
///
/// # async fn example(session: robota_sdk::InteractiveSession) {
/// if let Some(agents) = session.agent_runs() {
///     let work = AgentWork {
///         agent: "Explore".to_owned(),
///         prompt: "Which file parses the settings?".to_owned(),
///         ..AgentWork::default()
///     };
///     let run = AgentRun { label: "find the parser".to_owned(), work, ..AgentRun::default() };
///     println!("{}", agents.run(run, None).await.output);
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct AgentRuns {
    pub(crate) parts: Arc<AgentParts>,
    pub(crate) manager: TaskManager,
}

impl AgentRuns {
    /// Returns the names and descriptions of the agents.
    #[must_use]
    pub fn kinds(&self) -> Vec<(String, String)> {
        let definitions = self.parts.definitions.all().iter();
        definitions.map(|agent| (agent.name.clone(), agent.description.clone())).collect()
    }

    /// Returns the definitions of the agents, and what is wrong with their files.
    #[must_use]
    pub fn definitions(&self) -> &Agents {
        self.parts.definitions.all()
    }

    /// Starts an agent. If this future is dropped, the agent is cancelled.
    ///
    /// # Errors
    /// If it cannot be started.
    pub async fn start(
        &self,
        run: AgentRun,
        mode: TaskMode,
        call: Option<CallId>,
    ) -> Result<AgentHandle, TaskManagerError> {
        let task = self.manager.spawn(self.request(run, mode, call)).await?;
        Ok(AgentHandle::new(self.clone(), task))
    }

    /// Returns the handle of an agent that was started, also by an earlier process.
    ///
    /// # Errors
    /// If there is no such agent.
    pub fn get(&self, task: &TaskId) -> Result<AgentHandle, TaskManagerError> {
        let state = self.manager.get(task)?;
        if state.kind != TaskKind::Agent {
            return Err(TaskManagerError::UnknownTask(task.clone()));
        }
        Ok(AgentHandle::new(self.clone(), state.task))
    }

    /// Sends text to an agent: a follow-up before its next model call, or, if it has ended, a prompt
    /// that continues its session as a new background task. Returns the task that works on it.
    ///
    /// # Errors
    /// If there is no such agent, or it cannot be continued.
    pub async fn send(&self, task: &TaskId, text: &str) -> Result<TaskId, TaskManagerError> {
        let mut state = self.manager.get(task)?;
        if state.kind == TaskKind::Agent && !state.status.is_terminal() {
            match self.manager.send(task, text) {
                // It has read its last follow-up and is about to end; then it is continued.
                Err(TaskManagerError::NoInput(_) | TaskManagerError::Ended { .. }) => {
                    state = self.manager.wait(task).await?;
                }
                sent => return sent.map(|()| task.clone()),
            }
        }
        let ended = state.status.is_terminal() && state.kind == TaskKind::Agent;
        // An agent that could not be started has the id of a session that was not created.
        let created = match state.session.as_ref().filter(|_| ended) {
            Some(session) => self.parts.store.head(session).await.is_ok(),
            None => false,
        };
        let (Some(session), true) = (state.session.clone(), created) else {
            return self.manager.send(task, text).map(|()| task.clone());
        };
        // It continues in the worktree that was kept; one that was removed had no changes.
        let kept = state.worktree.as_ref().map(|worktree| PathBuf::from(&worktree.path));
        let work = AgentWork {
            agent: state.agent.clone().unwrap_or_default(),
            prompt: text.to_owned(),
            cwd: kept.filter(|path| path.is_dir()),
            // Those of the skill that it worked for.
            tools: state.limits.tools,
            deny: state.limits.deny,
            // Resumed, so that the agent still knows what it did.
            resume: Some(session),
            ..AgentWork::default()
        };
        // Lists show which of two tasks of one agent is the later one.
        let label = format!("{} (continued)", state.label);
        // Not again in a worktree of its own: a new one would not have the changes of the first
        // run.
        let isolation = Some(Isolation::None);
        let run = AgentRun { label, work, isolation, own_process: None };
        Ok(self.start(run, TaskMode::Background, None).await?.id().clone())
    }

    /// Closes the session of an agent that ran when an earlier process ended, so that its journal says
    /// so too.
    pub(crate) async fn close_interrupted(&self, parent: &SessionId, task: &TaskState) {
        let Some(session) = &task.session else { return };
        let store = &self.parts.store;
        let Ok(head) = store.head(session).await else { return };
        // Only the last event: a closed journal ends with it.
        let last = store.read(session, head.last.seq.saturating_sub(1), 1).await;
        let ended = |event: &Envelope| matches!(event.event, Event::Closed(_));
        // An agent that still ends has its journal open; it writes the end itself.
        if last.is_ok_and(|events| events.last().is_some_and(ended)) {
            return;
        }
        let job = AgentJob {
            task: task.task.clone(),
            call: task.call.clone(),
            session: session.clone(),
            work: AgentWork {
                agent: task.agent.clone().unwrap_or_default(),
                ..AgentWork::default()
            },
        };
        let agents = SessionAgents { parts: self.parts.clone(), parent: parent.clone() };
        agents.close(&job, "the process that ran the agent ended").await;
    }

    /// Returns the transcript of an agent as Markdown: its prompts, calls and answers.
    ///
    /// # Errors
    /// If there is no such agent, or its journal cannot be read.
    pub async fn transcript(&self, task: &TaskId) -> Result<String, TaskManagerError> {
        let state = self.manager.get(task)?;
        let log = |message: String| TaskManagerError::Log { task: task.clone(), message };
        let session = state.session.ok_or_else(|| log("it has no session".to_owned()))?;
        let mut events = Vec::new();
        loop {
            let after = events.last().map_or(0, |event: &Envelope| event.seq);
            let more = self.parts.store.read(&session, after, BATCH).await;
            let more = more.map_err(|error| log(error.to_string()))?;
            let done = more.len() < BATCH;
            events.extend(more);
            if done {
                break;
            }
        }
        let transcript = replay::transcript(&session, &events);
        Ok(replay::markdown(&transcript, &Redactor::default()))
    }

    /// Runs an agent to its end. If this future is dropped, the agent is cancelled.
    pub async fn run(&self, run: AgentRun, call: Option<CallId>) -> AgentResult {
        self.run_as(run, TaskMode::Foreground, call).await
    }

    /// Does the same as [`run`](Self::run). The end of a background task is reported to the model.
    pub(crate) async fn run_as(
        &self,
        run: AgentRun,
        mode: TaskMode,
        call: Option<CallId>,
    ) -> AgentResult {
        let label = run.label.clone();
        let agent = match self.start(run, mode, call).await {
            Ok(agent) => agent,
            Err(error) => return AgentResult::not_started(label, &error),
        };
        // A caller that no longer waits, such as a turn that was interrupted, wants no result.
        let guard = self.manager.cancel_on_drop([agent.id().clone()]);
        let ended = agent.result().await;
        guard.disarm();
        ended.unwrap_or_else(|error| AgentResult::not_started(label, &error))
    }

    /// Starts agents as a group. All are started before the caller waits for one. If this future is
    /// dropped, they are cancelled.
    ///
    /// # Errors
    /// If the group cannot be recorded.
    pub async fn start_all(
        &self,
        label: &str,
        runs: Vec<AgentRun>,
        policy: WaitPolicy,
        call: Option<CallId>,
    ) -> Result<(GroupId, Vec<Result<TaskId, TaskManagerError>>), TaskManagerError> {
        let mode = match policy {
            WaitPolicy::Detached | WaitPolicy::Manual => TaskMode::Background,
            WaitPolicy::WaitAll | WaitPolicy::WaitAny => TaskMode::Foreground,
        };
        self.start_group(label, runs, (mode, policy), call).await
    }

    async fn start_group(
        &self,
        label: &str,
        runs: Vec<AgentRun>,
        (mode, policy): (TaskMode, WaitPolicy),
        call: Option<CallId>,
    ) -> Result<(GroupId, Vec<Result<TaskId, TaskManagerError>>), TaskManagerError> {
        let requests = runs.into_iter().map(|run| self.request(run, mode, call.clone())).collect();
        self.manager.groups().create(label, policy, requests).await
    }

    /// Runs agents to their ends. If this future is dropped, they are cancelled.
    ///
    /// # Errors
    /// If the group cannot be recorded.
    pub async fn run_all(
        &self,
        label: &str,
        runs: Vec<AgentRun>,
        call: Option<CallId>,
    ) -> Result<(GroupId, Vec<AgentResult>), TaskManagerError> {
        self.run_all_as(label, runs, TaskMode::Foreground, call).await
    }

    /// Does the same as [`run_all`](Self::run_all). The ends of background tasks are reported to the
    /// model.
    pub(crate) async fn run_all_as(
        &self,
        label: &str,
        runs: Vec<AgentRun>,
        mode: TaskMode,
        call: Option<CallId>,
    ) -> Result<(GroupId, Vec<AgentResult>), TaskManagerError> {
        let labels: Vec<_> = runs.iter().map(|run| run.label.clone()).collect();
        let started = self.start_group(label, runs, (mode, WaitPolicy::WaitAll), call).await?;
        let (group, started) = started;
        let tasks: Vec<_> = started.iter().flatten().cloned().collect();
        let guard = self.manager.cancel_on_drop(tasks);
        self.manager.groups().wait(&group).await?;
        guard.disarm();
        Ok((group, self.results(started, labels)))
    }

    fn request(&self, run: AgentRun, mode: TaskMode, call: Option<CallId>) -> TaskRequest {
        let AgentRun { label, mut work, isolation, own_process } = run;
        let definition = self.parts.definitions.all().get(&work.agent);
        work.isolation = isolation
            .or_else(|| definition.map(|definition| definition.isolation))
            .unwrap_or_default();
        work.own_process = own_process
            .or_else(|| definition.and_then(|definition| definition.own_process))
            .unwrap_or(self.parts.own_processes);
        let request = TaskRequest::new(TaskWork::Agent(Box::new(work)), label);
        TaskRequest { mode, call, ..request }
    }
}

/// How the wait of a call for agents ended.
pub(crate) enum Waited<T> {
    /// They ended before the user moved them; the value is their result.
    Ended(T),
    /// The user moved them to the background; these tasks continue.
    Moved(Vec<TaskId>),
}

impl AgentRuns {
    /// Runs an agent for a call, until it ends or the user moves it to the background. If this future
    /// is dropped, the agent is cancelled.
    pub(crate) async fn run_for(&self, run: AgentRun, call: &CallId) -> Waited<AgentResult> {
        let label = run.label.clone();
        let agent = match self.start(run, TaskMode::Foreground, Some(call.clone())).await {
            Ok(agent) => agent,
            Err(error) => return Waited::Ended(AgentResult::not_started(label, &error)),
        };
        let tasks = vec![agent.id().clone()];
        match self.wait_or_move(call, tasks, agent.result()).await {
            Waited::Ended(result) => Waited::Ended(
                result.unwrap_or_else(|error| AgentResult::not_started(label, &error)),
            ),
            Waited::Moved(tasks) => Waited::Moved(tasks),
        }
    }

    /// Runs agents for a call, until all have ended or the user moves them to the background. Returns
    /// their group, and the agents that were not started.
    ///
    /// # Errors
    /// If the group cannot be recorded.
    pub(crate) async fn run_all_for(
        &self,
        label: &str,
        runs: Vec<AgentRun>,
        call: &CallId,
    ) -> Result<(GroupId, Waited<Vec<AgentResult>>), TaskManagerError> {
        let labels: Vec<_> = runs.iter().map(|run| run.label.clone()).collect();
        let policy = WaitPolicy::WaitAll;
        let (group, started) = self.start_all(label, runs, policy, Some(call.clone())).await?;
        let tasks = started.iter().flatten().cloned().collect();
        let groups = self.manager.groups();
        let waited = match self.wait_or_move(call, tasks, groups.wait(&group)).await {
            Waited::Ended(ended) => {
                ended?;
                Waited::Ended(self.results(started, labels))
            }
            Waited::Moved(tasks) => Waited::Moved(tasks),
        };
        Ok((group, waited))
    }

    /// Waits for tasks of a call. If the user moves them to the background first, no call waits for
    /// them any longer.
    async fn wait_or_move<T>(
        &self,
        call: &CallId,
        tasks: Vec<TaskId>,
        ended: impl Future<Output = T>,
    ) -> Waited<T> {
        let guard = self.manager.cancel_on_drop(tasks.clone());
        let mut waiting = self.manager.foreground().enter(call);
        let mut ended = std::pin::pin!(ended);
        let waited = loop {
            tokio::select! {
                biased;
                // The end comes first, so that a task that has ended is never reported as moved.
                ended = &mut ended => break Waited::Ended(ended),
                request = waiting.asked() => {
                    let mut moved = Vec::new();
                    for task in &tasks {
                        // A task that has just ended is not moved.
                        if self.manager.to_background(task).await.is_ok() {
                            moved.push(task.clone());
                        }
                    }
                    if moved.is_empty() {
                        // The loop continues: the end arrives with its next round.
                        request.answer(Err("it has just ended".to_owned()));
                        continue;
                    }
                    request.answer(Ok(moved.clone()));
                    break Waited::Moved(moved);
                }
            }
        };
        // Moved tasks continue without a caller, so the guard must not cancel them either.
        guard.disarm();
        waited
    }

    fn results(
        &self,
        started: Vec<Result<TaskId, TaskManagerError>>,
        labels: Vec<String>,
    ) -> Vec<AgentResult> {
        let result = |(task, label): (Result<TaskId, _>, String)| match task
            .and_then(|task| self.manager.get(&task))
        {
            Ok(task) => AgentResult::of(task),
            Err(error) => AgentResult::not_started(label, &error),
        };
        started.into_iter().zip(labels).map(result).collect()
    }
}
