//! Compares a workspace without listing it again. A folder whose times are those of the last walk has
//! the same names in it, so that only the metadata of known entries is read, by several threads.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use robota_core::checkpoint::{FileStat, PathState};

use super::ignored::{IgnoreRules, rule_files};
use super::tree::{Entry, RESOLUTION, gone};
use super::walk::{EntryKind, FoundEntry};
use super::watch::{FolderWatch, joined};

/// The fewest entries for which a further thread is worth its start.
const PER_THREAD: usize = 512;
/// The most threads that read files at the same time.
// More threads do not help: they wait for the same disk.
const MAX_THREADS: usize = 8;

/// A folder as a walk listed it.
#[derive(Clone)]
pub(super) struct ListedFolder {
    /// Its metadata before it was listed.
    pub(super) stat: FileStat,
    /// The names in it, sorted, also of entries that are not covered.
    pub(super) names: Vec<OsString>,
    /// Decide which of its entries git ignores. `None` in an ignored folder: all.
    pub(super) rules: Option<IgnoreRules>,
}

/// What the last walk listed, so that the next one can skip unchanged folders.
#[derive(Default)]
pub(super) struct Listed {
    folders: BTreeMap<String, (ListedFolder, Fresh)>,
    /// The files with rules around the root.
    rules: Vec<Option<FileStat>>,
}

/// Whether a folder can change without a difference in its metadata.
type Fresh = bool;

/// What an inspection of all entries found.
#[derive(Default)]
pub(super) struct Inspected {
    /// Paths where something was added, removed, or replaced by something of another kind.
    pub(super) dirty: BTreeSet<String>,
    /// The entries whose state must be determined again.
    pub(super) outdated: Vec<(String, FoundEntry)>,
}

impl Listed {
    /// Keeps what a walk found that began at `now`.
    pub(super) fn new(
        folders: BTreeMap<String, ListedFolder>,
        rules: Vec<Option<FileStat>>,
        now: i64,
    ) -> Self {
        let mut listed = Self { folders: BTreeMap::new(), rules };
        listed.add(folders, now);
        listed
    }

    /// Adds the folders that a walk found that began at `now`.
    pub(super) fn add(&mut self, folders: BTreeMap<String, ListedFolder>, now: i64) {
        self.folders.extend(folders.into_iter().map(|(path, folder)| {
            let fresh = is_fresh(&folder.stat, now);
            (path, (folder, fresh))
        }));
    }

    /// Removes a folder and those below it.
    pub(super) fn remove(&mut self, folder: &str) {
        self.folders.remove(folder);
        // The character after `/` is `0`.
        let below = self.folders.range(format!("{folder}/")..format!("{folder}0"));
        let below: Vec<_> = below.map(|(path, _)| path.clone()).collect();
        for path in below {
            self.folders.remove(&path);
        }
    }

    /// Notes that a name was added to a folder, or removed from it.
    pub(super) fn set_name(&mut self, folder: &str, name: &str, exists: bool) {
        let Some((folder, _)) = self.folders.get_mut(folder) else { return };
        let at = folder.names.binary_search_by(|it| it.as_os_str().cmp(OsStr::new(name)));
        match at {
            Ok(at) if !exists => drop(folder.names.remove(at)),
            Err(at) if exists => folder.names.insert(at, name.into()),
            _ => {}
        }
    }

    pub(super) fn folder(&self, path: &str) -> Option<&ListedFolder> {
        self.folders.get(path).map(|(folder, _)| folder)
    }

    /// Returns whether the root is the folder that was listed, and the rules around it are the same.
    pub(super) fn is_current(&self, root: &Path) -> bool {
        let Ok(metadata) = root.symlink_metadata() else { return false };
        let found = FoundEntry::new(&metadata, false);
        // Another folder at the same path, for instance after a checkout into a new one.
        self.folder("").is_some_and(|it| it.stat.inode == found.stat.inode)
            && found.kind == EntryKind::Folder
            && rule_files(root) == self.rules
    }

