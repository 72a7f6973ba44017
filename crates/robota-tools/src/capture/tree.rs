//! The record of a workspace: what was at each path when it was last compared.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::time::Instant;

use robota_core::blob::Blobs;
use robota_core::checkpoint::{
    FileContent, FileDelta, FileStat, NotCovered, NotSaved, PathState, TreeChange, TreeEntry,
};
use robota_core::clock::{Clock as _, SystemClock};
use robota_core::error::{Diagnose as _, ErrorData, ErrorKind};
use robota_core::event::FilesWatched;
use robota_core::message::BlobRef;
use robota_exec::LinkFreeDir;

use super::CaptureLimits;
use super::save::Packer;
use super::walk::{EntryKind, FoundEntry, walk};
use crate::file::hash_file;

/// The resolution of the times of files, generously. A file that changed less than this before its
/// metadata was read can change again without a difference in its metadata.
const RESOLUTION: i64 = 20_000_000;
/// The largest change of a tree that an event contains, in bytes. A larger one becomes a blob.
const MAX_INLINE: usize = 16 * 1024;
/// The most blobs with changes of a tree before they are merged.
const MAX_TREES: usize = 8;
/// The most paths that an event names as not covered.
pub(super) const MAX_NAMED: usize = 100;
/// The largest file whose content is compared although it is not saved.
const MAX_HASHED: u64 = 64 * 1024 * 1024;

#[derive(Default)]
pub(super) struct WorkspaceTree {
    entries: BTreeMap<String, Entry>,
    not_covered: BTreeMap<String, NotSaved>,
    /// The number of bytes that were saved.
    saved_bytes: u64,
    /// Whether the journal has a record of the tree.
    in_journal: bool,
    /// Whether something changed since the last record.
    changed: bool,
    /// Blobs with changes of the tree, oldest first.
    trees: Vec<BlobRef>,
    /// The paths that changed since the last of these blobs.
    tail: BTreeSet<String>,
}

struct Entry {
    stat: FileStat,
    /// Whether it can change without a difference in its metadata.
    fresh: bool,
    state: PathState,
}

impl Entry {
    /// Returns whether the state must be determined again.
    fn is_outdated(&self, now: &FoundEntry, saving: bool) -> bool {
        if now.kind == EntryKind::Folder {
            return self.state != PathState::Folder { mode: Some(now.mode) };
        }
        let unsaved = match &self.state {
            PathState::File { content, .. } => content.saved.is_none(),
            PathState::Unsaved { reason } => *reason == NotSaved::OverLimit,
            PathState::Missing | PathState::Link { .. } | PathState::Folder { .. } => false,
        };
        self.stat != now.stat || self.fresh || (saving && unsaved)
    }
}

/// One comparison: how it reads files.
struct Reader<'a> {
    root: &'a Path,
    dir: Option<LinkFreeDir>,
    limits: &'a CaptureLimits,
    started: Instant,
}

impl WorkspaceTree {
    /// Compares the workspace with the record, brings the record up to date, and returns what
    /// changed. Contents are not saved.
    pub(super) fn compare(&mut self, root: &Path, limits: &CaptureLimits) -> Vec<FileDelta> {
        self.update(root, limits, None)
    }

    /// Like [`compare`](Self::compare); passes contents that are not saved to `packer`.
    pub(super) fn update(
        &mut self,
        root: &Path,
        limits: &CaptureLimits,
        mut packer: Option<&mut Packer>,
    ) -> Vec<FileDelta> {
        let now = i64::try_from(SystemClock.now().as_nanosecond()).unwrap_or(i64::MAX);
        let dir = LinkFreeDir::open(root, false).ok();
        let reader = Reader { root, dir, limits, started: Instant::now() };
        let mut found = walk(root, limits, &self.not_covered);
        let same_paths = self.entries.keys().eq(found.entries.keys());
        if !same_paths {
            self.find_uncovered(root, &mut found.entries);
        }
        self.changed |= found.not_covered != self.not_covered;
        self.not_covered = found.not_covered;
        let mut deltas = Vec::new();
        let is_gone = |path: &&String| !same_paths && !found.entries.contains_key(*path);
        let gone: Vec<String> = self.entries.keys().filter(is_gone).cloned().collect();
        for path in gone {
            let Some(old) = self.entries.remove(&path) else { continue };
            deltas.push(delta(root, &path, &old.state, &PathState::Missing));
            self.note(path);
        }
        for (path, found) in found.entries {
            let old = self.entries.get(&path);
            if old.is_some_and(|old| !old.is_outdated(&found, packer.is_some())) {
                continue;
            }
            let saved_bytes = &mut self.saved_bytes;
            let old_state = old.map_or(&PathState::Missing, |old| &old.state);
            let state = reader.state(
                &path,
                &found,
                old_state,
                packer.as_deref_mut().zip(Some(saved_bytes)),
            );
            // Whether unknown content changed, only the metadata tells.
            let unknown = matches!(old_state, PathState::Unsaved { .. });
            let touched = old.is_none_or(|old| old.stat != found.stat || (old.fresh && !unknown));
            if touched && !old_state.same_as(&state) {
                deltas.push(delta(root, &path, old_state, &state));
            }
            let known = old.is_some_and(|old| old.state == state);
            let fresh = found.stat.changed > now.saturating_sub(RESOLUTION);
            self.entries.insert(path.clone(), Entry { stat: found.stat, fresh, state });
            if !known {
                self.note(path);
            }
        }
        deltas
    }

