//! The handle of one agent (RUN-04).

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::hook::HookTranscript as _;
use robota_core::ids::{SessionId, TaskId};
use robota_core::task::TaskState;
use robota_runtime::{LogPage, TaskManagerError};
use tokio::sync::OnceCell;

use super::jobs::{AgentResult, AgentRuns};
use crate::transcript::SessionTranscript;

/// An agent that runs or has ended. Clones are handles to the same agent; dropping them ends nothing.
///
/// ```
/// use robota_core::task::TaskMode;
/// use robota_sdk::{AgentRun, AgentRuns};
///
/// async fn follow(agents: &AgentRuns, run: AgentRun) -> Result<(), Box<dyn std::error::Error>> {
///     let agent = agents.start(run, TaskMode::Background, None).await?;
///     println!("{} writes to {:?}", agent.id(), agent.log_path()?);
///     agent.send("Look at the tests too.").await?;
///     println!("{}", agent.result().await?.output);
///     Ok(())
/// }
/// # let _ = follow;
/// ```
#[derive(Clone)]
pub struct AgentHandle {
    runs: AgentRuns,
    task: TaskId,
    transcript: Arc<OnceCell<SessionTranscript>>,
}

impl AgentHandle {
    pub(super) fn new(runs: AgentRuns, task: TaskId) -> Self {
        Self { runs, task, transcript: Arc::default() }
    }

    /// Returns the id of its task.
    #[must_use]
    pub fn id(&self) -> &TaskId {
        &self.task
    }

    /// Returns a copy of its state.
    ///
    /// # Errors
    /// If it was removed from the list of tasks. So for all methods.
    pub fn state(&self) -> Result<TaskState, TaskManagerError> {
        self.runs.manager.get(&self.task)
    }

    /// Returns the id of its process; none if it runs in this process, or has not started.
    ///
    /// # Errors
    /// See [`state`](Self::state).
    pub fn pid(&self) -> Result<Option<u32>, TaskManagerError> {
        Ok(self.state()?.pid)
    }

    /// Returns its session; none before it starts. It is named a moment before it is created.
    ///
    /// # Errors
    /// See [`state`](Self::state).
    pub fn session(&self) -> Result<Option<SessionId>, TaskManagerError> {
        Ok(self.state()?.session)
    }

    /// Returns the file with the text that it writes; none if the session is not stored.
    ///
    /// # Errors
    /// See [`state`](Self::state).
    pub fn log_path(&self) -> Result<Option<PathBuf>, TaskManagerError> {
        Ok(self.state()?.log.map(PathBuf::from))
    }

    /// Writes its conversation so far to a file, one JSON object per line, and returns the file. It exists
    /// as long as a handle of the agent. None before it starts.
    ///
    /// # Errors
    /// See [`state`](Self::state).
    pub async fn transcript_path(&self) -> Result<Option<PathBuf>, TaskManagerError> {
        let Some(session) = self.session()? else { return Ok(None) };
        // Kept with the handle, because the file is removed with the transcript.
        let transcript = self.transcript.get_or_init(|| async {
            let cwd = self.runs.parts.project.cwd().display().to_string();
            SessionTranscript::new(self.runs.parts.store.clone(), session, cwd)
        });
        Ok(transcript.await.write().await.map(PathBuf::from))
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// See [`state`](Self::state).
    pub async fn result(&self) -> Result<AgentResult, TaskManagerError> {
        self.runs.manager.wait(&self.task).await.map(AgentResult::of)
    }

    /// Ends it and everything that it started. Returns when it has ended.
    ///
    /// # Errors
    /// See [`state`](Self::state), and if it has ended already.
    pub async fn cancel(&self) -> Result<AgentResult, TaskManagerError> {
        self.runs.manager.cancel(&self.task).await.map(AgentResult::of)
    }

    /// Sends text: a follow-up before its next model call, or, if it has ended, a prompt that continues
    /// its session as a new task. Returns the agent that works on it.
    ///
    /// # Errors
    /// See [`state`](Self::state), and if it cannot be continued.
    pub async fn send(&self, text: &str) -> Result<Self, TaskManagerError> {
        let task = self.runs.send(&self.task, text).await?;
        if task == self.task { Ok(self.clone()) } else { Ok(Self::new(self.runs.clone(), task)) }
    }

    /// Reads the text that it wrote, from an offset on.
    ///
    /// # Errors
    /// See [`state`](Self::state), and if its log cannot be read.
    pub async fn read_log(&self, offset: u64, bytes: usize) -> Result<LogPage, TaskManagerError> {
        self.runs.manager.read_log(&self.task, offset, bytes).await
    }
}
