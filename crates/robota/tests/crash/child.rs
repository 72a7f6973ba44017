//! The life of a child, and how it ends.

use std::fmt;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tempfile::TempDir;

use crate::place::Place;
use crate::scene;

/// What a child is to do, in its environment: act, life, whether it is patient, failpoint, place.
const TASK: &str = "ROBOTA_CRASH_CHILD";

/// A child that says nothing for so long hangs: a guard, not a measure.
pub(crate) const HANGS: Duration = Duration::from_secs(120);

/// What is played on a store until it is looked at.
pub(crate) struct Trial {
    /// Which of the acts.
    pub(crate) act: usize,
    pub(crate) place: Place,
    /// Removed when all is well.
    pub(crate) folder: TempDir,
}

/// How a child is ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Death {
    /// It is not.
    None,
    /// By itself, at a failpoint.
    At(String),
    /// By us, some turns of a loop after it said so many lines.
    After { lines: usize, turns: u32 },
}

impl fmt::Display for Death {
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

/// What was seen of a life.
pub(crate) struct Seen {
    pub(crate) killed: bool,
    pub(crate) lines: Vec<String>,
}

impl Seen {
    pub(crate) fn hits(&self) -> impl Iterator<Item = (&str, u64)> {
        self.lines.iter().filter_map(|line| {
            let (point, hits) = line.strip_prefix("hits ")?.split_once(' ')?;
            Some((point, hits.parse().ok()?))
        })
    }
}

/// Does nothing unless it is started as a child.
pub(crate) fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let words: Vec<_> = task.splitn(5, ' ').collect();
    let [act, life, patient, arm, place] = words[..] else { panic!("{task}") };
    let arm = (arm != "-").then_some(arm);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (act, life) = (act.parse().unwrap(), life.parse().unwrap());
    runtime.block_on(scene::play(Place::decode(place), act, arm, life, patient == "patient"));
}

/// A child that runs.
pub(crate) struct Life {
    child: Child,
    pub(crate) stdin: ChildStdin,
    said: Receiver<String>,
    pub(crate) lines: Vec<String>,
    errors: std::path::PathBuf,
}

impl Life {
    pub(crate) fn begin(trial: &Trial, life: u32, arm: Option<&str>, patient: bool) -> Self {
        let Trial { act, place, .. } = trial;
        let patient = if patient { "patient" } else { "mortal" };
        let task = format!("{act} {life} {patient} {} {}", arm.unwrap_or("-"), place.encode());
        let errors = place.folder.join(format!("stderr-{life}"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_child_of_the_other_test", "--nocapture", "--test-threads=1"])
            .env(TASK, task)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, said) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(line) = line.strip_prefix('!')
                    && sender.send(line.to_owned()).is_err()
                {
                    return;
                }
            }
        });
        Self { child, stdin, said, lines: Vec::new(), errors }
    }

    /// The next line; none when it is over.
    pub(crate) fn next(&mut self) -> Result<Option<String>, String> {
        use std::sync::mpsc::RecvTimeoutError;
        match self.said.recv_timeout(HANGS) {
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

    /// Reads on until a line begins with this; none when it never does.
    pub(crate) fn until(&mut self, word: &str) -> Result<Option<String>, String> {
        while let Some(line) = self.next()? {
            if line.starts_with(word) {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    /// Tells it to go on.
    pub(crate) fn go_on(&mut self) {
        self.stdin.write_all(b"go on\n").unwrap();
    }

    pub(crate) fn kill(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
    }

    /// Waits for its end: by a kill, or well.
    pub(crate) fn end(mut self) -> Result<Seen, String> {
        while self.next()?.is_some() {}
        let status = self.child.wait().map_err(|error| error.to_string())?;
        let killed = status.signal() == Some(9);
        if killed || status.success() && self.lines.iter().any(|line| line == "done") {
            return Ok(Seen { killed, lines: self.lines });
        }
        let errors = std::fs::read_to_string(&self.errors).unwrap_or_default();
        Err(format!("the child failed ({status}):\n{errors}"))
    }
}

/// A whole life.
pub(crate) fn live(trial: &Trial, life: u32, death: &Death) -> Result<Seen, String> {
    let arm = match death {
        Death::At(point) => Some(point.as_str()),
        Death::None | Death::After { .. } => None,
    };
    let mut child = Life::begin(trial, life, arm, false);
    if let Death::After { lines, turns } = death {
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
