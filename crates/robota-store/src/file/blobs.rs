//! Blobs in files, by their hash.

use std::path::PathBuf;

use robota_core::blob::Blobs;
use robota_core::journal::JournalError;
use robota_core::message::BlobRef;

use super::disk;

/// The blobs of a store.
pub(super) struct FileBlobs {
    folder: PathBuf,
}

impl FileBlobs {
    /// Those in that folder.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }
}

#[async_trait::async_trait]
impl Blobs for FileBlobs {
    async fn put(&self, bytes: &[u8]) -> Result<BlobRef, JournalError> {
        let blob = BlobRef::of(bytes);
        let path = self.folder.join(&blob.sha256);
        let fail =
            |error: std::io::Error| JournalError::io("write", path.display().to_string(), &error);
        std::fs::create_dir_all(&self.folder).map_err(fail)?;
        let fresh = path.with_extension("new");
        let _ = std::fs::remove_file(&fresh);
        disk::create_new(&fresh, bytes).map_err(fail)?;
        disk::open_append(&fresh, false).and_then(|file| file.sync_data()).map_err(fail)?;
        std::fs::rename(&fresh, &path).map_err(fail)?;
        disk::sync_folder(&self.folder).map_err(fail)?;
        Ok(blob)
    }

    async fn get(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError> {
        let path = self.folder.join(&blob.sha256);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(JournalError::io("read", path.display().to_string(), &error)),
        }
    }
}
