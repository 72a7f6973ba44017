//! Reads and restores files of this machine for checkpoints.

use std::path::{Path, PathBuf};

use robota_core::blob::Blobs;
use robota_core::checkpoint::{FileDelta, NotSaved, PathState, RestoreFiles, SavedContent};
use robota_core::event::{FilesWatched, NotRestored};

use crate::capture;
use crate::file::{SavedContents, read_current, restore_one, set_folder_mode};

/// The longest content of which a diff is made, in bytes.
const MAX_DIFF: usize = 1024 * 1024;

/// Contents up to this many bytes are stored in one blob.
const MAX_PACK: usize = 8 * 1024 * 1024;

/// Contents that are stored together, because each blob costs several syncs.
#[derive(Default)]
struct Pack {
    bytes: Vec<u8>,
    /// The index of each file, where its content starts, and its length.
    files: Vec<(usize, u64, u64)>,
}

impl Pack {
    fn add(&mut self, index: usize, content: &[u8]) {
        self.files.push((index, self.bytes.len() as u64, content.len() as u64));
        self.bytes.extend_from_slice(content);
    }

    /// Stores the pack and notes in the states where the contents are. Content that cannot be stored
    /// counts as not saved.
    async fn store(&mut self, states: &mut [PathState], blobs: &dyn Blobs) {
        if self.files.is_empty() {
            return;
        }
        let stored = blobs.put(&std::mem::take(&mut self.bytes)).await;
        for (index, offset, len) in self.files.drain(..) {
            match (&stored, states.get_mut(index)) {
                (Ok(blob), Some(PathState::File { content, .. })) => {
                    content.saved = Some(SavedContent { blob: blob.clone(), offset, len });
                }
                // A restore that relied on it would lose the content.
                (_, Some(state)) => *state = PathState::Unsaved { reason: NotSaved::Unreadable },
                (_, None) => {}
            }
        }
    }
}

/// Reads and restores the files of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalFiles;

#[async_trait::async_trait]
impl RestoreFiles for LocalFiles {
    async fn current(&self, paths: &[String], blobs: Option<&dyn Blobs>) -> Vec<PathState> {
        let mut states = Vec::with_capacity(paths.len());
        let mut pack = Pack::default();
        for path in paths {
            let path = PathBuf::from(path);
            let read = tokio::task::spawn_blocking(move || read_current(&path));
            let unreadable = PathState::Unsaved { reason: NotSaved::Unreadable };
            let (state, content) = read.await.unwrap_or((unreadable, None));
            states.push(state);
            if let (Some(content), Some(blobs)) = (content, blobs) {
                if pack.bytes.len() + content.len() > MAX_PACK {
                    pack.store(&mut states, blobs).await;
                }
                pack.add(states.len() - 1, &content);
            }
        }
        if let Some(blobs) = blobs {
            pack.store(&mut states, blobs).await;
        }
        states
    }

    async fn restore(&self, files: &[FileDelta], blobs: &dyn Blobs) -> Vec<NotRestored> {
        let mut sorted: Vec<&FileDelta> = files.iter().collect();
        sorted.sort_by(|a, b| a.path.cmp(&b.path));
        let (removed, others): (Vec<_>, Vec<_>) =
            sorted.into_iter().partition(|file| file.after == PathState::Missing);
        let (mut contents, mut failed) = (SavedContents::default(), Vec::new());
        // Entries before their folder are removed, and folders before their entries are created.
        for file in removed.iter().rev().chain(&others) {
            let content = match &file.after {
                PathState::File { content, .. } => contents.read(content, blobs).await,
                _ => None,
            };
            let change = (*file).clone();
            let restored =
                tokio::task::spawn_blocking(move || restore_one(&change, content.as_deref()));
            let restored = restored.await.unwrap_or_else(|error| Err(error.to_string()));
            if let Err(reason) = restored {
                failed.push(NotRestored { path: file.path.clone(), reason });
            }
        }
        // A folder may forbid to change its entries, so its mode is set after them.
        for file in others.iter().rev() {
            if let PathState::Folder { mode: Some(mode) } = file.after
                && !failed.iter().any(|not| not.path == file.path)
                && let Err(reason) = set_folder_mode(Path::new(&file.path), mode)
            {
                failed.push(NotRestored { path: file.path.clone(), reason });
            }
        }
        failed
    }

    async fn diffs(&self, files: &[FileDelta], blobs: &dyn Blobs) -> Vec<Option<String>> {
        let (mut contents, mut diffs) = (SavedContents::default(), Vec::new());
        for file in files {
            let saved = match &file.after {
                PathState::File { content, .. } => contents.read(content, blobs).await,
                PathState::Missing => Some(Vec::new()),
                _ => None,
            };
            let now = match &file.before {
                PathState::File { .. } => read_current(Path::new(&file.path)).1,
                PathState::Missing => Some(Vec::new()),
                _ => None,
            };
            let text = |bytes: &Vec<u8>| bytes.len() <= MAX_DIFF && !bytes.contains(&0);
            diffs.push(match (now.filter(text), saved.filter(text)) {
                (Some(now), Some(saved)) => Some(crate::diff::unified(&now, &saved, &file.path)),
                _ => None,
            });
        }
        diffs
    }

    async fn changed_since(&self, watched: &FilesWatched, blobs: &dyn Blobs) -> Vec<FileDelta> {
        capture::changed_since(watched, blobs).await
    }
}
