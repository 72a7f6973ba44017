//! The tasks and groups of a session.

use indexmap::IndexMap;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{GroupChange, GroupState, GroupStatus, InvalidChange, TaskChange, TaskState};
use crate::ids::{GroupId, TaskId};

/// The state keeps at most this many ended tasks, and as many groups that are done; the oldest are
/// dropped when a task or a group is created.
pub const MAX_ENDED: usize = 256;

/// Lists the tasks and groups of a session, in order of creation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tasks {
    /// The tasks that were not closed.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub tasks: IndexMap<TaskId, TaskState>,
    /// The groups; of those that are done the last [`MAX_ENDED`].
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub groups: IndexMap<GroupId, GroupState>,
}

impl Tasks {
    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.groups.is_empty()
    }

    /// Applies a change of a task.
    ///
    /// # Errors
    /// If the task cannot have it; then nothing changes.
    pub fn apply(
        &mut self,
        task: &TaskId,
        change: &TaskChange,
        at: Timestamp,
    ) -> Result<(), InvalidChange> {
        match (self.tasks.get_mut(task), change) {
            (None, TaskChange::Spawned(spawned)) => {
                self.tasks.insert(task.clone(), TaskState::new(task.clone(), spawned, at));
                self.drop_old();
                Ok(())
            }
            (None, change) => {
                let status = super::TaskStatus::Cancelled;
                Err(InvalidChange { status, change: change.name() })
            }
            (Some(state), change) => {
                state.apply(change, at)?;
                if *change == TaskChange::Closed {
                    self.tasks.shift_remove(task);
                }
                Ok(())
            }
        }
    }

    /// Applies a change of a group.
    pub fn apply_group(&mut self, group: &GroupId, change: &GroupChange, at: Timestamp) {
        match (self.groups.get_mut(group), change) {
            (None, GroupChange::Created { label, policy, tasks }) => {
                let state = GroupState {
                    group: group.clone(),
                    status: GroupStatus::Running,
                    label: label.clone(),
                    policy: *policy,
                    tasks: tasks.clone(),
                    created: at,
                };
                self.groups.insert(group.clone(), state);
                self.drop_old_groups();
            }
            (None, _) => {}
            (Some(state), change) => state.apply(change),
        }
    }

    fn drop_old_groups(&mut self) {
        // A caller waits for a group that is not done, however old it is.
        let done = |state: &GroupState| state.status == GroupStatus::Done;
        if self.groups.values().filter(|state| done(state)).count() > MAX_ENDED
            && let Some(oldest) = self.groups.values().position(done)
        {
            self.groups.shift_remove_index(oldest);
        }
    }

    fn drop_old(&mut self) {
        let ended = |state: &TaskState| state.status.is_terminal();
        if self.tasks.values().filter(|state| ended(state)).count() > MAX_ENDED
            && let Some(oldest) = self.tasks.values().position(ended)
        {
            self.tasks.shift_remove_index(oldest);
        }
    }
}
