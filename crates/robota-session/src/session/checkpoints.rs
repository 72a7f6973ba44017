//! The checkpoints of a session: list, compare, restore.

use std::path::Path;

use robota_core::project::Checkpoint;

use super::Session;
use crate::actor::Request;
use crate::checkpoints::{self, RestoreOptions, RestorePreview, RestoreReport, Workspace};
use crate::error::SessionError;

/// Lists, compares and restores the checkpoints of a session.
#[derive(Clone)]
pub struct CheckpointHandle(pub(super) Session);

impl CheckpointHandle {
    /// Returns the checkpoints, oldest first: one for each prompt and one for each restore. A session
    /// without a working directory has none.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn list(&self) -> Result<Vec<Checkpoint>, SessionError> {
        checkpoints::checkpoints(&*self.0.shared.store, self.0.id()).await
    }

    /// Returns what a restore would do: the files that differ from the checkpoint, with diffs. A
    /// checkpoint is named by its id, its number, or a user message of its turn.
    ///
    /// # Errors
    /// If there is no such checkpoint, or the session has no access to files.
    pub async fn preview(&self, checkpoint: &str) -> Result<RestorePreview, SessionError> {
        let shared = &self.0.shared;
        let (files, root) = shared.turn_setup().setup.workspace_files()?;
        let state = self.0.inspect(Clone::clone).await?;
        let log = checkpoints::read_log(&*shared.store, &shared.id).await?;
        let blobs = shared.store.blobs(&shared.id);
        let workspace = Workspace { files: &*files, blobs: &*blobs, root: Path::new(&root) };
        checkpoints::preview(&state, &log, checkpoint, &workspace).await
    }

    /// Restores a checkpoint: the files, the conversation, or both, as they were right before its
    /// prompt. The state before the restore becomes a checkpoint, so that a restore can be undone.
    ///
    /// # Errors
    /// If something runs, there is no such checkpoint, its conversation is no longer part of the
    /// model's view, or the session has no access to files.
    pub async fn restore(
        &self,
        checkpoint: &str,
        options: RestoreOptions,
    ) -> Result<RestoreReport, SessionError> {
        let checkpoint = checkpoint.to_owned();
        self.0.ask(|reply| Request::RestoreCheckpoint { checkpoint, options, reply }).await
    }
}
