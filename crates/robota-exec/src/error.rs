//! Errors of starting and supervising a child. A child that runs and fails is not an error but an
//! [`Outcome`](crate::Outcome).

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use robota_core::error::{Diagnose, ErrorKind};

/// Why a program could not be run or supervised.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The program was not found in `PATH`, or at the path that was given.
    #[error("cannot find the program `{}` (PATH is `{}`)", program.display(), path.display())]
    ProgramMissing {
        /// The program as the caller named it.
        program: OsString,
        /// The `PATH` of the command's environment, which was searched.
        path: OsString,
    },
    /// bash was not found in `PATH` and in the usual places.
    #[error("cannot find bash, which runs every command line (PATH is `{}`)", path.display())]
    BashMissing {
        /// The `PATH` that was searched before the usual places.
        path: OsString,
    },
    /// The working directory cannot be used.
    #[error("cannot run a program in {}: {source}", cwd.display())]
    BadDirectory {
        /// The working directory that was given.
        cwd: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The system did not start the program.
    #[error("cannot start {}: {source}", program.display())]
    Spawn {
        /// The program that was looked up, or the wrapper of the sandbox.
        program: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The program was started, but its exit status is unknown.
    #[error("{} was started, but its exit status is unknown: {source}", program.display())]
    Wait {
        /// The program whose end was not seen.
        program: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The reaper could not be started or does not answer.
    #[error("cannot use the reaper {}: {source}", reaper.display())]
    Reaper {
        /// The executable that is to run as the reaper.
        reaper: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The supervisor's thread could not be started.
    #[error("cannot start the process supervisor: {0}")]
    Supervisor(#[source] io::Error),
    /// The supervisor was shut down, so the program was not started or was ended.
    #[error("the process supervisor was shut down and starts no more programs")]
    ShutDown,
    /// The supervisor's thread ended without a result.
    #[error("the process supervisor failed; whether the program ran is unknown")]
    SupervisorFailed,
    /// This system does not have the process groups that the supervisor needs.
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
            | Self::SupervisorFailed => ErrorKind::ToolExecution,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            // A lack of processes or memory is usually temporary.
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
            Self::BadDirectory { .. } => {
                "use a directory that exists and that you have permission to enter"
            }
            Self::Spawn { source, .. } => match source.kind() {
                io::ErrorKind::ArgumentListTooLong => {
                    "the command is too long for the system: write it to a file and run the file"
                }
                io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => {
                    "the machine is out of processes or memory: end some processes and retry"
                }
                io::ErrorKind::NotFound => "install the interpreter named in its first line",
                _ => return None,
            },
            Self::Reaper { .. } => {
                "check the reaper program; nothing was started, because a crash would leave processes behind"
            }
            Self::Unsupported => "use Linux (on Windows: WSL)",
            Self::Wait { .. } | Self::Supervisor(_) | Self::ShutDown | Self::SupervisorFailed => {
                return None;
            }
        };
        Some(hint.to_owned())
    }
}
