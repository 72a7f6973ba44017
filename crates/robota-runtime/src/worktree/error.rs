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
        /// The folder for which a worktree was wanted.
        folder: PathBuf,
        /// The first lines of git's message.
        message: String,
    },
    /// The repository has no commit with which a worktree could begin.
    #[error("the repository {} has no commit yet, so a worktree cannot begin with one", .0.display())]
    NoCommit(PathBuf),
    /// A git command ended with an error, or could not be run.
    #[error("git {action} failed: {message}")]
    Git {
        /// What git was asked to do, as a verb.
        action: String,
        /// The first lines of git's message.
        message: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {message}", path.display())]
    File {
        /// The file that was read or written.
        path: PathBuf,
        /// What the operating system reports.
        message: String,
    },
    /// No worktree of an agent has this name.
    #[error("there is no worktree `{0}`; `robota worktrees list` shows all")]
    Unknown(String),
    /// The worktree has changes that would be lost.
    #[error("{} has changes ({}); nothing was removed", path.display(), changes.join(", "))]
    HasChanges {
        /// The folder of the worktree, which stays.
        path: PathBuf,
        /// What a removal would lose, for people.
        changes: Vec<String>,
    },
    /// Other worktrees are in the folder of the worktree; their files would be lost with it.
    #[error("{} has other worktrees in it ({}); remove those first", path.display(), shown(inner))]
    HasWorktrees {
        /// The folder of the worktree, which stays.
        path: PathBuf,
        /// The folders of those in it.
        inner: Vec<PathBuf>,
    },
    /// A running process uses the worktree.
    #[error("{} is used by a running agent (process {pid})", path.display())]
    InUse {
        /// The folder of the worktree, which stays.
        path: PathBuf,
        /// The id of the process that locked it.
        pid: u32,
    },
    /// A WorktreeCreate hook refused it, for this reason.
    #[error("a WorktreeCreate hook refused it: {0}")]
    Refused(String),
}

fn shown(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl Diagnose for WorktreeError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoRepository { .. }
            | Self::NoCommit(_)
            | Self::Unknown(_)
            | Self::HasChanges { .. }
            | Self::HasWorktrees { .. }
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