    /// Returns whether the journal has a record that the next one can be compared with.
    pub(super) fn is_recorded(&self) -> bool {
        self.in_journal
    }

    /// Sets where the content of a file was saved.
    pub(super) fn set_saved(&mut self, path: &str, place: robota_core::checkpoint::SavedContent) {
        if let Some(Entry { state: PathState::File { content, .. }, .. }) =
            self.entries.get_mut(path)
        {
            content.saved = Some(place);
        }
    }

    /// Returns where contents are saved.
    #[cfg(test)]
    pub(super) fn saved_places(
        &self,
    ) -> impl Iterator<Item = &robota_core::checkpoint::SavedContent> {
        self.entries.values().filter_map(|entry| match &entry.state {
            PathState::File { content, .. } => content.saved.as_ref(),
            _ => None,
        })
    }

    /// Adds entries of the record that the walk did not reach, because their folder is not covered
    /// any more, and that still exist or cannot be inspected.
    fn find_uncovered(&self, root: &Path, found: &mut BTreeMap<String, FoundEntry>) {
        let missing: Vec<_> =
            self.entries.iter().filter(|(path, _)| !found.contains_key(*path)).collect();
        for (path, old) in missing {
            let mut folders = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
            if folders.any(|it| found.get(it).is_some_and(|it| it.kind != EntryKind::Folder)) {
                // A link or a file took the place of its folder.
                continue;
            }
            match root.join(path).symlink_metadata() {
                Ok(metadata) => drop(found.insert(path.clone(), FoundEntry::new(&metadata, false))),
                Err(error) if gone(&error) => {}
                Err(_) => {
                    let (kind, mode) = match old.state {
                        PathState::Folder { mode } => (EntryKind::Folder, mode.unwrap_or_default()),
                        _ => (EntryKind::File, 0),
                    };
                    found.insert(
                        path.clone(),
                        FoundEntry { kind, mode, stat: old.stat, ignored: false },
                    );
                }
            }
        }
    }

    fn note(&mut self, path: String) {
        self.changed = true;
        self.tail.insert(path);
    }

    /// Returns what the journal has to record: the blobs with changes, and the changes since. `None`
    /// if the journal has it. A large change is stored in a blob first.
    pub(super) async fn unrecorded(
        &mut self,
        blobs: &dyn Blobs,
    ) -> Result<Option<(Vec<BlobRef>, TreeChange)>, ErrorData> {
        if self.in_journal && !self.changed {
            return Ok(None);
        }
        let mut tail = self.tail_change();
        let bytes = |change: &TreeChange| {
            serde_json::to_vec(change)
                .map_err(|error| ErrorData::new(ErrorKind::Storage, error.to_string()))
        };
        let encoded = bytes(&tail)?;
        if encoded.len() > MAX_INLINE {
            let put = |bytes: Vec<u8>| async move {
                blobs.put(&bytes).await.map_err(|error| error.to_data())
            };
            if self.trees.len() < MAX_TREES {
                self.trees.push(put(encoded).await?);
            } else {
                self.tail = self.entries.keys().cloned().collect();
                self.trees = vec![put(bytes(&self.tail_change())?).await?];
            }
            self.tail.clear();
            tail = TreeChange::default();
        }
        Ok(Some((self.trees.clone(), tail)))
    }

    /// Notes that the journal has the record.
    pub(super) fn recorded(&mut self) {
        (self.in_journal, self.changed) = (true, false);
    }

    fn tail_change(&self) -> TreeChange {
        let mut change = TreeChange::default();
        for path in &self.tail {
            match self.entries.get(path) {
                Some(Entry { stat, fresh, state }) => {
                    // A time that no file has makes the next process read the file again.
                    let changed = if *fresh { 0 } else { stat.changed };
                    let stat = FileStat { changed, ..*stat };
                    change.entries.push(TreeEntry {
                        path: path.clone(),
                        stat,
                        state: state.clone(),
                    });
                }
                None => change.removed.push(path.clone()),
            }
        }
        change
    }

