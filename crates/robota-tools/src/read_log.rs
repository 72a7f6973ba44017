//! Which files a session has seen, so that nobody edits what they have not read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::file::FileStamp;

/// The content of each file as it was last read or written here. Shared by the tools of one
/// session.
#[derive(Debug, Default)]
pub struct ReadLog {
    seen: Mutex<HashMap<PathBuf, FileStamp>>,
}

impl ReadLog {
    /// Nothing was read yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes what was read or written. A file has one entry, whichever links lead to it.
    pub fn record(&self, path: &Path, stamp: FileStamp) {
        if let Ok(path) = path.canonicalize() {
            self.entries().insert(path, stamp);
        }
    }

    /// What was last seen of a file.
    #[must_use]
    pub fn seen(&self, path: &Path) -> Option<FileStamp> {
        self.entries().get(&path.canonicalize().ok()?).copied()
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<PathBuf, FileStamp>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
