//! Blobs in files, by their hash. One file for all sessions that refer to it.
//!
//! A session says that it refers to a blob (`refs`) before the blob is kept, both under a lock
//! that sweeping takes alone: so what is referred to is never swept, and what a crash leaves is a
//! reference too many, never one too few.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use robota_core::blob::{BLOB_LIMIT, Blobs};
use robota_core::ids::SessionId;
use robota_core::journal::JournalError;
use robota_core::message::BlobRef;

use super::port::blocking;
use super::raw::RawFile;
use super::remove::is_hash;
use super::{Files, io};
use crate::disk::{Make, Share};
use crate::failpoint::failpoint;

impl Files {
    /// Where a blob lies.
    pub(super) fn blob_path(&self, hash: &str) -> PathBuf {
        self.root.join("blobs").join(hash.get(..2).unwrap_or("xx")).join(hash)
    }

    /// The blobs a folder refers to. A torn last line is no reference.
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

    /// A fork refers to what its parent refers to.
    pub(super) fn copy_refs(&self, from: &Path, to: &Path) -> Result<(), JournalError> {
        let refs = self.refs(from)?;
        if refs.is_empty() {
            return Ok(());
        }
        let _together = self.blob_lock()?;
        let text: String = refs.iter().flat_map(|hash| [hash, "\n"]).collect();
        let path = to.join("refs");
        super::replace::replace(&*self.disk, &path, text.as_bytes(), self.wait())
            .map_err(|error| io("write", &path, &error))
    }

    fn blob_lock(&self) -> Result<crate::disk::Held, JournalError> {
        let blobs = self.root.join("blobs");
        let sync = |path: &Path| match self.level {
            crate::Level::Relaxed => Ok(()),
            _ => self.disk.sync_folder(path),
        };
        let made = self.disk.make_folder(&blobs).map_err(|error| io("create", &blobs, &error))?;
        if made {
            sync(&self.root).map_err(|error| io("sync", &self.root, &error))?;
        }
        let path = blobs.join("lock");
        self.disk.lock(&path, Share::Together).map_err(|error| io("lock", &path, &error))
    }

    fn put(&self, session: &SessionId, bytes: &[u8]) -> Result<BlobRef, JournalError> {
        let blob = BlobRef::checked(bytes)?;
        let folder = self.folder(session);
        self.make_root()?;
        self.disk.make_folder(&folder).map_err(|error| io("create", &folder, &error))?;
        let _together = self.blob_lock()?;
        if !self.refs(&folder)?.contains(&blob.sha256) {
            self.refer(&folder, &blob.sha256)?;
        }
        failpoint!("store.blob.after_ref");
        let path = self.blob_path(&blob.sha256);
        let there = self.disk.open_read(&path).and_then(|file| file.look());
        if there.is_ok_and(|look| look.len == blob.bytes) {
            return Ok(blob);
        }
        let shelf = path.parent().unwrap_or(&self.root).to_path_buf();
        let fail = |error: std::io::Error| io("write", &path, &error);
        let made = self.disk.make_folder(&shelf).map_err(fail)?;
        failpoint!("store.blob.before_rename");
        super::replace::replace(&*self.disk, &path, bytes, self.wait()).map_err(fail)?;
        failpoint!("store.blob.after_rename");
        if self.level != crate::Level::Relaxed {
            self.disk.sync_folder(&shelf).map_err(fail)?;
            if made {
                self.disk.sync_folder(&self.root.join("blobs")).map_err(fail)?;
            }
        }
        Ok(blob)
    }

    /// Notes that a session refers to a blob, safe from a loss of power.
    fn refer(&self, folder: &Path, hash: &str) -> Result<(), JournalError> {
        let path = folder.join("refs");
        let fail = |error: std::io::Error| io("write", &path, &error);
        let mut tail = self.disk.open_append(&path, Make::IfMissing).map_err(fail)?;
        let new = tail.length().map_err(fail)? == 0;
        // A line before that was torn must not swallow this one.
        let line = if new { format!("{hash}\n") } else { format!("\n{hash}\n") };
        tail.write(line.as_bytes()).map_err(fail)?;
        if self.level != crate::Level::Relaxed {
            tail.sync().map_err(fail)?;
            if new {
                self.disk.sync_folder(folder).map_err(fail)?;
            }
        }
        Ok(())
    }

    fn get(&self, session: &SessionId, blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError> {
        if !is_hash(&blob.sha256) {
            return Ok(None);
        }
        let path = self.blob_path(&blob.sha256);
        let file = match self.disk.open_read(&path) {
            Ok(file) => file,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return super::raw::find(self, &self.folder(session), &blob.sha256);
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
        let reason = "its content is not what its name says".to_owned();
        Err(JournalError::Damaged { place: path.display().to_string(), reason })
    }
}

/// The blobs of a session.
pub(super) struct FileBlobs {
    files: Arc<Files>,
    session: SessionId,
    raw: Arc<Mutex<Option<RawFile>>>,
}

impl FileBlobs {
    pub(super) fn new(files: Arc<Files>, session: SessionId) -> Self {
        Self { files, session, raw: Arc::default() }
    }
}

#[async_trait::async_trait]
impl Blobs for FileBlobs {
    async fn put(&self, bytes: &[u8]) -> Result<BlobRef, JournalError> {
        let (files, session, bytes) =
            (Arc::clone(&self.files), self.session.clone(), bytes.to_vec());
        blocking("the blobs", move || files.put(&session, &bytes)).await
    }

    async fn put_loose(&self, bytes: &[u8]) -> Result<BlobRef, JournalError> {
        let blob = BlobRef::checked(bytes)?;
        let (files, raw) = (Arc::clone(&self.files), Arc::clone(&self.raw));
        let (folder, bytes, hash) =
            (files.folder(&self.session), bytes.to_vec(), blob.sha256.clone());
        blocking("the raw payloads", move || {
            let mut raw = raw.lock().unwrap_or_else(PoisonError::into_inner);
            super::raw::append(&files, &folder, &mut raw, &hash, &bytes)
        })
        .await?;
        Ok(blob)
    }

    async fn get(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError> {
        let (files, session, blob) = (Arc::clone(&self.files), self.session.clone(), blob.clone());
        blocking("the blobs", move || files.get(&session, &blob)).await
    }
}

#[cfg(test)]
mod tests;
