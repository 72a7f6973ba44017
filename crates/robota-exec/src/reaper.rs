//! The reaper: a separate process that ends the descendants of our children, also after a crash of
//! this process.
//!
//! On Linux a [`Supervisor`](crate::Supervisor) can start a reaper program with its first child
//! ([`Supervisor::with_reaper`](crate::Supervisor::with_reaper)): `robota-reaper`, or any
//! program that only calls [`serve`]. The reaper forks one *monitor* process for each command. The
//! monitor is a *child subreaper*: a process that forks twice or calls `setsid` stays its
//! descendant. When a call times out or is cancelled, and when this process dies (also by SIGKILL),
//! the monitor ends all its descendants. If this process died, the monitor writes the exit status
//! of the command to a record file; [`read_records`] reads these files when the session is resumed.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use robota_core::process::ProcessIdentity;
use serde::{Deserialize, Serialize};

/// The reaper program, and where its monitors write records after a crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaperProgram {
    /// The executable, which must call nothing but [`serve`].
    pub path: PathBuf,
    /// The arguments with which it is started; none by default.
    pub args: Vec<OsString>,
    /// The folder for records; without one no records are written.
    pub records: Option<PathBuf>,
}

impl ReaperProgram {
    /// Creates a reaper program without arguments and without records.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), args: Vec::new(), records: None }
    }

    /// Sets the arguments with which the reaper is started.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the folder for records. It is created with the first record.
    #[must_use]
    pub fn records(mut self, dir: impl Into<PathBuf>) -> Self {
        self.records = Some(dir.into());
        self
    }
}

/// How a command ended that was running when this process crashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedExit {
    /// It exited by itself with this code.
    Code(i32),
    /// The signal with this number ended it, possibly that of the monitor.
    Signal(i32),
}

/// A command that was running when the supervisor's process crashed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReaperRecord {
    /// The id of the tool call that started it.
    pub call: String,
    /// The process id of the command, which may name another process today.
    pub pid: u32,
    /// When the process started, in clock ticks since boot.
    pub start_time: u64,
    /// The kernel's id of the boot in which it ran.
    pub boot_id: String,
    /// How it ended; absent while it is being ended, or while it keeps running in the background.
    pub exit: Option<RecordedExit>,
    /// Whether the monitor ended it because of the crash. False for a command that had already
    /// ended, or that was started to survive a crash.
    pub ended: bool,
}

impl ReaperRecord {
    /// Returns the identity of the process.
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

    /// Writes the record under a temporary name and renames it, so that a reader never sees half of
    /// it.
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

/// The maximum size of a record.
const MAX_RECORD_BYTES: u64 = 64 * 1024;

/// Reads the records in a folder, oldest process first. Files that cannot be read, or are no regular
/// files, are ignored; a missing folder has no records.
///
/// # Errors
/// If the folder cannot be read.
pub fn read_records(dir: &Path) -> io::Result<Vec<ReaperRecord>> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut records: Vec<ReaperRecord> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        // A record that is being written has a temporary name without this extension.
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|path| serde_json::from_slice(&read_regular(&path).ok()?).ok())
        .collect();
    records.sort_by_key(|record| (record.start_time, record.pid));
    Ok(records)
}

/// Reads a regular file. Other kinds are an error: opening a named pipe would wait for a writer.
fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut options = std::fs::File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        // NONBLOCK: opening a named pipe returns instead of waiting for a writer. It has no effect
        // on regular files.
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(MAX_RECORD_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Deletes a record that is no longer needed.
///
/// # Errors
/// If it cannot be deleted. It is not an error if it does not exist.
pub fn remove_record(dir: &Path, record: &ReaperRecord) -> io::Result<()> {
    match std::fs::remove_file(record.file(dir)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the identity of the calling process; `None` if the system does not provide it.
#[must_use]
pub fn own_identity() -> Option<ProcessIdentity> {
    #[cfg(target_os = "linux")]
    {
        i32::try_from(std::process::id()).ok().and_then(crate::linux::proc_table::identity)
    }
    #[cfg(not(target_os = "linux"))]
    {
        None
    }
}

/// Returns whether this process still runs. Another process that reuses its id does not count.
#[must_use]
pub fn is_alive(process: &ProcessIdentity) -> bool {
    #[cfg(target_os = "linux")]
    {
        use crate::linux::proc_table;
        let entry = i32::try_from(process.pid).ok().and_then(proc_table::entry);
        process.boot_id == proc_table::boot_id()
            && entry.is_some_and(|entry| entry.start_time == process.start_time && !entry.zombie)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = process;
        false
    }
}

/// Kills a process that a crashed run left behind, and all its descendants. Returns whether it was
/// running. Another process that reuses its id is not killed.
#[must_use]
pub fn kill_leftover(process: &ProcessIdentity) -> bool {
    if !is_alive(process) {
        return false;
    }
    #[cfg(target_os = "linux")]
    {
        use crate::linux::{proc_table, tree};
        use rustix::process::Signal;
        let Ok(pid) = i32::try_from(process.pid) else { return false };
        let Some(entry) = proc_table::entry(pid) else { return false };
        // Between the check above and this read the process may have ended and its id been reused.
        if entry.start_time != process.start_time {
            return false;
        }
        // While it is stopped it cannot start new processes, so all descendants are found.
        tree::signal(pid, entry, Signal::STOP);
        tree::kill(pid);
        tree::signal(pid, entry, Signal::KILL)
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

/// Runs the reaper. The program must do nothing else and must have only one thread. Its standard
/// input is the socket to the supervisor. Returns when the supervisor has closed the socket.
///
/// # Errors
/// If standard input is not such a socket, or the system is not Linux.
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
