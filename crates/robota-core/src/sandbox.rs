//! The `Sandbox` port: a place where tools work. The local machine behind a fence, a tree in
//! memory, later a container or another machine: files and commands look the same to who uses
//! them, and each says what it keeps apart and what it cannot.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::error::{Diagnose, ErrorKind};

/// How much is kept from what runs inside.
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
pub enum Level {
    /// Nothing.
    #[default]
    Off,
    /// Files may be changed below the workspace and in temporary folders only.
    WorkspaceWrite,
    /// No file may be changed.
    ReadOnly,
}

/// What a sandbox is to keep apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fence {
    /// How much.
    pub level: Level,
    /// Where files may be changed, when anywhere.
    pub writable: Vec<PathBuf>,
    /// What may not be changed, wherever it lies.
    #[serde(default)]
    pub protected: Vec<PathBuf>,
    /// What may not even be read.
    pub hidden: Vec<PathBuf>,
    /// What may be read although it lies below something hidden.
    #[serde(default)]
    pub shown: Vec<PathBuf>,
    /// Whether the network can be reached.
    pub network: bool,
}

impl Fence {
    /// Whether what really lies there, links followed, may be read. The nearest word counts.
    #[must_use]
    pub fn may_read(&self, real: &Path) -> bool {
        let nearest = |paths: &[PathBuf]| {
            let above = paths.iter().filter(|path| real.starts_with(path));
            above.map(|path| path.components().count()).max()
        };
        nearest(&self.hidden).is_none_or(|hidden| nearest(&self.shown) > Some(hidden))
    }

    /// Whether what really lies there, links followed, may be changed.
    #[must_use]
    pub fn may_write(&self, real: &Path) -> bool {
        let below = |paths: &[PathBuf]| paths.iter().any(|path| real.starts_with(path));
        let level = match self.level {
            Level::Off => true,
            Level::WorkspaceWrite => below(&self.writable),
            Level::ReadOnly => false,
        };
        level && self.may_read(real) && !below(&self.protected)
    }
}

/// What a sandbox really keeps apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Boundaries {
    /// What was asked for.
    pub fence: Fence,
    /// By which means: `landlock`, `seccomp`, `bubblewrap`, …
    pub means: Vec<String>,
    /// What of it cannot be enforced here, each with what would help.
    pub gaps: Vec<String>,
}

/// A command to run inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exec {
    /// The command line, for bash.
    pub command: String,
    /// The directory it starts in.
    pub cwd: PathBuf,
    /// What it reads.
    pub stdin: Vec<u8>,
    /// When it is ended; never, if absent.
    pub timeout: Option<Duration>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecEnd {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Its time was up.
    TimedOut,
    /// Nobody wanted it any more.
    Cancelled,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    /// How it ended.
    pub end: ExecEnd,
    /// What it wrote, as much as is kept.
    pub stdout: Vec<u8>,
    /// What it wrote about errors, as much as is kept.
    pub stderr: Vec<u8>,
    /// Whether something was cut out of either.
    pub cut: bool,
    /// What it was refused, as the sandbox saw it: never guessed from what it wrote.
    pub denied: Vec<Denial>,
}

/// Something that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Denial {
    /// What was tried: `network`, `trace`, `write`, …
    pub action: String,
    /// By whom or on what, where that is known.
    pub subject: String,
}

/// What a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Whether it is a directory.
    pub dir: bool,
    /// Its size in bytes.
    pub len: u64,
}

/// A failure inside a sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The sandbox refused.
    #[error("the sandbox ({level:?}) does not allow to {action} {}", path.display())]
    Denied {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Under which level.
        level: Level,
    },
    /// Nothing is there.
    #[error("{} does not exist", path.display())]
    Missing {
        /// What was looked for.
        path: PathBuf,
    },
    /// It cannot do that.
    #[error("a {kind} sandbox cannot {what}")]
    Unsupported {
        /// Which sandbox.
        kind: &'static str,
        /// What.
        what: &'static str,
    },
    /// Something failed.
    #[error("cannot {action} {}: {message}", path.display())]
    Failed {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What was said.
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
                Some("choose a wider sandbox level if that is wanted".to_owned())
            }
            Self::Missing { .. } | Self::Unsupported { .. } | Self::Failed { .. } => None,
        }
    }
}

/// A place where tools work.
#[async_trait::async_trait]
pub trait Sandbox: Send + Sync {
    /// Which kind it is: `local`, `vfs`, `docker`, …
    fn kind(&self) -> &'static str;

    /// What it keeps apart, and what it cannot.
    fn boundaries(&self) -> &Boundaries;

    /// The whole content of a file.
    async fn read(&self, path: &Path) -> Result<Vec<u8>, SandboxError>;

    /// Puts that content into a file, whole or not at all; folders above it are made.
    async fn write(&self, path: &Path, content: &[u8]) -> Result<(), SandboxError>;

    /// Removes a file.
    async fn remove(&self, path: &Path) -> Result<(), SandboxError>;

    /// What is there; `None` when nothing is.
    async fn stat(&self, path: &Path) -> Result<Option<Stat>, SandboxError>;

    /// The names in a folder, sorted.
    async fn list(&self, dir: &Path) -> Result<Vec<String>, SandboxError>;

    /// Runs a command line.
    async fn exec(&self, exec: Exec, cancel: &CancellationToken) -> Result<Executed, SandboxError>;

    /// Hands over each of these files when it changes, until the receiver is dropped.
    async fn watch(&self, paths: &[PathBuf]) -> Result<mpsc::Receiver<PathBuf>, SandboxError>;

    /// Gives back what it holds. Nothing works afterwards.
    async fn dispose(&self) -> Result<(), SandboxError>;
}
