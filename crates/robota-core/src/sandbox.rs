//! The `Sandbox` port: an environment in which tools read files, change files and run commands.
//! A driver may be the local machine with restrictions, a file tree in memory, a container or
//! another machine. All drivers have the same interface, and each reports what it enforces and
//! what it cannot enforce.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::error::{Diagnose, ErrorKind};

/// How much a sandbox restricts the commands and tools that run inside.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxLevel {
    /// No restrictions: commands have the user's rights.
    #[default]
    Off,
    /// Files can be changed only below [`Fence::writable`]: the workspace and temporary folders.
    WorkspaceWrite,
    /// Commands can change no file.
    ReadOnly,
}

/// The restrictions that a sandbox has to enforce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fence {
    /// How much commands are restricted.
    pub level: SandboxLevel,
    /// Folders below which files may be changed. Used only with
    /// [`SandboxLevel::WorkspaceWrite`].
    pub writable: Vec<PathBuf>,
    /// Paths that may not be changed, even below a writable folder.
    #[serde(default)]
    pub protected: Vec<PathBuf>,
    /// Paths that may be neither read nor changed.
    pub hidden: Vec<PathBuf>,
    /// Paths that may be read although they are below a hidden path.
    #[serde(default)]
    pub shown: Vec<PathBuf>,
    /// Whether commands can use the network.
    pub network: bool,
}

impl Fence {
    /// Returns whether the file at `real` may be read. `real` must be canonical, with all links
    /// followed. If both a hidden and a shown path contain it, the more specific one decides.
    #[must_use]
    pub fn may_read(&self, real: &Path) -> bool {
        let nearest = |paths: &[PathBuf]| {
            let above = paths.iter().filter(|path| real.starts_with(path));
            above.map(|path| path.components().count()).max()
        };
        nearest(&self.hidden).is_none_or(|hidden| nearest(&self.shown) > Some(hidden))
    }

    /// Returns whether the file at `real` may be changed. `real` must be canonical, with all links
    /// followed.
    #[must_use]
    pub fn may_write(&self, real: &Path) -> bool {
        let below = |paths: &[PathBuf]| paths.iter().any(|path| real.starts_with(path));
        let level = match self.level {
            SandboxLevel::Off => true,
            SandboxLevel::WorkspaceWrite => below(&self.writable),
            SandboxLevel::ReadOnly => false,
        };
        level && self.may_read(real) && !below(&self.protected)
    }
}

/// Reports what a sandbox really enforces, and what it cannot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Boundaries {
    /// The restrictions that the caller requested.
    pub fence: Fence,
    /// The mechanisms that enforce them: `landlock`, `seccomp`, `bubblewrap`, …
    pub means: Vec<String>,
    /// The requested restrictions that cannot be enforced on this system, one sentence each, with
    /// what would help where something does.
    pub gaps: Vec<String>,
}

/// Describes a command to run in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exec {
    /// The command line, which bash runs.
    pub command: String,
    /// The working directory of the command.
    pub cwd: PathBuf,
    /// The bytes on its standard input.
    pub stdin: Vec<u8>,
    /// The time after which it is killed. `None`: no time limit.
    pub timeout: Option<Duration>,
}

/// How a command in a sandbox ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExecEnd {
    /// It exited by itself with this code.
    Code(i32),
    /// The signal with this number ended it, sent by itself or another process.
    Signal(i32),
    /// The sandbox ended it because of the timeout.
    TimedOut,
    /// The sandbox ended it because the caller cancelled it.
    Cancelled,
}

/// Reports how a command in a sandbox ended, and what it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    /// How the command ended.
    pub end: ExecEnd,
    /// Its standard output, up to the sandbox's limit.
    pub stdout: Vec<u8>,
    /// Its standard error, up to the sandbox's limit.
    pub stderr: Vec<u8>,
    /// Whether the middle of either stream was dropped because of the limit.
    pub cut: bool,
    /// The operations that the sandbox denied, as the sandbox observed them. They are never guessed
    /// from the output.
    pub denied: Vec<SandboxDenial>,
}

/// An operation that a sandbox denied.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SandboxDenial {
    /// The kind of operation: `network`, `trace`, `write`, …
    pub action: String,
    /// The process that tried it, or the file it tried it on. Empty if unknown.
    pub subject: String,
}

/// Describes what exists at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Whether the path leads to a directory.
    pub dir: bool,
    /// The size of the file in bytes.
    pub len: u64,
}

/// Why an operation of a sandbox failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The restrictions of the sandbox do not allow it.
    #[error("the sandbox ({level:?}) does not allow to {action} {}", path.display())]
    Denied {
        /// The operation, as a verb: `read`, `write`, …
        action: &'static str,
        /// The file it was tried on.
        path: PathBuf,
        /// The level that forbids the operation.
        level: SandboxLevel,
    },
    /// The path that the operation needs does not exist.
    #[error("{} does not exist", path.display())]
    Missing {
        /// The path that does not exist.
        path: PathBuf,
    },
    /// This kind of sandbox does not support the operation.
    #[error("a {kind} sandbox cannot {what}")]
    Unsupported {
        /// The kind of sandbox, as [`Sandbox::kind`] returns it.
        kind: &'static str,
        /// What it does not support; completes the sentence "a sandbox cannot …".
        what: &'static str,
    },
    /// The operating system reported an error for the operation.
    #[error("cannot {action} {}: {message}", path.display())]
    Failed {
        /// The operation, as a verb: `read`, `write`, …
        action: &'static str,
        /// The file it was tried on.
        path: PathBuf,
        /// The error message of the system.
        message: String,
    },
}

impl Diagnose for SandboxError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::ToolExecution
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Denied { .. } => {
                Some("choose a less strict sandbox level if this should be allowed".to_owned())
            }
            Self::Missing { .. } | Self::Unsupported { .. } | Self::Failed { .. } => None,
        }
    }
}

/// An environment in which tools read files, change files and run commands.
#[async_trait::async_trait]
pub trait Sandbox: Send + Sync {
    /// Returns the kind of sandbox: `local`, `vfs`, `docker`, …
    fn kind(&self) -> &'static str;

    /// Returns what it enforces, and what it cannot enforce.
    fn boundaries(&self) -> &Boundaries;

    /// Reads the whole content of a file.
    async fn read(&self, path: &Path) -> Result<Vec<u8>, SandboxError>;

    /// Replaces the content of a file atomically. Creates the file and its parent folders if they
    /// do not exist.
    async fn write(&self, path: &Path, content: &[u8]) -> Result<(), SandboxError>;

    /// Deletes a file. A link is deleted itself, not its target.
    async fn remove(&self, path: &Path) -> Result<(), SandboxError>;

    /// Returns what exists at a path; `None` if nothing does.
    async fn stat(&self, path: &Path) -> Result<Option<Stat>, SandboxError>;

    /// Returns the names in a folder, sorted.
    async fn list(&self, dir: &Path) -> Result<Vec<String>, SandboxError>;

    /// Runs a command line and waits for its end.
    async fn exec(&self, exec: Exec, cancel: &CancellationToken) -> Result<Executed, SandboxError>;

    /// Watches files: the receiver gets the path of each file that changes. The watch ends when the
    /// receiver is dropped.
    async fn watch(&self, paths: &[PathBuf]) -> Result<mpsc::Receiver<PathBuf>, SandboxError>;

    /// Releases the resources of the sandbox. It cannot be used afterwards.
    async fn dispose(&self) -> Result<(), SandboxError>;
}
