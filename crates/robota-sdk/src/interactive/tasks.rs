//! The background tasks of a session (SDK-03).

use std::sync::Arc;

use robota_runtime::TaskManager;

use super::InteractiveSession;
use crate::agents::AgentRuns;
use crate::error::SdkError;
use crate::tasks::SessionTaskJournal;

impl InteractiveSession {
    /// Returns the background tasks and their [groups](TaskManager::groups): list, get, cancel, close,
    /// send, read_log, wait. None for a session that the caller built.
    #[must_use]
    pub fn tasks(&self) -> Option<TaskManager> {
        self.0.tasks.clone()
    }

    /// Returns the agents that can be run as tasks; none for a session that the caller built.
    #[must_use]
    pub fn agent_runs(&self) -> Option<AgentRuns> {
        let (runtime, manager) = (self.0.runtime.as_ref()?, self.tasks()?);
        Some(AgentRuns { parts: runtime.parts.clone(), manager })
    }

    /// Lets tasks start, and takes over those of an earlier process.
    pub(super) async fn attach_tasks(&self) -> Result<(), SdkError> {
        let Some(tasks) = &self.0.tasks else { return Ok(()) };
        let journal = SessionTaskJournal { open: self.0.open.clone(), session: self.id().clone() };
        let recorded = self.session().journal().tasks().await?;
        let interrupted = tasks.attach(Arc::new(journal), recorded).await;
        if let Some(runs) = self.agent_runs() {
            for task in interrupted {
                runs.close_interrupted(self.id(), &task).await;
            }
        }
        Ok(())
    }
}
