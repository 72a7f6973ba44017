//! The file store and its options.

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::clock::{Clock, SystemClock};
use robota_core::ids::SessionId;
use robota_core::journal::JournalError;

use super::Files;
use super::seal::OwnerKey;
use super::segment::Segment;
use super::writer::SEGMENT_BYTES;
use crate::DurabilityLevel;
use crate::disk::{Disk, RealDisk};

/// Stores each session in a folder of files below a root folder.
///
/// Opening a session costs what was written since its last turn, not its length. Opening cuts off a
/// last line that was not written completely, because it was never acknowledged. Any other damage
/// is an error that names the file and the place; then nothing is changed.
///
/// ```
/// use robota_core::journal::{JournalStore as _, SessionFilter};
/// use robota_store::FileStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let store = FileStore::new(folder.path().join("sessions"));
/// assert!(store.list(&SessionFilter::default()).await?.sessions.is_empty());
/// # Ok(()) }
/// ```
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
    /// Creates a store below that folder, which is created with the first session.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            files: Arc::new(Files {
                disk: Arc::new(RealDisk),
                root: root.into(),
                segment_bytes: SEGMENT_BYTES,
                level: DurabilityLevel::default(),
                key: None,
                clock: Arc::new(SystemClock),
                open_files: Arc::default(),
            }),
        }
    }

    fn with(self, change: impl FnOnce(&mut Files)) -> Self {
        let mut files = Arc::unwrap_or_clone(self.files);
        change(&mut files);
        Self { files: Arc::new(files) }
    }

    /// Uses another disk. Tests pass one that fails or loses power.
    #[must_use]
    pub fn with_disk(self, disk: Arc<dyn Disk>) -> Self {
        self.with(|files| files.disk = disk)
    }

    /// Sets when appends wait for the disk.
    #[must_use]
    pub fn with_level(self, level: DurabilityLevel) -> Self {
        self.with(|files| files.level = level)
    }

    /// Sets the user's secret. The store seals the sessions it creates with it, and treats sessions
    /// without this seal as foreign. Without a secret, a session is foreign if another user owns
    /// its files.
    #[must_use]
    pub fn with_owner_key(self, secret: impl Into<Vec<u8>>) -> Self {
        self.with(|files| files.key = Some(OwnerKey::new(secret.into())))
    }

    /// Uses another clock. It dates the notes in lock files.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        self.with(|files| files.clock = clock)
    }

    /// Sets the size at which a segment is closed.
    #[must_use]
    pub fn with_segment_bytes(self, bytes: u64) -> Self {
        self.with(|files| files.segment_bytes = bytes.max(1))
    }

    /// Returns the files that contain the events of a session, oldest first, each with the number of
    /// lines that belong to it. None of the number means all: only a fork shares the beginning of a
    /// file with its parent.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn journal_files(
        &self,
        session: &SessionId,
    ) -> Result<Vec<(PathBuf, Option<u64>)>, JournalError> {
        let segments = super::segment::list(&*self.files.disk, &self.folder(session))?;
        let lines = |segment: Segment| {
            (segment.path, segment.end.map(|end| end.saturating_sub(segment.first)))
        };
        Ok(segments.into_iter().map(lines).collect())
    }

    /// Returns the folder of a session, whether it exists or not.
    #[must_use]
    pub fn folder(&self, session: &SessionId) -> PathBuf {
        self.files.folder(session)
    }
}

#[cfg(test)]
mod tests;