    /// Inspects all folders and entries. `None` if other files may be ignored or covered now: then a
    /// walk is needed. Folders are watched from before they are inspected.
    pub(super) fn inspect(
        &mut self,
        root: &Path,
        entries: &BTreeMap<String, Entry>,
        now: i64,
        saving: bool,
        mut watch: Option<&mut FolderWatch>,
    ) -> Option<Inspected> {
        if !self.is_current(root) {
            return None;
        }
        let mut dirty = BTreeSet::new();
        for (path, (folder, fresh)) in &mut self.folders {
            if let Some(watch) = watch.as_deref_mut() {
                watch.add(root, path);
            }
            let full = root.join(path);
            let found = full.symlink_metadata().map(|it| FoundEntry::new(&it, false));
            let same = |it: &FoundEntry| {
                it.kind == EntryKind::Folder && it.stat.inode == folder.stat.inode
            };
            let Some(found) = found.ok().filter(same) else {
                dirty.insert(path.clone());
                continue;
            };
            if let Some(watch) = watch.as_deref_mut() {
                watch.expect_device(found.device);
            }
            if found.stat != folder.stat || *fresh {
                let names = names(&full).ok()?;
                for name in different(&names, &folder.names) {
                    dirty.insert(joined(path, name.to_str()?));
                }
                (folder.stat, *fresh) = (found.stat, is_fresh(&found.stat, now));
            }
        }
        let all: Vec<_> = entries.iter().collect();
        let different =
            in_parallel(&all, PER_THREAD, |(path, entry)| inspect(root, path, entry, saving))?;
        let mut outdated = Vec::new();
        for (path, found) in different {
            match found {
                Some(found) => outdated.push((path, found)),
                None => drop(dirty.insert(path)),
            }
        }
        Some(Inspected { dirty, outdated })
    }
}

fn is_fresh(stat: &FileStat, now: i64) -> bool {
    // Another change within the resolution of the file system would leave the same time stamp.
    stat.changed.max(stat.modified) > now.saturating_sub(RESOLUTION)
}

/// Returns the names in a folder, sorted.
fn names(path: &Path) -> io::Result<Vec<OsString>> {
    let listed = std::fs::read_dir(path)?.map(|entry| Ok(entry?.file_name()));
    let mut names = listed.collect::<io::Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}

/// Returns the names that are in one of two sorted lists only.
fn different<'a>(a: &'a [OsString], b: &'a [OsString]) -> Vec<&'a OsString> {
    let only = |these: &'a [OsString], those: &'a [OsString]| {
        these.iter().filter(|name| those.binary_search(name).is_err())
    };
    if a == b { Vec::new() } else { only(a, b).chain(only(b, a)).collect() }
}

/// Inspects one entry. Returns it if its state must be determined again, without metadata if it is
/// gone or of another kind. The outer `None` asks for a walk.
pub(super) fn inspect(
    root: &Path,
    path: &str,
    entry: &Entry,
    saving: bool,
) -> Option<Option<(String, Option<FoundEntry>)>> {
    let found = match root.join(path).symlink_metadata() {
        Ok(metadata) => FoundEntry::new(&metadata, entry.ignored),
        Err(error) if gone(&error) => return Some(Some((path.to_owned(), None))),
        Err(_) => return None,
    };
    let was_folder = matches!(entry.state, PathState::Folder { .. });
    if (found.kind == EntryKind::Folder) != was_folder {
        return Some(Some((path.to_owned(), None)));
    }
    if !entry.is_outdated(&found, saving) {
        return Some(None);
    }
    // Other rules ignore other files, which only a walk can find.
    if has_rules(path) {
        return None;
    }
    Some(Some((path.to_owned(), Some(found))))
}

/// Returns whether a path is that of a file with rules.
pub(super) fn has_rules(path: &str) -> bool {
    path == ".gitignore" || path.ends_with("/.gitignore")
}

/// Calls a function for all items, in several threads if they are many. The results keep the order.
/// The first `None` ends the work.
pub(super) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    per_thread: usize,
    work: impl Fn(&T) -> Option<Option<R>> + Sync,
) -> Option<Vec<R>> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = (items.len() / per_thread).clamp(1, cores.min(MAX_THREADS));
    let run = |part: &[T]| {
        let mut found = Vec::new();
        for item in part {
            found.extend(work(item)?);
        }
        Some(found)
    };
    if threads == 1 {
        return run(items);
    }
    std::thread::scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(threads));
        let running: Vec<_> = parts.map(|part| scope.spawn(|| run(part))).collect();
        let mut all = Vec::new();
        for part in running {
            all.extend(part.join().ok()??);
        }
        Some(all)
    })
}
