//! What to start, and within which bounds.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::capture::Limits;
use crate::env::Environment;

/// What a child reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Stdin {
    /// Nothing: the end of file at once.
    #[default]
    Closed,
    /// These bytes, then the end of file.
    Bytes(Vec<u8>),
}

/// How a child's two streams are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Streams {
    /// Each on its own pipe. Which line came first across the two is not known.
    #[default]
    Split,
    /// Both on one pipe, in the order the child wrote them; all of it is `stdout`.
    Merged,
}

/// A program to start. Every field has a plain default but the program and its directory.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// An absolute path, a path relative to `cwd` (with a slash), or a name looked up in the
    /// `PATH` of `env`.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The directory it starts in.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub env: Environment,
    /// What it reads.
    pub stdin: Stdin,
    /// How its output is read.
    pub streams: Streams,
    /// How much of each stream is kept.
    pub limits: Limits,
    /// When it is ended; never, if absent.
    pub timeout: Option<Duration>,
    /// The time between TERM and KILL.
    pub grace: Duration,
    /// How long output is awaited from processes that outlive the child: once before the rest
    /// of its group is ended, once after. What was already written is read in any case.
    pub drain: Duration,
}

impl CommandSpec {
    /// A program in a directory: no arguments, an empty environment, closed input, no time
    /// limit.
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Environment::new(),
            stdin: Stdin::default(),
            streams: Streams::default(),
            limits: Limits::default(),
            timeout: None,
            grace: Duration::from_secs(2),
            drain: Duration::from_millis(250),
        }
    }

    /// The same with these arguments after those it has.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The same with this environment.
    #[must_use]
    pub fn env(mut self, env: Environment) -> Self {
        self.env = env;
        self
    }

    /// The same with this input.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Stdin::Bytes(bytes.into());
        self
    }

    /// The same with this way to read the output.
    #[must_use]
    pub fn streams(mut self, streams: Streams) -> Self {
        self.streams = streams;
        self
    }

    /// The same with these limits on each stream.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same with a time limit.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The same with this time between TERM and KILL.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// The same with this time for output of processes that outlive the child.
    #[must_use]
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }
}
