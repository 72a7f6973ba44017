//! The `Checkpoints` port: what files were before a tool changes them. And the [`Aftermath`] port:
//! who tidies up when the process died in between.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blob::Blobs;
use crate::error::ErrorData;
use crate::ids::CallId;
use crate::message::BlobRef;
use crate::process::ProcessIdentity;

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

/// A file that is about to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changing<'a> {
    /// The file, canonical.
    pub path: &'a Path,
    /// What is there.
    pub before: Before<'a>,
    /// What is to be there.
    pub after: &'a [u8],
}

/// Is handed files before a tool changes them. Changes whose checkpoint fails are not made.
#[async_trait::async_trait]
pub trait Checkpoints: Send + Sync {
    /// A call is about to change these files, all of them or none. When this returns, what was
    /// there is kept, and it is known which call was about to change it.
    async fn before_change(&self, call: &CallId, files: &[Changing<'_>]) -> Result<(), ErrorData>;
}

/// Keeps nothing. For tools used without a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCheckpoints;

#[async_trait::async_trait]
impl Checkpoints for NoCheckpoints {
    async fn before_change(
        &self,
        _call: &CallId,
        _files: &[Changing<'_>],
    ) -> Result<(), ErrorData> {
        Ok(())
    }
}

/// What is known of a file before a change, for the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    /// The file, canonical.
    pub path: String,
    /// Its content; absent when there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<BlobRef>,
    /// Its permission bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// The hash of the content it is to have. That content itself is in the call.
    pub after_sha256: String,
}

/// How a file was found that a dead writer was about to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FoundFile {
    /// As it was before.
    Old,
    /// Changed, as it was to be.
    New,
    /// Changed, while others of the same call were not: it is as it was before again.
    PutBack,
    /// Neither: somebody else changed it since, or it cannot be read.
    Other,
}

/// Tidies up after a dead writer. Doing it twice does no harm.
#[async_trait::async_trait]
pub trait Aftermath: Send + Sync {
    /// Ends what is left of a process, with everything below it; says how it ended, if that is
    /// known.
    async fn end(&self, call: &CallId, process: &ProcessIdentity) -> Option<i32>;

    /// Makes sure that of these files, which one call was about to change, all are changed or
    /// none is; says how each is now. What somebody else changed since is left alone.
    async fn settle(&self, files: &[FileChange], blobs: &dyn Blobs) -> Vec<FoundFile>;
}
