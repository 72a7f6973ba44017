//! Requests of the host about files: which match a query, and which the model has read already.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use robota_exec::OsPaths;
use robota_sdk::InteractiveSession;
use serde::Deserialize;
use serde_json::{Value, json};

use super::host::Reply;
use super::requests::{LaterReply, failed};
use crate::setup::Setup;
use crate::terminal::popup::matching_files;

/// How many files a host receives at most.
// As many as Claude Code shows.
const MAX_SUGGESTIONS: usize = 15;

/// Finds the files that match what a user typed after `@`, without those that rules deny.
pub(super) fn suggestions(setup: &Arc<Setup>, query: String) -> LaterReply {
    let setup = setup.clone();
    Box::pin(async move {
        // A large folder takes seconds, and the run prints lines meanwhile.
        let listed = tokio::task::spawn_blocking(move || {
            let found = matching_files(setup.cwd(), &query).into_iter();
            let allowed =
                found.filter(|path| setup.policy.may_read(&setup.cwd().join(path), &OsPaths));
            let paths = allowed.take(MAX_SUGGESTIONS).map(|path| json!({"path": path}));
            json!({"suggestions": paths.collect::<Vec<Value>>()})
        });
        listed.await.map_err(failed)
    })
}

/// A file that the model has read, although the conversation does not contain it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SeenFile {
    path: PathBuf,
    /// When the file was changed before it was read, in milliseconds since 1970.
    mtime: u64,
}

impl SeenFile {
    /// Lets the model edit the file, if it has not changed since.
    pub(super) async fn apply(&self, session: &InteractiveSession, cwd: &Path) -> Reply {
        let metadata = tokio::fs::metadata(cwd.join(&self.path)).await;
        let modified = metadata.and_then(|metadata| metadata.modified()).ok();
        let millis = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        // A file that changed, or is gone, has to be read again.
        if millis.is_none_or(|millis| millis.as_millis() != u128::from(self.mtime)) {
            return Ok(json!({}));
        }
        session.conversation().mark_read(&self.path).await.map(|()| json!({})).map_err(failed)
    }
}
