//! The record of a workspace: what was at each path when it was last compared.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
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
use super::ignored::rule_files;
use super::partial::WalkParameters;
use super::quick::{Inspected, Listed, in_parallel, inspect};
use super::save::{Packer, read_file};
use super::walk::{EntryKind, FoundEntry, Walk, Walked};
use super::watch::FolderWatch;
use crate::file::hash_file;

/// The resolution of the times of files, generously. A file that changed less than this before its
/// metadata was read can change again without a difference in its metadata.
pub(super) const RESOLUTION: i64 = 20_000_000;
/// The largest change of a tree that an event contains, in bytes. A larger one becomes a blob.
const MAX_INLINE: usize = 16 * 1024;
/// The most blobs with changes of a tree before they are merged.
const MAX_TREES: usize = 8;
/// The most paths that an event names as not covered.
pub(super) const MAX_NAMED: usize = 100;
/// How many files are read ahead at a time, and the size up to which a file is.
const PREFETCHED: usize = 512;
const MAX_PREFETCHED: u64 = 128 * 1024;
/// The fewest files that are read by several threads.
const MIN_PREFETCHED: usize = 32;
/// The largest file whose content is compared although it is not saved.
const MAX_HASHED: u64 = 64 * 1024 * 1024;

#[derive(Default)]
pub(super) struct WorkspaceTree {
    pub(super) entries: BTreeMap<String, Entry>,
    pub(super) not_covered: BTreeMap<String, NotSaved>,
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
    /// What the last walk listed.
    pub(super) listed: Listed,
    /// Announces changes; none if nothing is watched.
    watch: Option<FolderWatch>,
    /// Whether the watch covers all entries since the last comparison.
    watched: bool,
    /// Whether some folder cannot be watched.
    unwatchable: bool,
    /// Whether the record has entries in folders that are no longer covered.
    uncovered: bool,
    /// Files with several names. They can change without an announcement.
    pub(super) linked: BTreeSet<String>,
    /// Files whose content is not saved yet.
    unsaved: BTreeSet<String>,
}

pub(super) struct Entry {
    stat: FileStat,
    /// Whether it can change without a difference in its metadata.
    fresh: bool,
    /// Whether git ignores it.
    pub(super) ignored: bool,
    pub(super) state: PathState,
}

impl Entry {
    /// Returns whether the state must be determined again.
    pub(super) fn is_outdated(&self, now: &FoundEntry, saving: bool) -> bool {
        if now.kind == EntryKind::Folder {
            return self.state != PathState::Folder { mode: Some(now.mode) };
        }
        self.stat != now.stat || self.fresh || (saving && self.is_unsaved())
    }

    /// Returns whether the content is not saved and can be.
    fn is_unsaved(&self) -> bool {
        match &self.state {
            PathState::File { content, .. } => content.saved.is_none(),
            PathState::Unsaved { reason } => *reason == NotSaved::OverLimit,
            PathState::Missing | PathState::Link { .. } | PathState::Folder { .. } => false,
        }
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
        // The time of the machine and not an injected one: it is compared with the times that the
        // file system writes.
        let now = i64::try_from(SystemClock.now().as_nanosecond()).unwrap_or(i64::MAX);
        // Opened once and without links, so that a link in the workspace cannot lead the reader out
        // of it.
        let dir = LinkFreeDir::open(root, false).ok();
        let reader = Reader { root, dir, limits, started: Instant::now() };
        let mut deltas = Vec::new();
        let saving = packer.is_some();
        let outdated = self.outdated(root, limits, now, saving, &mut deltas);
        let mut contents = Prefetched::default();
        for (at, (path, found)) in outdated.iter().enumerate() {
            if saving && at % PREFETCHED == 0 {
                let next = &outdated[at..(at + PREFETCHED).min(outdated.len())];
                contents =
                    reader.prefetch(next, limits.total_bytes.saturating_sub(self.saved_bytes));
            }
            let (path, old) = (path.clone(), self.entries.get(path));
            let saved_bytes = &mut self.saved_bytes;
            let old_state = old.map_or(&PathState::Missing, |old| &old.state);
            let saving = packer.as_deref_mut().map(|packer| Saving {
                packer,
                saved_bytes,
                content: contents.0.remove(&path),
            });
            let state = reader.state(&path, found, old_state, saving);
            // Unknown content has no hash, so the metadata is compared instead.
            let unknown = matches!(old_state, PathState::Unsaved { .. });
            let touched = old.is_none_or(|old| old.stat != found.stat || (old.fresh && !unknown));
            if touched && !old_state.same_as(&state) {
                deltas.push(delta(root, &path, old_state, &state));
            }
            let known = old.is_some_and(|old| old.state == state);
            // A file that changed a moment ago may change again within the resolution of its time
            // stamp.
            let fresh = found.stat.changed > now.saturating_sub(RESOLUTION);
            let FoundEntry { stat, ignored, linked, .. } = *found;
            let entry = Entry { stat, fresh, ignored, state };
            set(&mut self.linked, &path, linked);
            set(&mut self.unsaved, &path, entry.is_unsaved());
            self.entries.insert(path.clone(), entry);
            if !known {
                self.note(path);
            }
        }
        deltas
    }

