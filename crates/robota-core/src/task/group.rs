//! Groups of tasks that belong together.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TaskState, TaskStatus};
use crate::ids::{GroupId, TaskId};

/// Says when a group of tasks is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitPolicy {
    /// No caller waits for the tasks.
    Detached,
    /// When all tasks have ended, in whatever way.
    #[default]
    WaitAll,
    /// When one task has completed, or all have ended.
    WaitAny,
    /// When the caller that created the group ends it.
    Manual,
}

/// Says whether a group still waits for its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupStatus {
    /// It waits for the ends of tasks.
    Running,
    /// Its policy is fulfilled.
    Done,
}

/// What happened to a group of tasks, as its event records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum GroupChange {
    /// The group was created, possibly with tasks.
    Created {
        /// What its tasks do, in a few words.
        label: String,
        /// Which ends of tasks make the group done.
        policy: WaitPolicy,
        /// The tasks that it starts with.
        tasks: Vec<TaskId>,
    },
    /// Tasks were added while it waited.
    Added {
        /// The new tasks only; those that it has stay.
        tasks: Vec<TaskId>,
    },
    /// Its policy is fulfilled, or its creator says so.
    Done,
}

/// Copies the state of a group; the copy does not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupState {
    /// The id by which callers wait for it.
    pub group: GroupId,
    /// Whether the group still waits.
    pub status: GroupStatus,
    /// What its tasks do, in a few words.
    pub label: String,
    /// Which ends of tasks make the group done.
    pub policy: WaitPolicy,
    /// The tasks that belong to it, in the order in which they were added.
    pub tasks: Vec<TaskId>,
    /// The time of the event that created it.
    #[schemars(with = "String")]
    pub created: Timestamp,
}

/// How the tasks of a group ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupSummary {
    /// The group at the time of the summary.
    pub group: GroupState,
    /// How many tasks have not ended.
    pub open: usize,
    /// How many tasks ended with a result.
    pub completed: usize,
    /// How many tasks ended with an error.
    pub failed: usize,
    /// How many tasks were cancelled before they ended.
    pub cancelled: usize,
    /// The tasks, without those that were closed.
    pub tasks: Vec<TaskState>,
}

impl GroupState {
    /// Folds a change into the state of the group.
    pub fn apply(&mut self, change: &GroupChange) {
        match change {
            GroupChange::Created { .. } => {}
            GroupChange::Added { tasks } => self.tasks.extend(tasks.iter().cloned()),
            GroupChange::Done => self.status = GroupStatus::Done,
        }
    }

    /// Returns whether the policy is fulfilled by tasks in these states. A task that was closed has
    /// ended.
    #[must_use]
    pub fn is_fulfilled(&self, tasks: &[Option<TaskStatus>]) -> bool {
        let all = tasks.iter().all(|status| status.is_none_or(TaskStatus::is_terminal));
        match self.policy {
            WaitPolicy::WaitAll | WaitPolicy::Detached => all,
            WaitPolicy::WaitAny => all || tasks.contains(&Some(TaskStatus::Completed)),
            WaitPolicy::Manual => false,
        }
    }

    /// Counts how its tasks ended.
    #[must_use]
    pub fn summary(&self, tasks: Vec<TaskState>) -> GroupSummary {
        let count = |status| tasks.iter().filter(|task| task.status == status).count();
        GroupSummary {
            group: self.clone(),
            open: tasks.iter().filter(|task| !task.status.is_terminal()).count(),
            completed: count(TaskStatus::Completed),
            failed: count(TaskStatus::Failed),
            cancelled: count(TaskStatus::Cancelled),
            tasks,
        }
    }
}
