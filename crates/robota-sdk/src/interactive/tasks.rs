//! The background tasks of a session (SDK-03).

use std::sync::Arc;

use robota_core::event::Event;
use robota_core::hook::HookPoint;
use robota_core::ids::{SessionId, TaskId};
use robota_core::journal::JournalStore;
use robota_core::task::{TaskChange, TaskMode, TaskState};
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
            let ended = |task: &TaskState| task.reported && task.mode == TaskMode::Background;
            if tasks.list().iter().any(ended) {
                for task in lost_reports(&*runs.parts.store, self.id()).await {
                    tasks.report_again(&task);
                }
            }
            for task in interrupted {
                runs.close_interrupted(self.id(), &task).await;
            }
        }
        Ok(())
    }
}

/// How many events are read to find reports that were lost.
const TAIL: u64 = 512;

/// Returns the tasks whose end an earlier process was about to report to the model when it ended: no event
/// followed that contains the report: the end of the hook of a call, its result, or a prompt.
async fn lost_reports(store: &dyn JournalStore, session: &SessionId) -> Vec<TaskId> {
    let Ok(head) = store.head(session).await else { return Vec::new() };
    let from = head.last.seq.saturating_sub(TAIL);
    let events = store.read(session, from, usize::MAX).await.unwrap_or_default();
    let mut lost = Vec::new();
    // What follows in the current epoch was written by the recovery.
    for envelope in events.iter().filter(|envelope| envelope.epoch < head.last.epoch) {
        match &envelope.event {
            Event::TaskChanged(data) if data.change == TaskChange::Reported => {
                lost.push(data.task.clone());
            }
            // The hooks of a prompt run again if the process ended before the message.
            Event::HookFinished(data) if data.point == HookPoint::PostToolUse => lost.clear(),
            Event::UserMessage(_) | Event::ToolResultAdded(_) | Event::Closed(_) => lost.clear(),
            _ => {}
        }
    }
    lost
}
