//! The background tasks of the session, as the status line counts them.

use std::collections::BTreeMap;

use robota_core::ids::TaskId;
use robota_core::task::{TaskChange, TaskMode, TaskStatus, transition};

/// The tasks that run in the background.
#[derive(Debug, Default)]
pub(crate) struct BackgroundTasks(BTreeMap<TaskId, TaskStatus>);

impl BackgroundTasks {
    /// Takes a change of a task. A task that a call waits for is shown as that call, not here.
    pub(crate) fn apply(&mut self, task: &TaskId, change: &TaskChange) {
        if let TaskChange::Spawned(spawned) = change {
            if spawned.mode == TaskMode::Background {
                self.0.insert(task.clone(), TaskStatus::Queued);
            }
            return;
        }
        if let TaskChange::Placed(place) = change
            && place.mode == Some(TaskMode::Background)
        {
            // The user moved it: no call waits for it any longer.
            self.0.entry(task.clone()).or_insert(TaskStatus::Running);
        }
        let Some(status) = self.0.get_mut(task) else { return };
        match transition(*status, change) {
            Some(after) if after.is_terminal() => drop(self.0.remove(task)),
            Some(after) => *status = after,
            None => {}
        }
    }

    /// Forgets all tasks, when another session is opened.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns how many tasks did not end.
    pub(crate) fn running(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests;
