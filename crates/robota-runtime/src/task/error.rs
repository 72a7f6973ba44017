//! Errors of the task manager.

use robota_core::error::{Diagnose, ErrorKind};
use robota_core::ids::{GroupId, TaskId};
use robota_core::task::{TaskKind, TaskStatus};

/// Why the manager did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskManagerError {
    /// No task of the session has this id, or it was closed.
    #[error("there is no background task `{0}`")]
    UnknownTask(TaskId),
    /// No group of the session has this id.
    #[error("there is no group `{0}`")]
    UnknownGroup(GroupId),
    /// Nothing here runs tasks of this kind.
    #[error("nothing here can run a task of kind {}", .0.name())]
    NoRunner(TaskKind),
    /// An agent at the deepest level tried to start another one.
    #[error("an agent cannot start another agent")]
    TooDeep,
    /// No slot is free, and the task may not wait.
    #[error("{limit} tasks of kind {} run already; end one of them first", kind.name())]
    Full {
        /// The kind of task that was to start.
        kind: TaskKind,
        /// How many tasks of this kind may run at the same time.
        limit: usize,
    },
    /// The manager was shut down with its session, so it starts no more tasks.
    #[error("the session is ending; no task can be started")]
    Closed,
    /// The task has ended, so it cannot be changed.
    #[error("the task `{task}` has ended ({})", status.name())]
    Ended {
        /// The task that was to be changed.
        task: TaskId,
        /// How it ended: completed, failed or cancelled.
        status: TaskStatus,
    },
    /// The task has not ended, so it cannot be closed.
    #[error("the task `{task}` is {}; cancel it first", status.name())]
    NotEnded {
        /// The task that was to be closed.
        task: TaskId,
        /// Whether it waits, runs or waits for approval.
        status: TaskStatus,
    },
    /// The task does not run, or its program was started without an open input.
    #[error("the task `{0}` takes no input")]
    NoInput(TaskId),
    /// The log of the task cannot be read.
    #[error("the log of the task `{task}` cannot be read: {message}")]
    Log {
        /// The task whose output the log has.
        task: TaskId,
        /// What the operating system reports.
        message: String,
    },
    /// The journal of the session cannot be written; the text says why.
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