    /// Finds the entries whose state must be determined again, and removes deleted ones from the
    /// record.
    fn outdated(
        &mut self,
        root: &Path,
        limits: &CaptureLimits,
        now: i64,
        saving: bool,
        deltas: &mut Vec<FileDelta>,
    ) -> Vec<(String, FoundEntry)> {
        let walk = WalkParameters { root, limits, now, saving };
        let mut watch = self.watch.take();
        let watched = std::mem::take(&mut self.watched);
        let announced = watch.as_mut().filter(|_| watched).and_then(FolderWatch::announced);
        // A change of ignore rules changes which paths belong to the tree, and no announcement says
        // which.
        let announced = announced.filter(|_| self.listed.is_current(root));
        let mut outdated = announced.and_then(|dirty| {
            let inspected = self.announced(root, dirty, saving)?;
            self.settle(&walk, inspected, (&mut watch, true), deltas)
        });
        if outdated.is_none() {
            // Everything is inspected, and watched from before that.
            if self.entries.len() < limits.watched_entries || self.uncovered || self.unwatchable {
                watch = None;
            } else if let Some(watch) = &mut watch {
                watch.discard();
            } else {
                watch = FolderWatch::new(root);
            }
            let inspected = self.listed.inspect(root, &self.entries, now, saving, watch.as_mut());
            outdated = inspected
                .and_then(|inspected| self.settle(&walk, inspected, (&mut watch, false), deltas));
        }
        let outdated = outdated.unwrap_or_else(|| self.walk(&walk, &mut watch, deltas));
        self.unwatchable |= watch.as_ref().is_some_and(|watch| !watch.is_complete());
        self.watch = watch.filter(|_| !self.unwatchable && !self.uncovered);
        self.watched = self.watch.is_some();
        outdated
    }

    /// Returns what must be inspected after announcements. `None` if that is everything.
    fn announced(
        &mut self,
        root: &Path,
        mut dirty: BTreeSet<String>,
        saving: bool,
    ) -> Option<Inspected> {
        for path in &dirty {
            if let Some(entry) = self.entries.get_mut(path) {
                // It may have changed without a difference in its metadata.
                entry.fresh = true;
            }
        }
        let mut outdated = Vec::new();
        let unsaved = self.unsaved.iter().filter(|_| saving);
        for path in self.linked.iter().chain(unsaved) {
            let Some(entry) = self.entries.get(path).filter(|_| !dirty.contains(path)) else {
                continue;
            };
            match inspect(root, path, entry, saving)? {
                Some((path, Some(found))) => outdated.push((path, found)),
                Some((path, None)) => drop(dirty.insert(path)),
                None => {}
            }
        }
        Some(Inspected { dirty, outdated })
    }

    /// Walks the workspace, removes deleted entries from the record, and returns the entries whose
    /// state must be determined again.
    fn walk(
        &mut self,
        &WalkParameters { root, limits, now, saving }: &WalkParameters<'_>,
        watch: &mut Option<FolderWatch>,
        deltas: &mut Vec<FileDelta>,
    ) -> Vec<(String, FoundEntry)> {
        let rules = rule_files(root);
        let walked = Walked { not_covered: self.not_covered.clone(), ..Walked::default() };
        let mut found = Walk { root, limits, known: 0, watch: watch.as_mut(), walked }.all();
        let same_paths = self.entries.keys().eq(found.entries.keys());
        let reached = found.entries.len();
        if !same_paths {
            self.find_uncovered(root, &mut found.entries);
        }
        self.uncovered = found.entries.len() > reached;
        self.changed |= found.not_covered != self.not_covered;
        self.not_covered = found.not_covered;
        self.listed = Listed::new(found.folders, rules, now);
        let is_gone = |path: &&String| !same_paths && !found.entries.contains_key(*path);
        let gone: Vec<String> = self.entries.keys().filter(is_gone).cloned().collect();
        for path in gone {
            deltas.extend(self.remove(root, path));
        }
        let mut outdated = Vec::new();
        for (path, found) in found.entries {
            match self.entries.get_mut(&path) {
                Some(old) if !old.is_outdated(&found, saving) => old.ignored = found.ignored,
                _ => outdated.push((path, found)),
            }
        }
        outdated
    }

    /// Removes a deleted entry from the record.
    pub(super) fn remove(&mut self, root: &Path, path: String) -> Option<FileDelta> {
        let old = self.entries.remove(&path)?;
        self.linked.remove(&path);
        self.unsaved.remove(&path);
        let deleted = delta(root, &path, &old.state, &PathState::Missing);
        self.note(path);
        Some(deleted)
    }

