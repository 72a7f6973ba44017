//! The description of a program to start, with its limits.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use std::sync::Arc;

use robota_core::process::ProcessWatch;
use robota_core::redact::Redactor;

use crate::capture::{Limits, Spill};
use crate::env::Environment;
use crate::sandbox::{Confinement, Scratch};

/// Says what a child reads on its standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Stdin {
    /// Nothing: it reads the end of file immediately.
    #[default]
    Closed,
    /// These bytes, then the end of file.
    Bytes(Vec<u8>),
    /// The bytes that [`Running::write`](crate::Running::write) sends. A command that is run with
    /// [`Supervisor::run`](crate::Supervisor::run) reads nothing.
    Open,
}

/// Says how large the terminal of a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// How many lines of text the terminal shows.
    pub rows: u16,
    /// How many characters a line has.
    pub columns: u16,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self { rows: 24, columns: 80 }
    }
}

/// Receives the output of both streams while the program runs.
#[derive(Clone)]
pub struct OutputSink(Arc<Write>);

type Write = dyn Fn(&[u8]) + Send + Sync;

impl OutputSink {
    /// Creates a sink that calls `sink` with each piece of output. `sink` must not block.
    pub fn new(sink: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }

    /// Passes output to the sink.
    pub fn write(&self, bytes: &[u8]) {
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
    /// Each on its own pipe. The order of lines between the two streams is unknown.
    #[default]
    Split,
    /// Both on one pipe, in the order the child wrote them; all of it is `stdout`.
    Merged,
}

/// Describes a program to start. [`new`](Self::new) sets a default for every field except the
/// program and its working directory.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// The program: an absolute path, a path relative to `cwd` (with a slash), or a name that is
    /// looked up in the `PATH` of `env`.
    pub program: OsString,
    /// The arguments, which no shell interprets; none by default.
    pub args: Vec<OsString>,
    /// The working directory, in which a relative program path is looked up.
    pub cwd: PathBuf,
    /// The whole environment: nothing of this process is inherited.
    pub env: Environment,
    /// The standard input; closed by default.
    pub stdin: Stdin,
    /// Whether standard output and standard error are captured separately.
    pub streams: Streams,
    /// How much of each stream is kept in memory.
    pub limits: Limits,
    /// The time after which it is ended. `None`: no time limit.
    pub timeout: Option<Duration>,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// How long the supervisor waits for output of processes that outlive the child: once before it
    /// ends the rest of the group, and once after. Output that was already written is always read.
    pub drain: Duration,
    /// The id of the tool call, for the record that a reaper writes after a crash.
    pub call: Option<String>,
    /// Receives the identity of the process as soon as it has started.
    pub watch: ProcessWatch,
    /// Whether it keeps running if this process dies. Works only with a reaper. Set `output_file` too:
    /// otherwise its output pipes break when this process dies.
    pub survives_crash: bool,
    /// A file to which all output is appended instead of being captured.
    pub output_file: Option<PathBuf>,
    /// The size of a new terminal that replaces all three streams. `None`: no terminal.
    pub terminal: Option<TerminalSize>,
    /// Where the whole stream is written if it exceeds `limits`.
    pub spill: Option<Spill>,
    /// Converts the output to text and removes these secrets before it is kept or passed on.
    /// Without it the output is the original bytes.
    pub redactor: Option<Redactor>,
    /// Receives output while the program runs.
    pub sink: Option<OutputSink>,
    /// Where the output ends for those who read it while the program runs. What the program prints
    /// from this text on is only in its [`Outcome`](crate::Outcome).
    pub end_marker: Option<String>,
    /// Receives standard error instead of `sink`, if the streams are split.
    pub stderr_sink: Option<OutputSink>,
    /// The sandbox in which it runs.
    pub confinement: Option<Arc<Confinement>>,
    /// Its folder for temporary files, which is deleted when it has ended.
    pub scratch: Option<Scratch>,
}

impl CommandSpec {
    /// Creates a program with a working directory, without arguments, environment, input and time
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
            survives_crash: false,
            output_file: None,
            terminal: None,
            spill: None,
            redactor: None,
            sink: None,
            end_marker: None,
            stderr_sink: None,
            confinement: None,
            scratch: None,
        }
    }

    /// Appends arguments, which no shell interprets.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the whole environment.
    #[must_use]
    pub fn env(mut self, env: Environment) -> Self {
        self.env = env;
        self
    }

    /// Sets the bytes of the standard input.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Stdin::Bytes(bytes.into());
        self
    }

    /// Sets whether the two streams are captured separately.
    #[must_use]
    pub fn streams(mut self, streams: Streams) -> Self {
        self.streams = streams;
        self
    }

    /// Sets the limits of each stream.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the time limit.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the time between SIGTERM and SIGKILL.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets how long the supervisor waits for output of processes that outlive the child.
    #[must_use]
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// Sets the tool call that starts the program, and the watch that receives its process.
    #[must_use]
    pub fn call(mut self, call: impl Into<String>, watch: ProcessWatch) -> Self {
        self.call = Some(call.into());
        self.watch = watch;
        self
    }

    /// Sets where a stream that exceeds its limits is written.
    #[must_use]
    pub fn spill(mut self, spill: Spill) -> Self {
        self.spill = Some(spill);
        self
    }

    /// Converts the output to text without these secrets.
    #[must_use]
    pub fn redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// Runs the program in a new terminal of this size.
    #[must_use]
    pub fn terminal(mut self, size: TerminalSize) -> Self {
        self.terminal = Some(size);
        self
    }

    /// Sets a sink of its own for standard error.
    #[must_use]
    pub fn stderr_sink(mut self, sink: OutputSink) -> Self {
        self.stderr_sink = Some(sink);
        self
    }

    /// Sets the sink that receives output while the program runs.
    #[must_use]
    pub fn sink(mut self, sink: OutputSink) -> Self {
        self.sink = Some(sink);
        self
    }
}
