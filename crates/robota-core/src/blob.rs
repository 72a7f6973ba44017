//! The `Blobs` port: large payloads by their hash, so that events stay small.

use sha2::{Digest as _, Sha256};

use crate::journal::JournalError;
use crate::message::BlobRef;

/// Up to this many bytes stay in the event; more go to a blob.
pub const INLINE_LIMIT: usize = 32 * 1024;

/// A blob is no larger than this.
pub const BLOB_LIMIT: usize = 64 * 1024 * 1024;

/// Keeps bytes by their hash. The same bytes are kept once.
#[async_trait::async_trait]
pub trait Blobs: Send + Sync {
    /// Keeps the bytes; when it returns they survive a loss of power.
    async fn put(&self, bytes: &[u8]) -> Result<BlobRef, JournalError>;

    /// The bytes, or none when nobody kept them.
    async fn get(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError>;
}

/// Keeps nothing: for calls outside of a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBlobs;

#[async_trait::async_trait]
impl Blobs for NoBlobs {
    async fn put(&self, _bytes: &[u8]) -> Result<BlobRef, JournalError> {
        Err(JournalError::Unsuitable {
            place: "a call outside of a session".to_owned(),
            reason: "it has no blobs".to_owned(),
        })
    }

    async fn get(&self, _blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(None)
    }
}

impl BlobRef {
    /// The reference these bytes have, if they are not too many to be kept.
    ///
    /// # Errors
    /// [`JournalError::TooLarge`] beyond [`BLOB_LIMIT`].
    pub fn checked(bytes: &[u8]) -> Result<Self, JournalError> {
        if bytes.len() > BLOB_LIMIT {
            return Err(JournalError::TooLarge { bytes: bytes.len(), limit: BLOB_LIMIT });
        }
        Ok(Self::of(bytes))
    }

    /// The reference these bytes have.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self { sha256: hex(&Sha256::digest(bytes)), bytes: bytes.len() as u64 }
    }
}

/// Bytes in hexadecimal, lower case.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