    /// Ends the watch; the next comparison inspects everything.
    pub(super) fn unwatch(&mut self) {
        (self.watch, self.watched) = (None, false);
    }

    /// Makes the next comparison inspect everything.
    pub(super) fn inspect_all(&mut self) {
        self.watched = false;
    }

    /// Returns whether changes are announced.
    pub(super) fn is_watched(&self) -> bool {
        self.watched
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
            self.unsaved.remove(path);
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

    /// Adds entries of the record that the walk did not reach, because their folder is no longer
    /// covered, and that still exist or cannot be inspected.
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
                // It exists and cannot be read now; as a deletion, a restore would create it again.
                Err(_) => {
                    let (kind, mode) = match old.state {
                        PathState::Folder { mode } => (EntryKind::Folder, mode.unwrap_or_default()),
                        _ => (EntryKind::File, 0),
                    };
                    found.insert(
                        path.clone(),
                        FoundEntry {
                            kind,
                            mode,
                            stat: old.stat,
                            ignored: false,
                            device: 0,
                            linked: false,
                        },
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
            // A few lists that continue each other; then one list of everything, so that a restore
            // reads a bounded number of blobs.
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
                Some(Entry { stat, fresh, state, .. }) => {
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
            self.entries.insert(path, Entry { stat, fresh: false, ignored: false, state });
        }
    }
}

/// The parameters of saving a file.
struct Saving<'a> {
    packer: &'a mut Packer,
    saved_bytes: &'a mut u64,
    /// What was read of it before.
    content: Option<ReadContent>,
}

/// The content of a file and its hash; none if the file is too large.
type ReadContent = io::Result<Option<(Vec<u8>, String)>>;

/// Contents that several threads have read.
#[derive(Default)]
struct Prefetched(HashMap<String, ReadContent>);

fn read_content(file: &mut File, size: u64, max: u64) -> ReadContent {
    let content = read_file(file, size, max)?;
    Ok(content.map(|content| {
        let hash = BlobRef::of(&content).sha256;
        (content, hash)
    }))
}

impl Reader<'_> {
    /// Reads small files in several threads, as many as `room` bytes hold: what is not saved in the end
    /// would be read again before each command.
    fn prefetch(&self, files: &[(String, FoundEntry)], mut room: u64) -> Prefetched {
        let small =
            |found: &FoundEntry| found.kind == EntryKind::File && found.stat.size <= MAX_PREFETCHED;
        let mut fits = |found: &FoundEntry| {
            let rest = room.checked_sub(found.stat.size);
            room = rest.unwrap_or(room);
            rest.is_some()
        };
        let files = files.iter().filter(|(_, found)| small(found) && fits(found));
        let files: Vec<_> = files.collect();
        let Some(dir) = self.dir.as_ref().filter(|_| files.len() >= MIN_PREFETCHED) else {
            return Prefetched::default();
        };
        let over = || self.started.elapsed() > self.limits.time;
        let read = in_parallel(&files, MIN_PREFETCHED, |(path, found)| {
            let file = dir.open_file(Path::new(path)).ok().filter(|_| !over());
            let read = |mut file| read_content(&mut file, found.stat.size, MAX_PREFETCHED);
            Some(file.map(|file| (path.clone(), read(file))))
        });
        Prefetched(read.unwrap_or_default().into_iter().collect())
    }

    /// Determines what is at a path. With a packer, saves the content of a file within the limits.
    fn state(
        &self,
        path: &str,
        found: &FoundEntry,
        old: &PathState,
        saving: Option<Saving<'_>>,
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
        let open = || self.dir.as_ref()?.open_file(Path::new(path)).ok();
        let mode = Some(found.mode);
        let known = match old {
            PathState::File { content, .. } => Some(content),
            _ => None,
        };
        let Some(Saving { packer, saved_bytes, content }) = saving else {
            let Some(mut file) = open() else { return unsaved(NotSaved::Unreadable) };
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
        let fits = |read: &ReadContent| matches!(read, Ok(Some((content, _))) if content.len() as u64 <= max);
        let read = || Some(read_content(&mut open()?, found.stat.size, max));
        let read = content.filter(fits).or_else(read);
        let (content, hash) = match read {
            Some(Ok(Some(read))) => read,
            Some(Ok(None)) => return unsaved(NotSaved::TooLarge),
            Some(Err(_)) | None => return unsaved(NotSaved::Unreadable),
        };
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

/// Adds a path to a set, or removes it.
fn set(paths: &mut BTreeSet<String>, path: &str, is_member: bool) {
    if !is_member {
        paths.remove(path);
    } else if !paths.contains(path) {
        paths.insert(path.to_owned());
    }
}

/// Returns whether nothing is at the path.
pub(super) fn gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
