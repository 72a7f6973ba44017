//! The few things done to files. Everything the file store does to a disk goes through [`Disk`],
//! so that a disk which fails, fills up, folds case or loses what was not synced can be put in its
//! place.

mod real;

use std::fmt::Debug;
use std::io;
use std::path::Path;

pub use real::RealDisk;

/// A disk. Links are not followed where a file or a session's folder is expected: a checkout may
/// hold one there.
pub trait Disk: Debug + Send + Sync {
    /// Opens a regular file for reading.
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn ReadFile>>;

    /// Opens a regular file for appending.
    fn open_append(&self, path: &Path, create: CreateMode) -> io::Result<Box<dyn AppendFile>>;

    /// Makes a folder only its owner may enter; its parent must be there. Returns whether it was
    /// missing. What is there and no folder is an error.
    fn make_folder(&self, path: &Path) -> io::Result<bool>;

    /// Whether there is a folder, or a link to one.
    fn is_folder(&self, path: &Path) -> bool;

    /// The names in a folder; those that are no UTF-8 are left out, none is ours.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// Gives a file another name, in place of whatever has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file one more name, which must be free.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;

    /// Waits until the names in a folder survive the loss of power.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;

    /// Takes a lock that ends with the process, creating its file if need be, and notes in it who
    /// has it; or returns the note of whoever has it.
    fn try_lock(&self, path: &Path, note: &str) -> io::Result<Result<LockGuard, String>>;

    /// Waits for a lock, alone or together with others who share it.
    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<LockGuard>;

    /// What network a folder lies on, if on one: its locks and syncs cannot be relied upon.
    fn network_file_system(&self, folder: &Path) -> io::Result<Option<&'static str>>;

    /// The user we are.
    fn user_id(&self) -> u32;
}

/// A lock, until it is dropped.
pub type LockGuard = Box<dyn Send + Sync>;

/// Whether others may have a lock as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// Nobody.
    Exclusive,
    /// Those who share it too.
    Shared,
}

/// Whether a file is made when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateMode {
    /// It must be there.
    Never,
    /// If it is missing.
    IfMissing,
    /// It must be missing.
    Always,
}

/// A file that is read.
pub trait ReadFile: io::Read + io::Seek + Send {
    /// How long it is, and whose.
    fn info(&self) -> io::Result<FileInfo>;
}

/// What is known of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileInfo {
    /// How many bytes it has.
    pub len: u64,
    /// Whose it is.
    pub user_id: u32,
    /// Tells it from a file that had the same name before.
    pub id: u64,
}

/// The end of a file that grows.
pub trait AppendFile: Send {
    /// Appends all of it. May leave a part behind when it fails.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Waits until what was written survives the loss of power.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts off what is beyond that length.
    fn truncate(&mut self, len: u64) -> io::Result<()>;

    /// How long it is.
    fn length(&self) -> io::Result<u64>;
}
