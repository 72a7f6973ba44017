//! Records which files of the workspace a command changes, so that a checkpoint can restore them.
//!
//! Before a command runs, the content of every file of the workspace is stored, unless it is stored
//! already: the metadata shows which files changed since the last time. After the command, the
//! files are compared with that record. Folders are listed again only where their own metadata
//! changed. The first comparison of a prompt inspects all files; in a large workspace the kernel then
//! announces what changes, until the prompt ends. `docs/checkpoints.md` says what is covered.

mod ignored;
mod partial;
mod quick;
mod save;
mod tree;
mod walk;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use robota_core::blob::Blobs;
use robota_core::checkpoint::{Checkpoints, FileDelta, MAX_CHANGES, PathState};
use robota_core::error::ErrorData;
use robota_core::event::{FilesChanged, FilesWatched};
use robota_core::ids::{CallId, TurnId};
use tokio::sync::Mutex;
use tokio::time::Instant;

use save::save;
use tree::WorkspaceTree;

/// Limits how much of a workspace is compared. What is beyond them is named in the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureLimits {
    /// The most files, folders and links. A larger workspace is covered in part.
    pub entries: usize,
    /// The largest file whose content is saved, in bytes.
    pub file_bytes: u64,
    /// The same for a file that git ignores.
    pub ignored_file_bytes: u64,
    /// The most entries of a folder that git ignores. A larger one is not compared.
    pub ignored_entries: usize,
    /// The most bytes that are saved in one session.
    pub total_bytes: u64,
    /// The most time for reading files before or after one command.
    pub time: Duration,
    /// From this many entries on the folders are watched between the commands of a prompt (Linux), so
    /// that a comparison inspects only what changed. `usize::MAX` inspects all entries every time.
    pub watched_entries: usize,
}

impl Default for CaptureLimits {
    fn default() -> Self {
        Self {
            entries: 20_000,
            file_bytes: 8 * 1024 * 1024,
            ignored_file_bytes: 256 * 1024,
            ignored_entries: 200,
            total_bytes: 256 * 1024 * 1024,
            time: Duration::from_secs(5),
            watched_entries: 500,
        }
    }
}

/// Compares the workspace before and after commands. Clones share the record.
#[derive(Clone)]
pub(crate) struct CommandCapture {
    root: PathBuf,
    /// None switches the comparison off.
    limits: Option<Arc<CaptureLimits>>,
    record: Arc<Mutex<Record>>,
}

/// A watch ends when no command was compared for this long.
const IDLE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Record {
    tree: WorkspaceTree,
    /// The call of a command that runs in the background and may change files at any time.
    background: Option<CallId>,
    /// The turn of the last command.
    turn: Option<TurnId>,
    /// When the last command was compared. None if no task waits for the end of the watch.
    used: Option<Instant>,
}

impl CommandCapture {
    pub(crate) fn new(root: &Path, limits: Option<Arc<CaptureLimits>>) -> Self {
        Self { root: root.to_owned(), limits, record: Arc::default() }
    }

    /// Returns a comparison for another session.
    pub(crate) fn fresh(&self) -> Self {
        Self::new(&self.root, self.limits.clone())
    }

    /// Returns a comparison of another folder.
    pub(crate) fn in_folder(&self, root: &Path) -> Self {
        Self::new(root, self.limits.clone())
    }

    pub(crate) fn set_limits(&mut self, limits: Option<CaptureLimits>) {
        self.limits = limits.map(Arc::new);
    }

    /// Stores the files of the workspace before a command of a turn runs. `running` says whether a
    /// command still runs in the background.
    ///
    /// # Errors
    /// If the files cannot be stored. The command must not run then.
    pub(crate) async fn before(
        &self,
        (turn, call): (Option<&TurnId>, &CallId),
        checkpoints: &dyn Checkpoints,
        blobs: &dyn Blobs,
        running: bool,
    ) -> Result<(), ErrorData> {
        let Some(limits) = self.active(checkpoints) else { return Ok(()) };
        let mut record = self.record.lock().await;
        // Between turns the user and other programs change files, and what a background command
        // maps is not announced.
        if record.turn.as_ref() != turn || record.background.is_some() {
            record.tree.inspect_all();
        }
        record.turn = turn.cloned();
        let by_background = self.update(&mut record, &limits, call, checkpoints, blobs).await?;
        if let Some(background) = record.background.clone() {
            report(checkpoints, &background, by_background, true).await?;
        }
        // Only after the report: what it changed since the last command is still its work.
        if !running {
            record.background = None;
        }
        Ok(())
    }

