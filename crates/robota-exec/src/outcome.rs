//! How a child ended.

use std::time::Duration;

use robota_core::process::ProcessIdentity;
use robota_core::sandbox::Denial;

use crate::capture::Captured;

/// Why and how a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It ended by itself with this code.
    Code(i32),
    /// A signal that was not ours ended it.
    Signal(i32),
    /// It was ended because its time was up.
    TimedOut,
    /// It was ended, or not started, because nobody wanted it any more.
    Cancelled,
}

impl Exit {
    /// Whether it ended by itself with code 0.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

/// What is known about a child that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Why and how it ended.
    pub exit: Exit,
    /// From the start until the last output was read.
    pub duration: Duration,
    /// What it wrote to standard output (to both streams, if they were merged).
    pub stdout: Captured,
    /// What it wrote to standard error.
    pub stderr: Captured,
    /// Whether a process that had left the group still held the output open, so that later
    /// output of that process is not here.
    pub left_open: bool,
    /// Which process it was, where the system tells.
    pub process: Option<ProcessIdentity>,
    /// What it was refused by the filter of its confinement.
    pub denied: Vec<Denial>,
}

impl Outcome {
    /// The outcome of a command that was cancelled before it was started.
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
