//! The file operations that the file store needs. The store reaches the disk only through [`Disk`],
//! so tests can replace it with a simulated disk that fails, fills up, folds case or loses what was
//! not synced.

mod real;

use std::fmt::Debug;
use std::io;
use std::path::Path;

pub use real::RealDisk;

/// Reads, writes and syncs the files of a store. Where a file or a session's folder is expected,
/// implementations do not follow symbolic links: a checked-out repository may contain one there.
pub trait Disk: Debug + Send + Sync {
    /// Opens a regular file for reading.
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn ReadFile>>;

    /// Opens a regular file for appending.
    fn open_append(&self, path: &Path, create: CreateMode) -> io::Result<Box<dyn AppendFile>>;

    /// Creates a folder that only its owner may enter; the parent must exist. Returns whether the
    /// folder was missing. Fails if the path exists and is not a folder.
    fn make_folder(&self, path: &Path) -> io::Result<bool>;

    /// Returns whether the path is a folder, or a link to one.
    fn is_folder(&self, path: &Path) -> bool;

    /// Lists the names in a folder. Names that are not UTF-8 are left out: the store creates none.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// Renames a file, replacing the file that has the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Adds a hard link to a file; the new name must be unused.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Deletes a file. The deletion survives a power failure only after [`Disk::sync_folder`].
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Deletes a folder; fails if it is not empty.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;

    /// Waits until the names in a folder survive a power failure.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;

    /// Takes a lock that ends with the process, and writes `note` (who holds it) into the lock
    /// file, which is created if it is missing. If another process holds the lock, returns that
    /// process's note.
    fn try_lock(&self, path: &Path, note: &str) -> io::Result<Result<LockGuard, String>>;

    /// Waits for a lock, exclusive or shared.
    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<LockGuard>;

    /// Returns the name of the network file system that a folder is on, if it is on one. Locks and
    /// syncs are not reliable there.
    fn network_file_system(&self, folder: &Path) -> io::Result<Option<&'static str>>;

    /// Returns the id of the user that runs this process.
    fn user_id(&self) -> u32;
}

/// Holds a lock until it is dropped.
pub type LockGuard = Box<dyn Send + Sync>;

/// Whether other holders may have a lock at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// No other process holds it, exclusively or shared.
    Exclusive,
    /// Other holders that also take it as shared.
    Shared,
}

/// Whether opening a file creates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateMode {
    /// The file must exist.
    Never,
    /// Creates the file if it is missing.
    IfMissing,
    /// The file must not exist.
    Always,
}

/// A file that is open for reading.
pub trait ReadFile: io::Read + io::Seek + Send {
    /// Returns the file's length, owner and identity.
    fn info(&self) -> io::Result<FileInfo>;
}

/// What the system says about an open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileInfo {
    /// Length in bytes when the file was asked.
    pub len: u64,
    /// The user that owns the file.
    pub user_id: u32,
    /// Distinguishes the file from an earlier file with the same name.
    pub id: u64,
}

/// A file that is open for appending.
pub trait AppendFile: Send {
    /// Appends all bytes. If it fails, some of them may have been written.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Waits until what was written survives a power failure.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts the file to that length.
    fn truncate(&mut self, len: u64) -> io::Result<()>;

    /// Returns the length in bytes, including what this handle has written.
    fn length(&self) -> io::Result<u64>;
}
