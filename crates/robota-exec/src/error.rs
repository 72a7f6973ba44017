//! What can go wrong before a child runs, or around it. What a child itself does wrong is an
//! [`Outcome`](crate::Outcome).

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use robota_core::error::{Diagnose, ErrorKind};

/// A failure to run a program.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// There is no such program.
    #[error("cannot find the program `{}` (PATH is `{}`)", program.display(), path.display())]
    ProgramMissing {
        /// As it was given.
        program: OsString,
        /// Where it was looked for.
        path: OsString,
    },
    /// There is no bash.
    #[error("cannot find bash, which runs every command line (PATH is `{}`)", path.display())]
    BashMissing {
        /// Where it was looked for, besides the usual places.
        path: OsString,
    },
    /// The directory to start in cannot be used.
    #[error("cannot run a program in {}: {source}", cwd.display())]
    BadDirectory {
        /// The directory.
        cwd: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused to start it.
    #[error("cannot start {}: {source}", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It was started, but how it ended cannot be known.
    #[error("{} was started, but its end was not observed: {source}", program.display())]
    Wait {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The process that is to outlive us could not be started or does not answer.
    #[error("cannot use the reaper {}: {source}", reaper.display())]
    Reaper {
        /// The program.
        reaper: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The supervisor's own thread could not start.
    #[error("cannot start the process supervisor: {0}")]
    Supervisor(#[source] io::Error),
    /// The supervisor was shut down.
    #[error("the process supervisor was shut down; nothing more is started")]
    ShutDown,
    /// The supervisor's thread ended without an answer.
    #[error("the process supervisor failed; whether the program ran is not known")]
    Gone,
    /// This system has no process groups as we need them.
    #[error("starting programs is not supported on this system yet")]
    Unsupported,
}

impl Diagnose for ExecError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::BashMissing { .. } | Self::Unsupported => ErrorKind::Configuration,
            Self::ProgramMissing { .. }
            | Self::BadDirectory { .. }
            | Self::Spawn { .. }
            | Self::Wait { .. }
            | Self::Reaper { .. }
            | Self::Supervisor(_)
            | Self::ShutDown
            | Self::Gone => ErrorKind::ToolExecution,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            // Out of processes or memory: for the moment.
            Self::Spawn { source, .. } | Self::Supervisor(source) => {
                matches!(source.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory)
            }
            _ => false,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::ProgramMissing { .. } => "install it, or give its full path",
            Self::BashMissing { .. } => {
                "install bash (Debian and Ubuntu: `apt-get install bash`, Alpine: `apk add bash`, \
                 macOS: it is at /bin/bash)"
            }
            Self::BadDirectory { .. } => "give a directory that exists and may be entered",
            Self::Spawn { source, .. } => match source.kind() {
                io::ErrorKind::ArgumentListTooLong => {
                    "the command is too long for the system: put it into a file and run that"
                }
                io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => {
                    "the machine is out of processes or memory: end something and try again"
                }
                io::ErrorKind::NotFound => "the interpreter named in its first line is missing",
                _ => return None,
            },
            Self::Reaper { .. } => {
                "without it a crash would leave processes behind, so nothing was started"
            }
            Self::Unsupported => "use Linux or macOS (on Windows: WSL)",
            Self::Wait { .. } | Self::Supervisor(_) | Self::ShutDown | Self::Gone => return None,
        };
        Some(hint.to_owned())
    }
}
