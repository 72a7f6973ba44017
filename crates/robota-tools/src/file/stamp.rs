//! Which content of a file somebody has seen.

use std::fs::Metadata;
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

/// Identifies the content of a file at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// Its size in bytes.
    pub len: u64,
    /// When it was last changed, where the system knows.
    pub modified: Option<SystemTime>,
    /// SHA-256 of the content; absent for files too large to be read whole.
    pub digest: Option<[u8; 32]>,
}

impl FileStamp {
    /// The stamp of a file whose whole content is known.
    #[must_use]
    pub fn of(content: &[u8], metadata: &Metadata) -> Self {
        Self {
            len: content.len() as u64,
            modified: metadata.modified().ok(),
            digest: Some(Sha256::digest(content).into()),
        }
    }

    /// Whether both are of the same content. Where both hashes are known they alone decide: a
    /// file that was only touched, or rewritten as it was, is the same.
    #[must_use]
    pub fn same_content(&self, other: &Self) -> bool {
        match (&self.digest, &other.digest) {
            (Some(a), Some(b)) => a == b,
            _ => self.len == other.len && self.modified == other.modified,
        }
    }
}

#[cfg(test)]
mod tests;
