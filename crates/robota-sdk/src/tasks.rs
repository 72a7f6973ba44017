//! The background tasks of a session: their journal, Bash's background commands, and the
//! reports about them to the model.

mod commands;
mod notices;
mod runtime;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use robota_core::event::Event;
use robota_core::ids::SessionId;
use robota_core::journal::JournalStore;
use robota_core::task::{TaskState, TaskUsage};
use robota_runtime::{TaskJournal, TaskManager};

pub(crate) use commands::TaskCommands;
pub(crate) use notices::{TaskNotices, describe, reports};
pub(crate) use runtime::SessionRuntime;

use crate::costs;
use crate::interactive::OpenSessions;

/// Records tasks in the journal of a session that is open. It does not keep the session open.
pub(crate) struct SessionTaskJournal {
    pub(crate) open: OpenSessions,
    pub(crate) session: SessionId,
    /// Has the journals of the agents.
    pub(crate) store: Arc<dyn JournalStore>,
}

#[async_trait]
impl TaskJournal for SessionTaskJournal {
    async fn record(&self, events: Vec<Event>) -> Result<(), String> {
        let session = self.open.get(&self.session);
        let session = session.ok_or_else(|| "the session is not open".to_owned())?;
        let journal = session.session().journal();
        for event in events {
            journal.record(event).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    async fn used(&self, task: &TaskState) -> Vec<TaskUsage> {
        match &task.session {
            Some(session) => costs::of_agent(&*self.store, session, task.created).await,
            None => Vec::new(),
        }
    }
}

/// The managers of sessions that were just made: a session, and later its forks.
#[derive(Clone, Default)]
pub(crate) struct NewManagers(Arc<Mutex<Vec<(SessionId, TaskManager)>>>);

impl NewManagers {
    pub(crate) fn put(&self, session: SessionId, manager: TaskManager) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((session, manager));
    }

    /// Takes the manager of a session.
    pub(crate) fn take(&self, session: &SessionId) -> Option<TaskManager> {
        let mut managers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = managers.iter().position(|(of, _)| of == session)?;
        Some(managers.swap_remove(at).1)
    }
}

/// Returns the folder with the logs of the tasks of a session.
pub(crate) fn log_folder(cwd: &Path, session: &SessionId) -> std::path::PathBuf {
    let name: String = session
        .as_str()
        .chars()
        // An id such as `agent:a/session:b` would name a folder.
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .collect();
    cwd.join(".robota").join("tasks").join(name)
}
