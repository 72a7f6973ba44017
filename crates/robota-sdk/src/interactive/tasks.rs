//! The background tasks of a session (SDK-03).

use std::sync::Arc;

use robota_core::event::{Envelope, Event};
use robota_core::ids::{SessionId, TaskId};
use robota_core::journal::JournalStore;
use robota_core::message::ToolResult;
use robota_core::task::{TaskChange, TaskMode, TaskState};
use robota_runtime::TaskManager;
use serde_json::Value;

use super::InteractiveSession;
use crate::agents::AgentRuns;
use crate::error::SdkError;
use crate::tasks::{SessionTaskJournal, reports};

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

    /// Lets tasks start, and takes over those of an earlier process. Returns those that ran when it
    /// ended.
    pub(super) async fn attach_tasks(&self) -> Result<Vec<TaskState>, SdkError> {
        let (Some(tasks), Some(runtime)) = (&self.0.tasks, &self.0.runtime) else {
            return Ok(Vec::new());
        };
        let journal = SessionTaskJournal {
            open: self.0.open.clone(),
            session: self.id().clone(),
            store: runtime.parts.store.clone(),
        };
        let recorded = self.session().journal().tasks().await?;
        let interrupted = tasks.attach(Arc::new(journal), recorded).await;
        if let Some(runs) = self.agent_runs() {
            let ended = |task: &TaskState| task.reported && task.mode == TaskMode::Background;
            // Without such tasks no report can be lost, and the journal is not read.
            if tasks.list().iter().any(ended) {
                for task in lost_reports(&*runs.parts.store, self.id()).await {
                    tasks.report_again(&task);
                }
            }
            for task in &interrupted {
                runs.close_interrupted(self.id(), task).await;
            }
        }
        Ok(interrupted)
    }
}

/// How many events are read at least to find reports that were lost.
const TAIL: u64 = 512;
/// How many events may lie between the result in which the model read an end and its mark.
const MARGIN: u64 = 64;

/// Returns the tasks whose end an earlier process was about to report to the model when it ended. At
/// least the last turn is read: its calls can run for long after the report of one of them.
async fn lost_reports(store: &dyn JournalStore, session: &SessionId) -> Vec<TaskId> {
    let Ok(head) = store.head(session).await else { return Vec::new() };
    let (last, mut count) = (head.last.seq, TAIL);
    loop {
        let start = last.saturating_sub(count);
        let events = store.read(session, start.saturating_sub(MARGIN), usize::MAX).await;
        let events = events.unwrap_or_default();
        let begins_turn =
            |it: &Envelope| it.seq > start && matches!(it.event, Event::TurnStarted(_));
        if start == 0 || events.is_empty() || events.iter().any(begins_turn) {
            return not_in_conversation(&events, start);
        }
        // Twice as many events each time, so that a long turn is read about twice at most.
        count *= 2;
    }
}

/// Returns the tasks whose end is marked as reported after an event, but is neither in a prompt nor in
/// a result. What recovered calls report is in the results that the recovery has written.
fn not_in_conversation(events: &[Envelope], after: u64) -> Vec<TaskId> {
    let mut marked = Vec::new();
    for envelope in events.iter().filter(|envelope| envelope.seq > after) {
        match &envelope.event {
            Event::TaskChanged(data)
                if data.change == TaskChange::Reported && !marked.contains(&data.task) =>
            {
                marked.push(data.task.clone());
            }
            _ => {}
        }
    }
    for envelope in events {
        if marked.is_empty() {
            break;
        }
        match &envelope.event {
            Event::UserMessage(data) => {
                let text = data.message.text();
                marked.retain(|task| !reports(&text, task));
            }
            Event::ToolResultAdded(data) => {
                let text = data.result.as_text();
                let read = read_end(&data.result);
                marked.retain(|task| read != Some(task.as_str()) && !reports(&text, task));
            }
            _ => {}
        }
    }
    marked
}

/// Returns the command whose end a result of BashOutput or KillShell contains.
fn read_end(result: &ToolResult) -> Option<&str> {
    let value = |key: &str| result.metadata.get(key).and_then(Value::as_str);
    value("bash_id").filter(|_| value("status").is_some_and(|status| status != "running"))
}
