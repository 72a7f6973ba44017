//! How a hook ended, before its output is parsed.

use serde::{Deserialize, Serialize};

/// How a hook ended, which decides how its output is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEnd {
    /// It exited with this code: 0 is success, 2 blocks; others are failures.
    Code(i32),
    /// The signal with this number ended it.
    Signal(i32),
    /// It was ended because its time was up.
    TimedOut,
    /// It was not run, or its end is not known; the text says why.
    Failed(String),
}

/// How a hook ended, and its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookExit {
    /// How it ended, before its output is read.
    pub end: HookEnd,
    /// The first bytes of its standard output.
    pub stdout: Vec<u8>,
    /// Whether there was more output than was read.
    pub stdout_cut: bool,
    /// Its standard error; the reason, if the code blocks.
    pub stderr: Vec<u8>,
}

impl HookExit {
    /// Creates the exit of a hook that ended with this code and output.
    pub fn code(code: i32, stdout: impl Into<Vec<u8>>, stderr: impl Into<Vec<u8>>) -> Self {
        let (stdout, stderr) = (stdout.into(), stderr.into());
        Self { end: HookEnd::Code(code), stdout, stdout_cut: false, stderr }
    }

    /// Creates the exit of a hook that was not run.
    pub fn failed(why: impl Into<String>) -> Self {
        Self::silent(HookEnd::Failed(why.into()))
    }

    /// Creates the exit of a hook without output.
    #[must_use]
    pub fn silent(end: HookEnd) -> Self {
        Self { end, stdout: Vec::new(), stdout_cut: false, stderr: Vec::new() }
    }
}
