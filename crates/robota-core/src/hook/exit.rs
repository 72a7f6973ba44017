//! How a hook ended, before anybody has read what it says.

/// How a hook ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookEnd {
    /// It ended by itself with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// Its time was up.
    TimedOut,
    /// It was not run, or what became of it is not known.
    Failed(String),
}

/// How a hook ended and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookExit {
    /// How it ended.
    pub end: HookEnd,
    /// The start of what it wrote to standard output.
    pub stdout: Vec<u8>,
    /// Whether there was more.
    pub stdout_cut: bool,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
}

impl HookExit {
    /// It ended by itself with this code and wrote this.
    pub fn code(code: i32, stdout: impl Into<Vec<u8>>, stderr: impl Into<Vec<u8>>) -> Self {
        let (stdout, stderr) = (stdout.into(), stderr.into());
        Self { end: HookEnd::Code(code), stdout, stdout_cut: false, stderr }
    }

    /// It was not run.
    pub fn failed(why: impl Into<String>) -> Self {
        Self::silent(HookEnd::Failed(why.into()))
    }

    /// It ended and wrote nothing.
    #[must_use]
    pub fn silent(end: HookEnd) -> Self {
        Self { end, stdout: Vec::new(), stdout_cut: false, stderr: Vec::new() }
    }
}
