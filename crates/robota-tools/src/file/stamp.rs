//! Stamps of file contents, to detect changes.

use std::fs::Metadata;
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

/// Identifies the content of a file at a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// The size in bytes, when the content was read.
    pub len: u64,
    /// The modification time; `None` if the system does not provide it.
    pub modified: Option<SystemTime>,
    /// The SHA-256 of the content; `None` for files that are too large to be hashed.
    pub digest: Option<[u8; 32]>,
}

impl FileStamp {
    /// Creates the stamp of a file from its whole content.
    #[must_use]
    pub fn of(content: &[u8], metadata: &Metadata) -> Self {
        Self {
            len: content.len() as u64,
            modified: metadata.modified().ok(),
            digest: Some(Sha256::digest(content).into()),
        }
    }

    /// Returns whether both stamps are of the same content. If both have hashes, only the hashes are
    /// compared: a file that was rewritten with the same content is unchanged.
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
