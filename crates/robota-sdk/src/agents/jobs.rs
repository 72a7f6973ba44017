//! Starts agents as tasks of a session, for the tool, the commands and programs.

use std::sync::Arc;

use robota_config::agents::{AgentIsolation, Agents};
use robota_core::ids::{CallId, GroupId, TaskId};
use robota_core::task::{TaskMode, TaskState, TaskStatus, WaitPolicy};
use robota_runtime::{AgentWork, Isolation, TaskManager, TaskManagerError, TaskRequest, TaskWork};
use serde::Serialize;

use super::AgentParts;

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
    /// Its answer.
    pub output: String,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The worktree that was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree_path: Option<String>,
    /// The branch of that worktree.
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
        let definitions = self.parts.definitions.iter();
        definitions.map(|agent| (agent.name.clone(), agent.description.clone())).collect()
    }

    /// Returns the definitions of the agents, and what is wrong with their files.
    #[must_use]
    pub fn definitions(&self) -> &Agents {
        &self.parts.definitions
    }

    /// Starts an agent, and returns its task.
    ///
    /// # Errors
    /// If it cannot be started.
    pub async fn start(
        &self,
        run: AgentRun,
        mode: TaskMode,
        call: Option<CallId>,
    ) -> Result<TaskId, TaskManagerError> {
        self.manager.spawn(self.request(run, mode, call)).await
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
        let task = match self.start(run, mode, call).await {
            Ok(task) => task,
            Err(error) => return AgentResult::not_started(label, &error),
        };
        let guard = CancelOnDrop::of(&self.manager, vec![task.clone()]);
        let ended = self.manager.wait(&task).await;
        guard.disarm();
        match ended {
            Ok(task) => AgentResult::of(task),
            Err(error) => AgentResult::not_started(label, &error),
        }
    }

    /// Starts agents as a group. All are started before anybody waits.
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
        let labels: Vec<_> = runs.iter().map(|run| run.label.clone()).collect();
        let (group, started) = self.start_all(label, runs, WaitPolicy::WaitAll, call).await?;
        let tasks = started.iter().flatten().cloned().collect();
        let guard = CancelOnDrop::of(&self.manager, tasks);
        self.manager.groups().wait(&group).await?;
        guard.disarm();
        let mut results = Vec::new();
        for (task, label) in started.into_iter().zip(labels) {
            results.push(match task.and_then(|task| self.manager.get(&task)) {
                Ok(task) => AgentResult::of(task),
                Err(error) => AgentResult::not_started(label, &error),
            });
        }
        Ok((group, results))
    }

    fn request(&self, run: AgentRun, mode: TaskMode, call: Option<CallId>) -> TaskRequest {
        let AgentRun { label, mut work, isolation } = run;
        let definition = self.parts.definitions.get(&work.agent);
        work.isolation =
            isolation.unwrap_or_else(|| match definition.map(|definition| definition.isolation) {
                Some(AgentIsolation::Worktree) => Isolation::Worktree,
                Some(AgentIsolation::None) | None => Isolation::None,
            });
        let request = TaskRequest::new(TaskWork::Agent(Box::new(work)), label);
        TaskRequest { mode, call, ..request }
    }
}

/// Cancels tasks when it is dropped, because their caller no longer waits for them.
struct CancelOnDrop(Option<(TaskManager, Vec<TaskId>)>);

impl CancelOnDrop {
    fn of(manager: &TaskManager, tasks: Vec<TaskId>) -> Self {
        Self(Some((manager.clone(), tasks)))
    }

    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some((manager, tasks)) = self.0.take() else { return };
        for task in tasks {
            let manager = manager.clone();
            drop(tokio::spawn(async move { drop(manager.cancel(&task).await) }));
        }
    }
}
