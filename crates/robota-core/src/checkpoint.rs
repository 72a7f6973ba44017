//! Three ports: [`Checkpoints`] records files before tools and commands change them,
//! [`RestoreFiles`] restores them, and [`CrashCleanup`] cleans up when the process crashed during
//! such a change.

mod path_state;
mod plan;

use std::path::Path;

pub use path_state::{
    FileContent, FileDelta, FileStat, NotCovered, NotSaved, PathState, SavedContent, TreeChange,
    TreeEntry,
};
pub use plan::{PlannedFile, RecordedChange, RestoreStep, plan};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blob::Blobs;
use crate::error::ErrorData;
use crate::event::{FilesChanged, FilesWatched, NotRestored};
use crate::ids::CallId;
use crate::message::BlobRef;
use crate::process::ProcessIdentity;

/// Lists the folders in which version control systems keep their own data. They are not recorded,
/// and a restore changes nothing in them.
pub const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// A `files_changed` event has at most this many files.
pub const MAX_CHANGES: usize = 500;

/// What a file was before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before<'a> {
    /// The file did not exist, so a restore removes it.
    Missing,
    /// The file existed, with this content.
    File {
        /// The whole content, which is stored as a blob so that it can be restored.
        content: &'a [u8],
        /// Its permission bits; `None` on systems without them.
        mode: Option<u32>,
    },
}

/// A change of a file that a tool is about to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changing<'a> {
    /// The canonical path of the file.
    pub path: &'a Path,
    /// The file as it is now.
    pub before: Before<'a>,
    /// The content the file will have.
    pub after: &'a [u8],
    /// The folders of its path that do not exist and will be created, outermost first.
    pub new_folders: &'a [String],
}

/// Saves files before a tool changes them. If saving fails, the tool does not make the change.
#[async_trait::async_trait]
pub trait Checkpoints: Send + Sync {
    /// Called before `call` changes these files, all of them or none. When this returns `Ok`, the
    /// old content is saved, and it is recorded which call is about to change it.
    async fn before_change(&self, call: &CallId, files: &[Changing<'_>]) -> Result<(), ErrorData>;

    /// Returns whether a tool that runs a command has to report the files that the command changes,
    /// with [`watched`](Self::watched) and [`changed`](Self::changed). False for a call that is
    /// proven to change nothing.
    fn records_commands(&self) -> bool {
        false
    }

    /// Called before a command runs, if the files of the workspace changed since the last call. When
    /// this returns `Ok`, the record is durable; the contents it refers to are stored already.
    async fn watched(&self, _files: FilesWatched) -> Result<(), ErrorData> {
        Ok(())
    }

    /// Called after a command ended, with the files that it changed.
    async fn changed(&self, _files: FilesChanged) -> Result<(), ErrorData> {
        Ok(())
    }
}

/// Saves nothing. For tools that are used without a session.
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

/// A change of a file as the journal records it, before it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    /// The canonical path of the file.
    pub path: String,
    /// The content before the change; absent if the file did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<BlobRef>,
    /// The permission bits before the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// The SHA-256 of the content after the change. The content itself is not saved: the arguments
    /// of the call have it.
    pub after_sha256: String,
    /// The folders of its path that the change creates, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_folders: Vec<String>,
}

/// The state of a file that a crashed process was about to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FoundFile {
    /// It has the content from before the call: the change was not made.
    Old,
    /// It has the content that the call intended.
    New,
    /// It was changed while other files of the same call were not, so its old content was restored.
    PutBack,
    /// It has neither: something else changed it since, or it cannot be read.
    Other,
}

/// Reads and restores the files of a workspace. Symbolic links are never followed.
#[async_trait::async_trait]
pub trait RestoreFiles: Send + Sync {
    /// Returns what is at these paths now. With `blobs`, stores the contents of files there, so that
    /// they can be restored later.
    async fn current(&self, paths: &[String], blobs: Option<&dyn Blobs>) -> Vec<PathState>;

    /// Makes these changes, except where something else than `before` or `after` is there. Returns
    /// what was not changed, and why. Idempotent, so that a restore that a crash interrupted can be
    /// completed.
    async fn restore(&self, files: &[FileDelta], blobs: &dyn Blobs) -> Vec<NotRestored>;

    /// Returns a unified diff for each of these changes; `None` if one side is not text.
    async fn diffs(&self, files: &[FileDelta], blobs: &dyn Blobs) -> Vec<Option<String>>;

    /// Returns the files that changed since a record of the workspace was made.
    async fn changed_since(&self, watched: &FilesWatched, blobs: &dyn Blobs) -> Vec<FileDelta>;
}

/// Cleans up after a crashed process. All operations are idempotent.
#[async_trait::async_trait]
pub trait CrashCleanup: RestoreFiles {
    /// Kills a process of `call` and all its descendants, if they still run. Returns the exit code
    /// of the process if it is known.
    async fn end_process(&self, call: &CallId, process: &ProcessIdentity) -> Option<i32>;

    /// Completes or reverts a call's changes to these files, so that all of them are changed or
    /// none is. Returns the state of each. Files that something else changed since are not
    /// touched.
    async fn settle_files(&self, files: &[FileChange], blobs: &dyn Blobs) -> Vec<FoundFile>;
}
