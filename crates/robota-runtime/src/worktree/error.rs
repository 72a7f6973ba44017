//! Errors of worktrees.

use std::path::PathBuf;

use robota_core::error::{Diagnose, ErrorKind};

/// Why a worktree cannot be made, inspected or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorktreeError {
    /// The folder is in no repository.
    #[error("{} is not in a git repository: {message}", folder.display())]
    NoRepository {
        /// The folder.
        folder: PathBuf,
        /// What git says.
        message: String,
    },
    /// The repository has no commit.
    #[error("the repository {} has no commit yet, so a worktree cannot begin with one", .0.display())]
    NoCommit(PathBuf),
    /// Git failed.
    #[error("git {action} failed: {message}")]
    Git {
        /// What it was to do.
        action: String,
        /// What it says.
        message: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// There is no such worktree.
    #[error("there is no worktree `{0}`; `robota worktrees list` shows all")]
    Unknown(String),
    /// The worktree has changes.
    #[error("{} has changes ({}); nothing was removed", path.display(), changes.join(", "))]
    HasChanges {
        /// The worktree.
        path: PathBuf,
        /// What would be lost.
        changes: Vec<String>,
    },
    /// A running process uses the worktree.
    #[error("{} is used by a running agent (process {pid})", path.display())]
    InUse {
        /// The worktree.
        path: PathBuf,
        /// The process.
        pid: u32,
    },
    /// A hook refused it.
    #[error("a WorktreeCreate hook refused it: {0}")]
    Refused(String),
}

impl Diagnose for WorktreeError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoRepository { .. }
            | Self::NoCommit(_)
            | Self::Unknown(_)
            | Self::HasChanges { .. }
            | Self::InUse { .. }
            | Self::Refused(_) => ErrorKind::Validation,
            Self::Git { .. } => ErrorKind::ToolExecution,
            Self::File { .. } => ErrorKind::Storage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoCommit(_) => Some("make a first commit".to_owned()),
            Self::HasChanges { .. } => Some(
                "commit what you need to its branch, which is kept if it has commits, then use --force"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}
