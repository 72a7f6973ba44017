//! The result of running a child process.

use std::time::Duration;

use robota_core::process::ProcessIdentity;
use robota_core::sandbox::SandboxDenial;

use crate::capture::Captured;

/// How a child ended, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It exited by itself with this code.
    Code(i32),
    /// A signal that the supervisor did not send ended it.
    Signal(i32),
    /// The supervisor ended it because of its timeout.
    TimedOut,
    /// The caller cancelled it: the supervisor ended it, or did not start it.
    Cancelled,
}

impl Exit {
    /// Returns whether it exited with code 0.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

/// The result of a child that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended, and why.
    pub exit: Exit,
    /// The time from its start until the last output was read.
    pub duration: Duration,
    /// Its standard output, or both streams if they were merged.
    pub stdout: Captured,
    /// Its standard error; empty if the streams were merged.
    pub stderr: Captured,
    /// Whether a process that left the group still held the output open. Later output of that
    /// process is not captured.
    pub left_open: bool,
    /// The identity of the process; `None` if the system does not provide it.
    pub process: Option<ProcessIdentity>,
    /// The system calls that the seccomp filter of its sandbox denied.
    pub denied: Vec<SandboxDenial>,
}

impl Outcome {
    /// Returns the outcome of a command that was cancelled before it was started.
    pub(crate) fn not_started() -> Self {
        Self {
            exit: Exit::Cancelled,
            duration: Duration::ZERO,
            stdout: Captured::default(),
            stderr: Captured::default(),
            left_open: false,
            process: None,
            denied: Vec::new(),
        }
    }
}
