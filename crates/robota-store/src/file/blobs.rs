//! Blobs in files named by their hash. All sessions that refer to a blob share one file.
//!
//! A session records its reference (`refs`) before the blob is written, both under a shared lock;
//! sweeping takes that lock exclusively. So a sweep never deletes a blob that is referred to. A
//! crash can leave a reference without a blob, never a blob in use without a reference.

use std::collections::{BTreeSet, HashSet};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use robota_core::blob::{BLOB_LIMIT, Blobs};
use robota_core::ids::SessionId;
use robota_core::journal::JournalError;
use robota_core::message::BlobRef;

use super::Files;
use super::journal_store::run_blocking;
use super::remove::is_hash;
use crate::disk::{CreateMode, LockMode};
use crate::failpoint::failpoint;
use crate::io;

impl Files {
    /// Returns the path of a blob.
    pub(super) fn blob_path(&self, hash: &str) -> PathBuf {
        self.root.join("blobs").join(hash.get(..2).unwrap_or("xx")).join(hash)
    }

    /// Reads the hashes of the blobs that a folder refers to. A torn last line is ignored.
    pub(super) fn refs(&self, folder: &Path) -> Result<BTreeSet<String>, JournalError> {
        let path = folder.join("refs");
        let mut text = String::new();
        match self.disk.open_read(&path).and_then(|mut file| file.read_to_string(&mut text)) {
            Ok(_) => Ok(text.lines().filter(|line| is_hash(line)).map(str::to_owned).collect()),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(BTreeSet::new())
            }
            Err(error) => Err(io("read", &path, &error)),
        }
    }

    /// Copies the references of a parent to its fork.
    pub(super) fn copy_refs(&self, from: &Path, to: &Path) -> Result<(), JournalError> {
        let refs = self.refs(from)?;
        if refs.is_empty() {
            return Ok(());
        }
        let _together = self.blob_lock()?;
        let text: String = refs.iter().flat_map(|hash| [hash, "\n"]).collect();
        let path = to.join("refs");
        super::replace::replace(&*self.disk, &path, text.as_bytes(), self.sync_mode())
            .map_err(|error| io("write", &path, &error))
    }

    fn blob_lock(&self) -> Result<crate::disk::LockGuard, JournalError> {
        let blobs = self.root.join("blobs");
        let sync = |path: &Path| match self.level {
            crate::DurabilityLevel::Relaxed => Ok(()),
            _ => self.disk.sync_folder(path),
        };
        let made = self.disk.make_folder(&blobs).map_err(|error| io("create", &blobs, &error))?;
        if made {
            sync(&self.root).map_err(|error| io("sync", &self.root, &error))?;
        }
        let path = blobs.join("lock");
        self.disk.lock(&path, LockMode::Shared).map_err(|error| io("lock", &path, &error))
    }

    fn put(
        &self,
        session: &SessionId,
        bytes: &[u8],
        known: &mut KnownRefs,
    ) -> Result<BlobRef, JournalError> {
        let blob = BlobRef::checked(bytes)?;
        let folder = self.folder(session);
        self.make_root()?;
        self.disk.make_folder(&folder).map_err(|error| io("create", &folder, &error))?;
        let _together = self.blob_lock()?;
        self.read_new_refs(known, &folder)?;
        if !known.hashes.contains(&blob.sha256) {
            self.add_ref(&folder, &blob.sha256)?;
        }
        failpoint!("store.blob.after_ref");
        let path = self.blob_path(&blob.sha256);
        let shelf = path.parent().unwrap_or(&self.root).to_path_buf();
        let fail = |error: std::io::Error| io("write", &path, &error);
        let existing = self.disk.open_read(&path).and_then(|file| file.info());
        let exists = existing.is_ok_and(|info| info.len == blob.bytes);
        let made = !exists && self.disk.make_folder(&shelf).map_err(fail)?;
        if !exists {
            failpoint!("store.blob.before_rename");
            super::replace::replace(&*self.disk, &path, bytes, self.sync_mode()).map_err(fail)?;
            failpoint!("store.blob.after_rename");
        }
        if self.level != crate::DurabilityLevel::Relaxed {
            // The folder also if the blob exists: the writer that stored it may have been killed
            // before its sync.
            self.disk.sync_folder(&shelf).map_err(fail)?;
            // The process that stored an existing blob may not have synced its name yet.
            if made || exists {
                self.disk.sync_folder(&self.root.join("blobs")).map_err(fail)?;
            }
        }
        Ok(blob)
    }

    /// Reads the references that were added since `known` was last updated.
    fn read_new_refs(&self, known: &mut KnownRefs, folder: &Path) -> Result<(), JournalError> {
        let path = folder.join("refs");
        let fail = |error: std::io::Error| io("read", &path, &error);
        let mut file = match self.disk.open_read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                *known = KnownRefs::default();
                return Ok(());
            }
            file => file.map_err(fail)?,
        };
        let info = file.info().map_err(fail)?;
        if info.id != known.file || info.len < known.len {
            // The session was deleted and a new one with the same id created.
            *known = KnownRefs { file: info.id, ..KnownRefs::default() };
        }
        file.seek(SeekFrom::Start(known.len)).map_err(fail)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(fail)?;
        // A line without a newline may still be growing.
        let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = String::from_utf8_lossy(&text[..end]);
        known.hashes.extend(lines.lines().filter(|line| is_hash(line)).map(str::to_owned));
        known.len += end as u64;
        Ok(())
    }

    /// Records that a session refers to a blob; the record survives a power failure.
    fn add_ref(&self, folder: &Path, hash: &str) -> Result<(), JournalError> {
        let path = folder.join("refs");
        let fail = |error: std::io::Error| io("write", &path, &error);
        let mut tail = self.disk.open_append(&path, CreateMode::IfMissing).map_err(fail)?;
        let new = tail.length().map_err(fail)? == 0;
        // Starts with a newline, so that a torn line before it does not absorb this one.
        let line = if new { format!("{hash}\n") } else { format!("\n{hash}\n") };
        tail.write(line.as_bytes()).map_err(fail)?;
        if self.level != crate::DurabilityLevel::Relaxed {
            tail.sync().map_err(fail)?;
            if new {
                self.disk.sync_folder(folder).map_err(fail)?;
            }
        }
        Ok(())
    }

    fn get(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError> {
        if !is_hash(&blob.sha256) {
            return Ok(None);
        }
        let path = self.blob_path(&blob.sha256);
        let file = match self.disk.open_read(&path) {
            Ok(file) => file,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(io("open", &path, &error)),
        };
        let mut bytes = Vec::new();
        file.take(BLOB_LIMIT as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| io("read", &path, &error))?;
        if BlobRef::of(&bytes).sha256 == blob.sha256 {
            return Ok(Some(bytes));
        }
        let reason = "its content does not match its hash";
        Err(JournalError::damaged(path.display().to_string(), reason))
    }
}

pub(super) struct FileBlobs {
    files: Arc<Files>,
    session: SessionId,
    known: Arc<Mutex<KnownRefs>>,
}

/// The references of a session that were already read. A session can have many, and storing a blob
/// must not read them all again.
#[derive(Debug, Default)]
struct KnownRefs {
    /// The identity of the `refs` file, and how many bytes of it were read.
    file: u64,
    len: u64,
    hashes: HashSet<String>,
}

impl FileBlobs {
    pub(super) fn new(files: Arc<Files>, session: SessionId) -> Self {
        Self { files, session, known: Arc::default() }
    }
}

#[async_trait::async_trait]
impl Blobs for FileBlobs {
    async fn put(&self, bytes: &[u8]) -> Result<BlobRef, JournalError> {
        let (files, session, bytes) =
            (Arc::clone(&self.files), self.session.clone(), bytes.to_vec());
        let known = Arc::clone(&self.known);
        run_blocking("the blobs", move || {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            files.put(&session, &bytes, &mut known)
        })
        .await
    }

    async fn get(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError> {
        let (files, blob) = (Arc::clone(&self.files), blob.clone());
        run_blocking("the blobs", move || files.get(&blob)).await
    }
}

#[cfg(test)]
mod tests;
