//! The `Checkpoints` port: what a file was before a tool changes it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blob::Blobs;
use crate::error::{Diagnose as _, ErrorData};
use crate::ids::CallId;
use crate::message::BlobRef;

/// A file before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before<'a> {
    /// There was none.
    Missing,
    /// It had this content.
    File {
        /// All of it.
        content: &'a [u8],
        /// Its permission bits, where the system has such.
        mode: Option<u32>,
    },
}

/// Is handed every file before a tool changes it. A change whose checkpoint fails is not made.
#[async_trait::async_trait]
pub trait Checkpoints: Send + Sync {
    /// A call is about to change that file. When this returns, what was there is kept.
    async fn before_change(
        &self,
        call: &CallId,
        path: &Path,
        before: Before<'_>,
    ) -> Result<(), ErrorData>;
}

/// Keeps nothing. For tools used without a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCheckpoints;

#[async_trait::async_trait]
impl Checkpoints for NoCheckpoints {
    async fn before_change(
        &self,
        _call: &CallId,
        _path: &Path,
        _before: Before<'_>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }
}

/// What is known of a file before a change, for the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileCheckpoint {
    /// The call that changes it.
    pub call: CallId,
    /// The file, canonical.
    pub path: PathBuf,
    /// Its content; absent when there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<BlobRef>,
    /// Its permission bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// Puts what was there into blobs, and remembers in which order.
pub struct BlobCheckpoints {
    blobs: Arc<dyn Blobs>,
    made: Mutex<Vec<FileCheckpoint>>,
}

impl BlobCheckpoints {
    /// Into these blobs.
    pub fn new(blobs: Arc<dyn Blobs>) -> Self {
        Self { blobs, made: Mutex::default() }
    }

    /// The checkpoints made since this was last asked, oldest first.
    pub fn take(&self) -> Vec<FileCheckpoint> {
        std::mem::take(&mut *self.made.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait::async_trait]
impl Checkpoints for BlobCheckpoints {
    async fn before_change(
        &self,
        call: &CallId,
        path: &Path,
        before: Before<'_>,
    ) -> Result<(), ErrorData> {
        let (blob, mode) = match before {
            Before::Missing => (None, None),
            Before::File { content, mode } => {
                let kept = self.blobs.put(content).await.map_err(|error| error.to_data())?;
                (Some(kept), mode)
            }
        };
        let checkpoint = FileCheckpoint { call: call.clone(), path: path.to_owned(), blob, mode };
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(checkpoint);
        Ok(())
    }
}
