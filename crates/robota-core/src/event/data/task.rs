//! Data of the events of background tasks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session::data;
use crate::ids::{GroupId, TaskId};
use crate::task::{GroupChange, TaskChange};

data! {
    /// Something happened to a background task.
    TaskChanged {
        /// The task.
        task: TaskId,
        /// What happened.
        change: TaskChange,
    }

    /// Something happened to a group of background tasks.
    TaskGroupChanged {
        /// The group.
        group: GroupId,
        /// What happened.
        change: GroupChange,
    }
}
