//! Checkpoints of the files that a call is about to change: their content is stored in the
//! session's blobs, and the journal lists them, synced, before anything changes.

use std::sync::Arc;

use super::task_events::TaskEventQueue;
use crate::blob::Blobs;
use crate::checkpoint::{Before, Changing, Checkpoints, FileChange};
use crate::error::{Diagnose as _, ErrorData};
use crate::event::{FilesChanged, FilesChanging, FilesWatched};
use crate::ids::CallId;
use crate::message::BlobRef;

/// The checkpoints of one turn. After the turn has ended, recording fails, so that a call that was
/// abandoned cannot change further files.
pub(super) struct JournalCheckpoints {
    pub(super) blobs: Arc<dyn Blobs>,
    pub(super) task_events: TaskEventQueue,
    /// Whether the call may change files by running commands.
    pub(super) records_commands: bool,
}

#[async_trait::async_trait]
impl Checkpoints for JournalCheckpoints {
    async fn before_change(&self, call: &CallId, files: &[Changing<'_>]) -> Result<(), ErrorData> {
        let mut changes = Vec::with_capacity(files.len());
        for file in files {
            let (before, mode) = match file.before {
                Before::Missing => (None, None),
                Before::File { content, mode } => {
                    let blob = self.blobs.put(content).await.map_err(|error| error.to_data())?;
                    (Some(blob), mode)
                }
            };
            let path = file.path.to_string_lossy().into_owned();
            let after_sha256 = BlobRef::of(file.after).sha256;
            let new_folders = file.new_folders.to_vec();
            changes.push(FileChange { path, before, mode, after_sha256, new_folders });
        }
        self.task_events.append(FilesChanging { call: call.clone(), files: changes }.into()).await
    }

    fn records_commands(&self) -> bool {
        self.records_commands
    }

    async fn watched(&self, files: FilesWatched) -> Result<(), ErrorData> {
        self.task_events.append(files.into()).await
    }

    async fn changed(&self, files: FilesChanged) -> Result<(), ErrorData> {
        self.task_events.append(files.into()).await
    }
}
