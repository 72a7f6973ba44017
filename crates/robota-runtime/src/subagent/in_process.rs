//! Runs agents in this process, each with a session of its own.

use std::sync::Arc;

use async_trait::async_trait;
use robota_core::task::{TaskError, TaskFinished, TaskKind};
use robota_session::Session;

use super::conversation::{AgentConversations, Conversation, follow, run_agent};
use super::events::AgentProgress;
use super::{AgentJob, AgentSessions, NoAgentHooks, SubagentHooks};
use crate::task::{TaskJob, TaskReporter, TaskRunner};

/// Runs agents in this process, each in a session of its own.
#[derive(Clone)]
pub struct InProcessAgents {
    sessions: Arc<dyn AgentSessions>,
    hooks: Arc<dyn SubagentHooks>,
}

impl InProcessAgents {
    /// Runs agents in these sessions.
    #[must_use]
    pub fn new(sessions: Arc<dyn AgentSessions>) -> Self {
        Self { sessions, hooks: Arc::new(NoAgentHooks) }
    }

    /// Sets the hooks that run when agents start and end.
    #[must_use]
    pub fn hooks(mut self, hooks: Arc<dyn SubagentHooks>) -> Self {
        self.hooks = hooks;
        self
    }
}

struct InProcess(Session);

#[async_trait]
impl Conversation for InProcess {
    async fn turn(
        &mut self,
        prompt: String,
        task: &mut TaskJob,
        progress: &mut AgentProgress,
        reporter: &TaskReporter,
    ) -> TaskFinished {
        let TaskJob { inputs, cancel, .. } = task;
        follow(&self.0, prompt, inputs, cancel, |event| progress.take(event, reporter)).await
    }

    async fn close(&mut self, reason: &str) {
        if let Err(error) = self.0.shutdown(reason).await {
            tracing::warn!(%error, "the session of an agent could not be closed");
        }
    }
}

#[async_trait]
impl AgentConversations for InProcessAgents {
    fn agent_hooks(&self) -> &dyn SubagentHooks {
        &*self.hooks
    }

    async fn open(
        &self,
        job: &AgentJob,
        _: &TaskReporter,
    ) -> Result<Box<dyn Conversation>, TaskError> {
        Ok(Box::new(InProcess(self.sessions.open(job).await?.session)))
    }
}

#[async_trait]
impl TaskRunner for InProcessAgents {
    fn kind(&self) -> TaskKind {
        TaskKind::Agent
    }

    async fn run(&self, task: TaskJob, reporter: TaskReporter) -> TaskFinished {
        run_agent(self, task, &reporter).await
    }
}
