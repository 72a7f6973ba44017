//! Records which files a session has read, so that tools edit only files that were read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::file::FileStamp;

/// The stamp of each file when it was last read or written. Shared by the tools of one session.
#[derive(Debug, Default)]
pub struct ReadLog {
    seen: Mutex<HashMap<PathBuf, FileStamp>>,
}

impl ReadLog {
    /// Creates an empty log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records that a file was read or written. The key is the canonical path, so links to the same
    /// file share one entry.
    pub fn record(&self, path: &Path, stamp: FileStamp) {
        // A file that cannot be resolved cannot be edited either.
        if let Ok(path) = path.canonicalize() {
            self.entries().insert(path, stamp);
        }
    }

    /// Returns the stamp of a file when it was last read or written; `None` if it was not.
    #[must_use]
    pub fn last_seen(&self, path: &Path) -> Option<FileStamp> {
        self.entries().get(&path.canonicalize().ok()?).copied()
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<PathBuf, FileStamp>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