    /// Returns the paths that are not covered, as many as an event names.
    pub(super) fn not_covered(&self, root: &Path) -> Vec<NotCovered> {
        let paths = self.not_covered.iter().take(MAX_NAMED);
        paths
            .map(|(path, reason)| NotCovered { path: absolute(root, path), reason: *reason })
            .collect()
    }

    /// Reads a record. `None` if its blobs are not stored.
    pub(super) async fn load(watched: &FilesWatched, blobs: &dyn Blobs) -> Option<Self> {
        let mut tree = Self::default();
        for blob in &watched.trees {
            let bytes = blobs.get(blob).await.ok().flatten()?;
            tree.apply(serde_json::from_slice(&bytes).ok()?);
        }
        tree.apply(watched.changes.clone());
        for NotCovered { path, reason } in &watched.not_covered {
            if let Ok(path) = Path::new(path).strip_prefix(&watched.root) {
                tree.not_covered.insert(path.display().to_string(), *reason);
            }
        }
        Some(tree)
    }

    fn apply(&mut self, change: TreeChange) {
        for path in change.removed {
            self.entries.remove(&path);
        }
        for TreeEntry { path, stat, state } in change.entries {
            self.entries.insert(path, Entry { stat, fresh: false, state });
        }
    }
}

impl Reader<'_> {
    /// Determines what is at a path. With a packer, saves the content of a file within the limits.
    fn state(
        &self,
        path: &str,
        found: &FoundEntry,
        old: &PathState,
        saving: Option<(&mut Packer, &mut u64)>,
    ) -> PathState {
        let unsaved = |reason| PathState::Unsaved { reason };
        match found.kind {
            EntryKind::Folder => return PathState::Folder { mode: Some(found.mode) },
            EntryKind::Special => return unsaved(NotSaved::Special),
            EntryKind::Link => {
                let target = std::fs::read_link(self.root.join(path));
                let target = target.ok().and_then(|target| target.to_str().map(str::to_owned));
                return match target {
                    Some(target) => PathState::Link { target },
                    None => unsaved(NotSaved::BadName),
                };
            }
            EntryKind::File => {}
        }
        let CaptureLimits { file_bytes, ignored_file_bytes, .. } = self.limits;
        let max = if found.ignored { *ignored_file_bytes } else { *file_bytes };
        if self.started.elapsed() > self.limits.time {
            return unsaved(NotSaved::OverLimit);
        }
        let max_read = if saving.is_some() { max } else { MAX_HASHED.max(max) };
        if found.stat.size > max_read {
            return unsaved(NotSaved::TooLarge);
        }
        let file = self.dir.as_ref().map(|dir| dir.open_file(Path::new(path)));
        let Some(Ok(mut file)) = file else { return unsaved(NotSaved::Unreadable) };
        let mode = Some(found.mode);
        let known = match old {
            PathState::File { content, .. } => Some(content),
            _ => None,
        };
        let Some((packer, saved_bytes)) = saving else {
            return match hash_file(&mut file, max_read) {
                Ok(Some(hash)) => {
                    // Content that is back to what was saved is saved.
                    let saved = known.filter(|known| known.hash == hash);
                    let saved = saved.and_then(|known| known.saved.clone());
                    PathState::File { content: FileContent { hash, saved }, mode }
                }
                Ok(None) => unsaved(NotSaved::TooLarge),
                Err(_) => unsaved(NotSaved::Unreadable),
            };
        };
        if *saved_bytes + found.stat.size > self.limits.total_bytes {
            return unsaved(NotSaved::OverLimit);
        }
        let content = match packer.read(&mut file, max) {
            Ok(Some(content)) => content,
            Ok(None) => return unsaved(NotSaved::TooLarge),
            Err(_) => return unsaved(NotSaved::Unreadable),
        };
        let hash = BlobRef::of(&content).sha256;
        let saved = known.filter(|known| known.hash == hash).and_then(|known| known.saved.clone());
        if saved.is_none() {
            *saved_bytes += content.len() as u64;
            packer.add(path, &content);
        }
        PathState::File { content: FileContent { hash, saved }, mode }
    }
}

fn delta(root: &Path, path: &str, before: &PathState, after: &PathState) -> FileDelta {
    let before = match before {
        PathState::File { content: FileContent { saved: None, .. }, .. } => {
            PathState::Unsaved { reason: NotSaved::OverLimit }
        }
        saved => saved.clone(),
    };
    FileDelta { path: absolute(root, path), before, after: after.identity() }
}

fn absolute(root: &Path, path: &str) -> String {
    if path.is_empty() { root.display().to_string() } else { root.join(path).display().to_string() }
}

/// Returns whether nothing is at the path.
fn gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
