//! Runs a child process with a scenario, and kills it.

use std::fmt;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tempfile::TempDir;

use crate::case_store::CaseStore;
use crate::scenario;

/// The variable with the child's task: scenario, number of the run, whether it waits for a failed
/// store, failpoint, store.
const TASK: &str = "ROBOTA_CRASH_CHILD";

/// A child that prints nothing for this long has hung. Only a failing test reaches the limit.
pub(crate) const HANGS: Duration = Duration::from_secs(120);

/// One scenario on one store, which is killed and then checked.
pub(crate) struct Case {
    /// The index in [`SCENARIOS`](crate::scenario::SCENARIOS).
    pub(crate) scenario: usize,
    pub(crate) case_store: CaseStore,
    /// Removed if the check passes.
    pub(crate) folder: TempDir,
}

/// When a child is killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kill {
    /// Never.
    None,
    /// The child kills itself at this failpoint.
    At(String),
    /// The test kills it after this many lines, and this many iterations of a busy loop.
    After { lines: usize, turns: u32 },
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("not killed"),
            Self::At(point) => write!(f, "killed at {point}"),
            Self::After { lines, turns } => {
                write!(f, "killed after line {lines} and {turns} turns")
            }
        }
    }
}

/// The output of a child.
pub(crate) struct ChildRun {
    pub(crate) killed: bool,
    pub(crate) lines: Vec<String>,
}

impl ChildRun {
    pub(crate) fn hits(&self) -> impl Iterator<Item = (&str, u64)> {
        self.lines.iter().filter_map(|line| {
            let (point, hits) = line.strip_prefix("hits ")?.split_once(' ')?;
            Some((point, hits.parse().ok()?))
        })
    }
}

/// Runs the scenario if this process was started as a child; does nothing otherwise.
pub(crate) fn entry() {
    let Ok(task) = std::env::var(TASK) else { return };
    let words: Vec<_> = task.splitn(5, ' ').collect();
    let [scenario, run, waits, arm, case_store] = words[..] else { panic!("{task}") };
    let arm = (arm != "-").then_some(arm);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (scenario, run) = (scenario.parse().unwrap(), run.parse().unwrap());
    runtime.block_on(scenario::run(
        CaseStore::decode(case_store),
        scenario,
        arm,
        run,
        waits == "waits",
    ));
}

/// A running child process.
pub(crate) struct ChildProcess {
    child: Child,
    pub(crate) stdin: ChildStdin,
    received: Receiver<String>,
    pub(crate) lines: Vec<String>,
    errors: std::path::PathBuf,
}

impl ChildProcess {
    pub(crate) fn begin(case: &Case, run: u32, arm: Option<&str>, waits: bool) -> Self {
        let Case { scenario, case_store, .. } = case;
        let waits = if waits { "waits" } else { "fails" };
        let task =
            format!("{scenario} {run} {waits} {} {}", arm.unwrap_or("-"), case_store.encode());
        let errors = case_store.folder.join(format!("stderr-{run}"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_process_entry", "--nocapture", "--test-threads=1"])
            .env(TASK, task)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, received) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(line) = line.strip_prefix('!')
                    && sender.send(line.to_owned()).is_err()
                {
                    return;
                }
            }
        });
        Self { child, stdin, received, lines: Vec::new(), errors }
    }

    /// Returns the next line; none at the end of the output.
    pub(crate) fn next(&mut self) -> Result<Option<String>, String> {
        use std::sync::mpsc::RecvTimeoutError;
        match self.received.recv_timeout(HANGS) {
            Ok(line) => {
                self.lines.push(line.clone());
                Ok(Some(line))
            }
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => {
                self.kill();
                Err(format!("the child hangs after {:?}", self.lines.last()))
            }
        }
    }

    /// Reads lines until one begins with this word; none if there is no such line.
    pub(crate) fn until(&mut self, word: &str) -> Result<Option<String>, String> {
        while let Some(line) = self.next()? {
            if line.starts_with(word) {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    /// Lets a child continue that waits for its store.
    pub(crate) fn resume(&mut self) {
        self.stdin.write_all(b"continue\n").unwrap();
    }

    pub(crate) fn kill(&mut self) {
        // Fails if it has exited already.
        let _ = self.child.kill();
    }

    /// Waits until it has exited: killed, or after its last step.
    pub(crate) fn end(mut self) -> Result<ChildRun, String> {
        while self.next()?.is_some() {}
        let status = self.child.wait().map_err(|error| error.to_string())?;
        let killed = status.signal() == Some(9);
        if killed || status.success() && self.lines.iter().any(|line| line == "done") {
            return Ok(ChildRun { killed, lines: self.lines });
        }
        let errors = std::fs::read_to_string(&self.errors).unwrap_or_default();
        Err(format!("the child failed ({status}):\n{errors}"))
    }
}

/// Runs a child to its end.
pub(crate) fn run_child(case: &Case, run: u32, kill: &Kill) -> Result<ChildRun, String> {
    let arm = match kill {
        Kill::At(point) => Some(point.as_str()),
        Kill::None | Kill::After { .. } => None,
    };
    let mut child = ChildProcess::begin(case, run, arm, false);
    if let Kill::After { lines, turns } = kill {
        for _ in 0..*lines {
            if child.next()?.is_none() {
                break;
            }
        }
        for _ in 0..*turns {
            std::hint::spin_loop();
        }
        child.kill();
    }
    child.end()
}
