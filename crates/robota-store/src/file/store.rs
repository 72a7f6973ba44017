//! The store: what it is made with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::clock::{Clock, SystemClock};
use robota_core::ids::SessionId;

use super::Files;
use super::seal::OwnerKey;
use super::writer::SEGMENT_BYTES;
use crate::DurabilityLevel;
use crate::disk::{Disk, RealDisk};

/// Keeps each session in a folder of files below a root.
///
/// Opening costs what was written since the last turn, not the length of the session. It cuts off
/// a last line whose write did not finish, which nobody was told is safe; any other damage is an
/// error that names the file and the place, and nothing is changed.
#[derive(Clone)]
pub struct FileStore {
    pub(super) files: Arc<Files>,
}

impl std::fmt::Debug for FileStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileStore").field("root", &self.files.root).finish_non_exhaustive()
    }
}

impl FileStore {
    /// A store below that folder, which is made when the first session is.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            files: Arc::new(Files {
                disk: Arc::new(RealDisk),
                root: root.into(),
                segment_bytes: SEGMENT_BYTES,
                level: DurabilityLevel::default(),
                key: None,
                clock: Arc::new(SystemClock),
            }),
        }
    }

    fn with(self, change: impl FnOnce(&mut Files)) -> Self {
        let mut files = Arc::unwrap_or_clone(self.files);
        change(&mut files);
        Self { files: Arc::new(files) }
    }

    /// The same store on another disk.
    #[must_use]
    pub fn with_disk(self, disk: Arc<dyn Disk>) -> Self {
        self.with(|files| files.disk = disk)
    }

    /// The same store, waiting for that much.
    #[must_use]
    pub fn with_level(self, level: DurabilityLevel) -> Self {
        self.with(|files| files.level = level)
    }

    /// The same store, which knows the sessions of its user by a secret: those it begins are
    /// sealed with it, and those without its seal are foreign. Without one, a session is its user's
    /// whose files are.
    #[must_use]
    pub fn with_owner_key(self, secret: impl Into<Vec<u8>>) -> Self {
        self.with(|files| files.key = Some(OwnerKey::new(secret.into())))
    }

    /// The same store with another clock; it dates locks.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        self.with(|files| files.clock = clock)
    }

    /// The same store with segments of another size.
    #[must_use]
    pub fn with_segment_bytes(self, bytes: u64) -> Self {
        self.with(|files| files.segment_bytes = bytes.max(1))
    }

    /// The folder it keeps sessions in.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.files.root
    }

    /// The folder a session is kept in, whether it exists or not.
    #[must_use]
    pub fn folder(&self, session: &SessionId) -> PathBuf {
        self.files.folder(session)
    }
}

#[cfg(test)]
mod tests;
