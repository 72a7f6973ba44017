//! What to start, and within which bounds.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use std::sync::Arc;

use robota_core::process::ProcessWatch;
use robota_core::redact::Redactor;

use crate::capture::{Limits, Spill};
use crate::env::Environment;
use crate::sandbox::Confinement;

/// What a child reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Stdin {
    /// Nothing: the end of file at once.
    #[default]
    Closed,
    /// These bytes, then the end of file.
    Bytes(Vec<u8>),
    /// What [`Running::write`](crate::Running::write) gives it. A command that is run to its end
    /// reads nothing.
    Open,
}

/// How large a program believes its terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self { rows: 24, columns: 80 }
    }
}

/// Is shown output as it comes: both streams, every byte.
#[derive(Clone)]
pub struct OutputSink(Arc<Show>);

type Show = dyn Fn(&[u8]) + Send + Sync;

impl OutputSink {
    /// Hands output to `sink`, which must not block.
    pub fn new(sink: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }

    pub(crate) fn show(&self, bytes: &[u8]) {
        (self.0)(bytes);
    }
}

impl std::fmt::Debug for OutputSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OutputSink")
    }
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
    /// Whose call it is; what is written down about it when we die says so.
    pub call: Option<String>,
    /// Is told which process it is, before anything is known of its end.
    pub watch: ProcessWatch,
    /// Whether it goes on when we die (with a reaper only). Give it an `output` then: pipes to
    /// a process that is gone break.
    pub lives_on: bool,
    /// A file that gets all output instead of us.
    pub output: Option<PathBuf>,
    /// A terminal of its own: all streams are that terminal.
    pub terminal: Option<TerminalSize>,
    /// Where output goes that is more than `limits`.
    pub spill: Option<Spill>,
    /// Output is text without these secrets, before anybody else sees it; without this it is
    /// the bytes that were written.
    pub clean: Option<Redactor>,
    /// Is shown output as it comes.
    pub sink: Option<OutputSink>,
    /// What it is kept from.
    pub confinement: Option<Arc<Confinement>>,
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
            call: None,
            watch: ProcessWatch::none(),
            lives_on: false,
            output: None,
            terminal: None,
            spill: None,
            clean: None,
            sink: None,
            confinement: None,
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

    /// The same for that call.
    #[must_use]
    pub fn call(mut self, call: impl Into<String>, watch: ProcessWatch) -> Self {
        self.call = Some(call.into());
        self.watch = watch;
        self
    }

    /// The same with a place for output that is more than its limits.
    #[must_use]
    pub fn spill(mut self, spill: Spill) -> Self {
        self.spill = Some(spill);
        self
    }

    /// The same with output as text without these secrets.
    #[must_use]
    pub fn clean(mut self, redactor: Redactor) -> Self {
        self.clean = Some(redactor);
        self
    }

    /// The same with a terminal.
    #[must_use]
    pub fn terminal(mut self, size: TerminalSize) -> Self {
        self.terminal = Some(size);
        self
    }

    /// The same, shown as it comes.
    #[must_use]
    pub fn sink(mut self, sink: OutputSink) -> Self {
        self.sink = Some(sink);
        self
    }
}
