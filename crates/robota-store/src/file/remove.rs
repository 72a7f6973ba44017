//! Deletes sessions, and blobs that no session refers to.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use robota_core::ids::SessionId;
use robota_core::journal::JournalError;

use super::{Files, identity, replace};
use crate::disk::LockMode;
use crate::failpoint::failpoint;
use crate::io;

impl Files {
    /// Deletes a session and the blobs that only it refers to; returns whether it existed.
    pub(super) fn delete(&self, session: &SessionId) -> Result<bool, JournalError> {
        match self.identity(session) {
            Ok(_) => {}
            Err(JournalError::NotFound(_)) => return Ok(false),
            Err(error) => return Err(error),
        }
        let folder = self.folder(session);
        let lock = match self.take_lock(session) {
            Ok(lock) => lock,
            Err(JournalError::NotFound(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        let refs = self.refs(&folder)?;
        // The index first: a list must not show a session that cannot be opened.
        // Each step is synced before the next: a power failure in between must not bring back the
        // list entry of a session whose identity is gone.
        self.remove_if_exists(&folder.join("head.json"))?;
        self.disk.sync_folder(&folder).map_err(|error| io("sync", &folder, &error))?;
        self.remove_if_exists(&identity::path(&folder))?;
        self.disk.sync_folder(&folder).map_err(|error| io("sync", &folder, &error))?;
        failpoint!("store.delete.after_identity");
        self.empty(&folder)?;
        drop(lock);
        failpoint!("store.delete.before_sweep");
        self.sweep(&refs)?;
        Ok(true)
    }

    /// Deletes all files of a folder, the lock last, and then the folder.
    pub(super) fn empty(&self, folder: &Path) -> Result<(), JournalError> {
        let names = self.disk.names(folder).map_err(|error| io("list", folder, &error))?;
        for name in names.iter().filter(|name| *name != "lock") {
            self.remove_if_exists(&folder.join(name))?;
        }
        self.remove_if_exists(&folder.join("lock"))?;
        match self.disk.remove_folder(folder) {
            // Another process creates a session with that id again.
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(io("remove", folder, &error)),
            _ => Ok(()),
        }
    }

    fn remove_if_exists(&self, path: &Path) -> Result<(), JournalError> {
        match self.disk.remove(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(io("remove", path, &error)),
            _ => Ok(()),
        }
    }

    /// Deletes those of these blobs that no session refers to. Returns how many.
    pub(super) fn sweep(&self, candidates: &BTreeSet<String>) -> Result<usize, JournalError> {
        let blobs = self.root.join("blobs");
        if candidates.is_empty() || !self.disk.is_folder(&blobs) {
            return Ok(0);
        }
        let path = blobs.join("lock");
        // Exclusive: while the references are read, no session can add one.
        let _alone = self
            .disk
            .lock(&path, LockMode::Exclusive)
            .map_err(|error| io("lock", &path, &error))?;
        let mut left = candidates.clone();
        for name in self.disk.names(&self.root).map_err(|error| io("list", &self.root, &error))? {
            if left.is_empty() {
                break;
            }
            if name != "blobs" {
                for hash in self.refs(&self.root.join(name))? {
                    left.remove(&hash);
                }
            }
        }
        for hash in &left {
            self.remove_if_exists(&self.blob_path(hash))?;
        }
        // Writers hold the lock too, so that none of these files is being written.
        let shelves: BTreeSet<_> = candidates.iter().filter_map(|hash| hash.get(..2)).collect();
        for shelf in shelves {
            self.remove_leftovers(&blobs.join(shelf))?;
        }
        Ok(left.len())
    }

    /// Deletes what writers of blobs left that crashed before their rename.
    fn remove_leftovers(&self, shelf: &Path) -> Result<(), JournalError> {
        for name in self.names_if_folder(shelf)? {
            if replace::is_temporary(&name) {
                self.remove_if_exists(&shelf.join(name))?;
            }
        }
        Ok(())
    }

    fn names_if_folder(&self, path: &Path) -> Result<Vec<String>, JournalError> {
        match self.disk.names(path) {
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(Vec::new())
            }
            names => names.map_err(|error| io("list", path, &error)),
        }
    }

    /// Returns the hashes of all stored blobs.
    pub(super) fn all_blobs(&self) -> Result<BTreeSet<String>, JournalError> {
        let blobs = self.root.join("blobs");
        let mut hashes = BTreeSet::new();
        for prefix in self.names_if_folder(&blobs)?.into_iter().filter(|name| name.len() == 2) {
            let names = self.names_if_folder(&blobs.join(&prefix))?;
            hashes.extend(names.into_iter().filter(|name| is_hash(name)));
        }
        Ok(hashes)
    }
}

/// Returns whether a text is the hash of a blob, and so safe as a file name.
pub(super) fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
