//! The reaper: what ends our children's children when we cannot.
//!
//! On Linux a [`Supervisor`](crate::Supervisor) can be given a program to start with its first
//! child ([`Supervisor::with_reaper`](crate::Supervisor::with_reaper)): `robota-reaper`, or any
//! program that does nothing but [`serve`]. Each command then runs below a process that is a
//! *child subreaper*: whoever forks twice or calls `setsid` stays below it. When a call's time
//! is up, when it is cancelled, and when we are gone (SIGKILL included), everything below is
//! ended. If we are gone, how the command ended is written to a file: [`collect`] reads it when
//! the session is opened again.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use robota_core::process::ProcessIdentity;
use serde::{Deserialize, Serialize};

/// The program that is the reaper, and where it writes down what we did not live to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaperProgram {
    /// The program.
    pub path: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The folder for records; without one nothing is written down.
    pub records: Option<PathBuf>,
}

impl ReaperProgram {
    /// A program without arguments, and no records.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), args: Vec::new(), records: None }
    }

    /// The same with these arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }

    /// The same with a folder for records. It is made when there is something to write.
    #[must_use]
    pub fn records(mut self, dir: impl Into<PathBuf>) -> Self {
        self.records = Some(dir.into());
        self
    }
}

/// How a command ended whose end we did not live to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedExit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// A command that was running when we died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReaperRecord {
    /// Whose call it was.
    pub call: String,
    /// Its process.
    pub pid: u32,
    /// When that started, in the system's ticks since boot.
    pub start_time: u64,
    /// Which boot that was.
    pub boot_id: String,
    /// How it ended; absent while it is being ended, or lives on.
    pub exit: Option<RecordedExit>,
    /// Whether it was ended because we were gone. A command that had ended before, or was meant
    /// to live on, ended by itself.
    pub ended: bool,
}

impl ReaperRecord {
    /// The process it is about.
    #[must_use]
    pub fn process(&self) -> ProcessIdentity {
        ProcessIdentity {
            pid: self.pid,
            start_time: self.start_time,
            boot_id: self.boot_id.clone(),
        }
    }

    fn file(&self, dir: &Path) -> PathBuf {
        dir.join(format!("{}-{}.json", self.pid, self.start_time))
    }

    /// Writes it: whole, or not at all.
    #[cfg(target_os = "linux")]
    pub(crate) fn write(&self, dir: &Path) -> io::Result<()> {
        use std::io::Write as _;
        std::fs::create_dir_all(dir)?;
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.persist(self.file(dir)).map_err(|error| error.error)?;
        Ok(())
    }
}

/// Reads what was written down in a folder, oldest process first. What cannot be read is left
/// out; a folder that is not there holds nothing.
///
/// # Errors
/// When the folder cannot be read.
pub fn collect(dir: &Path) -> io::Result<Vec<ReaperRecord>> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut records: Vec<ReaperRecord> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|path| serde_json::from_slice(&std::fs::read(path).ok()?).ok())
        .collect();
    records.sort_by_key(|record| (record.start_time, record.pid));
    Ok(records)
}

/// Removes a record that is no longer needed.
///
/// # Errors
/// When it cannot be removed. One that is gone already is fine.
pub fn forget(dir: &Path, record: &ReaperRecord) -> io::Result<()> {
    match std::fs::remove_file(record.file(dir)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether that very process runs: never another one with its number.
#[must_use]
pub fn is_alive(process: &ProcessIdentity) -> bool {
    #[cfg(target_os = "linux")]
    {
        use crate::linux::table;
        let now = i32::try_from(process.pid).ok().and_then(table::entry);
        process.boot_id == table::boot_id()
            && now.is_some_and(|now| now.start_time == process.start_time && !now.zombie)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = process;
        false
    }
}

/// Ends a process that a dead run left, with everything below it. Returns whether there was
/// anything to end. A number that was given to another process hits nobody.
#[must_use]
pub fn end_left(process: &ProcessIdentity) -> bool {
    if !is_alive(process) {
        return false;
    }
    #[cfg(target_os = "linux")]
    {
        use crate::linux::{table, tree};
        use rustix::process::Signal;
        let Ok(pid) = i32::try_from(process.pid) else { return false };
        let Some(entry) = table::entry(pid) else { return false };
        if entry.start_time != process.start_time {
            return false;
        }
        // Stopped, it starts nothing more while those below it are ended.
        tree::signal(pid, entry, Signal::STOP);
        tree::kill(pid);
        tree::signal(pid, entry, Signal::KILL)
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

/// What a reaper program does, and nothing else: it must have one thread, and its standard input
/// is the stream it was started with. Returns when nobody is left to serve.
///
/// # Errors
/// If standard input is no such stream, or this is not Linux.
pub fn serve() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        crate::linux::server::serve()
    }
    #[cfg(not(target_os = "linux"))]
    {
        Err(io::ErrorKind::Unsupported.into())
    }
}