    /// Reports the files that a command changed.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub(crate) async fn after(
        &self,
        call: &CallId,
        checkpoints: &dyn Checkpoints,
        blobs: &dyn Blobs,
    ) -> Result<(), ErrorData> {
        let Some(limits) = self.active(checkpoints) else { return Ok(()) };
        let mut record = self.record.lock().await;
        if !record.tree.is_recorded() {
            // The record before the command could not be made, so there is nothing to compare with.
            return Ok(());
        }
        if record.background.is_some() {
            // Writes of a running command to a mapped file are not announced.
            record.tree.inspect_all();
        }
        let mut tree = std::mem::take(&mut record.tree);
        let root = self.root.clone();
        let compare = limits.clone();
        let (tree, changed) = blocking(move || {
            let changed = tree.compare(&root, &compare);
            (tree, changed)
        })
        .await?;
        record.tree = tree;
        report(checkpoints, call, changed, false).await?;
        if record.background.is_some() {
            // The command in the background may change these files again before the next command.
            record.tree.inspect_all();
            self.update(&mut record, &limits, call, checkpoints, blobs).await?;
        }
        self.unwatch_when_idle(&mut record);
        Ok(())
    }

    /// Ends the watch when no command follows for a while.
    fn unwatch_when_idle(&self, record: &mut Record) {
        if !record.tree.is_watched() || record.used.replace(Instant::now()).is_some() {
            return;
        }
        let record = Arc::downgrade(&self.record);
        tokio::spawn(async move {
            let mut wait = IDLE;
            loop {
                tokio::time::sleep(wait).await;
                let Some(record) = record.upgrade() else { return };
                let mut record = record.lock().await;
                let idle = record.used.map_or(IDLE, |used| used.elapsed());
                if idle >= IDLE {
                    record.used = None;
                    record.tree.unwatch();
                    return;
                }
                wait = IDLE.saturating_sub(idle);
            }
        });
    }

    /// Notes that a command of this call runs in the background, unless it only reads: what changes
    /// while it runs is not its work.
    pub(crate) async fn in_background(&self, call: &CallId, checkpoints: &dyn Checkpoints) {
        if self.active(checkpoints).is_some() {
            self.record.lock().await.background = Some(call.clone());
        }
    }

    fn active(&self, checkpoints: &dyn Checkpoints) -> Option<Arc<CaptureLimits>> {
        self.limits.clone().filter(|_| checkpoints.records_commands())
    }

    /// Brings the record up to date and stores what is not stored. Returns what changed since the
    /// last time.
    async fn update(
        &self,
        record: &mut Record,
        limits: &Arc<CaptureLimits>,
        call: &CallId,
        checkpoints: &dyn Checkpoints,
        blobs: &dyn Blobs,
    ) -> Result<Vec<FileDelta>, ErrorData> {
        // Compared with no record, every file would be a new one, which a restore deletes.
        let known = record.tree.is_recorded();
        let tree = std::mem::take(&mut record.tree);
        let (tree, changed) = save(tree, &self.root, limits, blobs).await?;
        record.tree = tree;
        if let Some((trees, changes)) = record.tree.unrecorded(blobs).await? {
            let (call, root) = (call.clone(), self.root.display().to_string());
            let not_covered = record.tree.not_covered(&self.root);
            let event = FilesWatched { call, root, trees, changes, not_covered };
            checkpoints.watched(event).await?;
            record.tree.recorded();
        }
        Ok(if known { changed } else { Vec::new() })
    }
}

/// Returns what changed since a record of an earlier process.
pub(crate) async fn changed_since(watched: &FilesWatched, blobs: &dyn Blobs) -> Vec<FileDelta> {
    let Some(mut tree) = WorkspaceTree::load(watched, blobs).await else { return Vec::new() };
    let root = PathBuf::from(&watched.root);
    let limits = CaptureLimits { watched_entries: usize::MAX, ..CaptureLimits::default() };
    let compared = blocking(move || tree.compare(&root, &limits)).await;
    let mut changed = compared.unwrap_or_default();
    if watched.not_covered.len() >= tree::MAX_NAMED {
        // The record does not name all that it did not cover, so what is not in it need not be new. A
        // restore must not delete it.
        changed.retain(|delta| delta.before != PathState::Missing);
    }
    changed
}

async fn report(
    checkpoints: &dyn Checkpoints,
    call: &CallId,
    mut changed: Vec<FileDelta>,
    late: bool,
) -> Result<(), ErrorData> {
    while !changed.is_empty() {
        let rest = changed.split_off(changed.len().min(MAX_CHANGES));
        let files = std::mem::replace(&mut changed, rest);
        checkpoints.changed(FilesChanged { call: call.clone(), files, late }).await?;
    }
    Ok(())
}

/// Runs work on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ErrorData> {
    use robota_core::error::ErrorKind;
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| ErrorData::new(ErrorKind::Storage, format!("comparing files: {error}")))
}

#[cfg(test)]
mod tests;
