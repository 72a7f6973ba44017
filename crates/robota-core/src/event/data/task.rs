//! Data of the events of background tasks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session::data;
use crate::ids::{GroupId, TaskId};
use crate::task::{GroupChange, TaskChange};

data! {
    /// Something happened to a background task.
    TaskChanged {
        /// The task; its first change is `spawned`.
        task: TaskId,
        /// The change, which the table of transitions allows for the task's state.
        change: TaskChange,
    }

    /// Something happened to a group of background tasks.
    TaskGroupChanged {
        /// The group; its first change is `created`.
        group: GroupId,
        /// The change, which the fold applies in the order of the journal.
        change: GroupChange,
    }
}
