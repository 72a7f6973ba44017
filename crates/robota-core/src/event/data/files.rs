//! Data of the events about files: what commands change, and the restore of checkpoints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session::data;
use crate::checkpoint::{FileDelta, NotCovered, TreeChange};
use crate::ids::{CallId, MessageId};
use crate::message::BlobRef;

data! {
    /// The files of the workspace before a command runs.
    FilesWatched {
        /// The call that runs the command.
        call: CallId,
        /// The absolute path of the workspace.
        root: String,
        /// Blobs with differences between trees, oldest first; each continues the one before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        trees: Vec<BlobRef>,
        /// The difference to the tree that `trees` describe.
        #[serde(default)]
        changes: TreeChange,
        /// What is not compared, at most 100 paths.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        not_covered: Vec<NotCovered>,
    }

    /// The files that a command changed.
    FilesChanged {
        /// The call that ran the command.
        call: CallId,
        /// What changed, compared with the record of the workspace before the command.
        files: Vec<FileDelta>,
        /// Whether the call had ended before the changes were found: it runs a command in the
        /// background, or its process crashed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        late: bool,
    }

    /// A checkpoint is about to be restored.
    RestoreStarted {
        /// The id of this restore; it is also the id of the checkpoint of the state before it.
        restore: String,
        /// The id of the checkpoint that is restored.
        checkpoint: String,
        /// What will be changed, with the current content.
        files: Vec<FileDelta>,
        /// How the model's view will change; absent if only files are restored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        view: Option<ViewChange>,
        /// The last message of the model's view before the restore; absent if there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_message: Option<MessageId>,
    }

    /// How a restore changes the model's view.
    ViewChange {
        /// Whether the last compaction or rewind is undone first.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        undo: bool,
        /// The number of messages that stay in the view.
        keep: u64,
    }

    /// A checkpoint was restored.
    RestoreFinished {
        /// The id of the restore, as in its `restore_started`.
        restore: String,
        /// Files that were not restored, and why.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        failed: Vec<NotRestored>,
    }

    /// A file that was not restored.
    NotRestored {
        /// The absolute path of the file that stays as it is.
        path: String,
        /// Why it was not restored.
        reason: String,
    }
}
