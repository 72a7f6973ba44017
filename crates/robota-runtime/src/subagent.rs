//! Subagents: agents that work on one task for another session, as tasks of the manager (RUN-04).

mod conversation;
mod events;
mod in_process;
mod lines;
mod process;
mod serve;

use std::path::PathBuf;

use async_trait::async_trait;
use robota_core::ids::{CallId, SessionId, TaskId};
use robota_core::task::{Isolation, TaskError, TaskErrorCategory};
use robota_session::Session;
use serde::{Deserialize, Serialize};

pub use events::action;
pub use in_process::InProcessAgents;
pub use lines::{AgentReply, AgentRequest, FromAgent, HookExitLine, ToAgent};
pub use process::{AgentObserver, AgentProcesses, AgentRunners, NewAgentProcess, ProcessAgents};
pub use serve::{AgentOutput, ParentRequests, serve_agent};

use crate::task::{TaskJob, TaskWork};

/// What an agent has to do, where and with what.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentWork {
    /// The type of the agent: the name of its definition.
    pub agent: String,
    /// The work that it has to do.
    pub prompt: String,
    /// The model; none for that of the definition.
    pub model: Option<String>,
    /// How hard the model thinks; none for what the definition says.
    pub effort: Option<String>,
    /// Whether it gets a worktree of its own.
    pub isolation: Isolation,
    /// The folder it works in; none for that of its parent.
    pub cwd: Option<PathBuf>,
    /// The only tools it has besides the limits of its definition; none for no further limit.
    pub tools: Option<Vec<String>>,
    /// Rules that allow its calls without a question.
    pub allow: Vec<String>,
    /// Tools that it does not have, and rules that deny its calls, besides those of its definition.
    #[serde(default)]
    pub deny: Vec<String>,
    /// Whether it is a worker for a skill or a part of a larger job, which answers briefly.
    pub worker: bool,
    /// The session of an agent that has ended and continues with this prompt.
    pub resume: Option<SessionId>,
    /// Whether it runs in a process of its own.
    pub own_process: bool,
}

/// An agent that is about to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AgentJob {
    /// The task that the agent runs as.
    pub task: TaskId,
    /// The tool call that started it.
    pub call: Option<CallId>,
    /// Its session: a new one, or that of an agent that continues. The journal of the parent names it
    /// before it is created.
    pub session: SessionId,
    /// The work that it has to do.
    pub work: AgentWork,
}

impl AgentJob {
    /// Returns the agent of a task, with the id of its session.
    fn of(task: &TaskJob) -> Result<Self, TaskError> {
        match &task.work {
            TaskWork::Agent(work) => Ok(Self {
                task: task.task.clone(),
                call: task.call.clone(),
                session: work.resume.clone().unwrap_or_else(|| SessionId::mint(&*task.ids)),
                work: (**work).clone(),
            }),
            TaskWork::Process(_) => {
                Err(TaskError::new(TaskErrorCategory::Start, "an agent was expected"))
            }
        }
    }
}

/// The session that [`AgentSessions`] opened for an agent.
pub struct AgentSession {
    /// The session. It is shut down when the agent has ended.
    pub session: Session,
}

/// Opens sessions for agents: with the tools, permissions and prompt of their definitions, and apart
/// from the conversation of their parent.
#[async_trait]
pub trait AgentSessions: Send + Sync {
    /// Opens the session of an agent.
    ///
    /// # Errors
    /// If there is no such agent, or its session cannot be created.
    async fn open(&self, job: &AgentJob) -> Result<AgentSession, TaskError>;
}

/// Runs when agents start and before they end (RUN-09).
#[async_trait]
pub trait SubagentHooks: Send + Sync {
    /// Runs when an agent starts. Returns text that is added to its prompt.
    async fn started(&self, job: &AgentJob) -> Option<String>;

    /// Runs before an agent ends, however it ends. Returns why it must continue, which counts only if
    /// it has completed its work.
    async fn stopping(&self, job: &AgentJob, end: AgentStop<'_>) -> Option<String>;
}

/// The end of an agent's turn, after which the agent ends unless a hook continues it.
#[derive(Debug, Clone, Copy)]
pub struct AgentStop<'a> {
    /// The id of the agent's session, whose journal is the transcript.
    pub session: &'a SessionId,
    /// The answer with which the agent would end; empty or a part of one if it failed or was
    /// cancelled.
    pub answer: &'a str,
    /// Whether a hook continued the agent before.
    pub again: bool,
}

/// Runs no hooks when agents start and end.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAgentHooks;

#[async_trait]
impl SubagentHooks for NoAgentHooks {
    async fn started(&self, _: &AgentJob) -> Option<String> {
        None
    }

    async fn stopping(&self, _: &AgentJob, _: AgentStop<'_>) -> Option<String> {
        None
    }
}
