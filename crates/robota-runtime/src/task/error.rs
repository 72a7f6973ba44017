//! Errors of the task manager.

use robota_core::error::{Diagnose, ErrorKind};
use robota_core::ids::{GroupId, TaskId};
use robota_core::task::{TaskKind, TaskStatus};

/// Why the manager did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskManagerError {
    /// There is no such task.
    #[error("there is no background task `{0}`")]
    UnknownTask(TaskId),
    /// There is no such group.
    #[error("there is no group `{0}`")]
    UnknownGroup(GroupId),
    /// Nothing here runs tasks of this kind.
    #[error("nothing here can run a task of kind {}", .0.name())]
    NoRunner(TaskKind),
    /// Agents may not start agents.
    #[error("an agent cannot start another agent")]
    TooDeep,
    /// No slot is free, and the task may not wait.
    #[error("{limit} tasks of kind {} run already; end one of them first", kind.name())]
    Full {
        /// The kind.
        kind: TaskKind,
        /// How many may run.
        limit: usize,
    },
    /// The manager was shut down.
    #[error("the session is ending; no task can be started")]
    Closed,
    /// The task has ended.
    #[error("the task `{task}` has ended ({})", status.name())]
    Ended {
        /// The task.
        task: TaskId,
        /// How it ended.
        status: TaskStatus,
    },
    /// The task has not ended.
    #[error("the task `{task}` is {}; cancel it first", status.name())]
    NotEnded {
        /// The task.
        task: TaskId,
        /// What it does.
        status: TaskStatus,
    },
    /// The task takes no input.
    #[error("the task `{0}` takes no input")]
    NoInput(TaskId),
    /// The log cannot be read.
    #[error("the log of the task `{task}` cannot be read: {message}")]
    Log {
        /// The task.
        task: TaskId,
        /// Why.
        message: String,
    },
    /// The journal cannot be written.
    #[error("the task could not be recorded: {0}")]
    Journal(String),
}

impl Diagnose for TaskManagerError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Journal(_) | Self::Log { .. } => ErrorKind::Storage,
            Self::UnknownTask(_)
            | Self::UnknownGroup(_)
            | Self::NoRunner(_)
            | Self::TooDeep
            | Self::Full { .. }
            | Self::Closed
            | Self::Ended { .. }
            | Self::NotEnded { .. }
            | Self::NoInput(_) => ErrorKind::Validation,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownTask(_) => Some("/background list shows the tasks".to_owned()),
            _ => None,
        }
    }
}
