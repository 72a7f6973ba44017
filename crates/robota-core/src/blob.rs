//! The `Blobs` port: stores large content by hash, so that events stay small.

use sha2::{Digest as _, Sha256};

use crate::hash::hex;
use crate::journal::JournalError;
use crate::message::BlobRef;

/// Content up to this many bytes stays in the event; larger content becomes a blob.
pub const INLINE_LIMIT: usize = 32 * 1024;

/// A blob that is larger than this many bytes is refused.
pub const BLOB_LIMIT: usize = 64 * 1024 * 1024;

/// Stores content by its hash. The same content is stored once.
#[async_trait::async_trait]
pub trait Blobs: Send + Sync {
    /// Stores the content. When this returns, it survives a power failure.
    async fn put(&self, bytes: &[u8]) -> Result<BlobRef, JournalError>;

    /// Returns the content, or `None` if it is not stored.
    async fn get(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError>;
}

/// Stores nothing, for calls outside a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBlobs;

#[async_trait::async_trait]
impl Blobs for NoBlobs {
    async fn put(&self, _bytes: &[u8]) -> Result<BlobRef, JournalError> {
        Err(JournalError::Unsuitable {
            place: "a call outside of a session".to_owned(),
            reason: "it has no blob store".to_owned(),
        })
    }

    async fn get(&self, _blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(None)
    }
}

impl BlobRef {
    /// Returns the reference of this content, unless it is too large to be stored.
    ///
    /// # Errors
    /// [`JournalError::TooLarge`] beyond [`BLOB_LIMIT`].
    pub fn checked(bytes: &[u8]) -> Result<Self, JournalError> {
        if bytes.len() > BLOB_LIMIT {
            return Err(JournalError::TooLarge { bytes: bytes.len(), limit: BLOB_LIMIT });
        }
        Ok(Self::of(bytes))
    }

    /// Returns the reference of this content.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self { sha256: hex(&Sha256::digest(bytes)), bytes: bytes.len() as u64 }
    }
}
