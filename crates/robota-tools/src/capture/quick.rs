//! Compares a workspace without listing it again. A folder whose times are those of the last walk has
//! the same names in it, so that only the metadata of known entries is read, by several threads.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;

use robota_core::checkpoint::{FileStat, PathState};

use super::ignored::rule_files;
use super::tree::{Entry, RESOLUTION};
use super::walk::{EntryKind, FoundEntry};

/// The fewest entries for which a further thread is worth its start.
const PER_THREAD: usize = 512;
/// The most threads.
const MAX_THREADS: usize = 8;

/// A folder as a walk listed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedFolder {
    /// Its metadata before it was listed.
    pub(super) stat: FileStat,
    /// The names in it, sorted, also of entries that are not covered.
    pub(super) names: Vec<OsString>,
}

/// What the last walk listed.
#[derive(Default)]
pub(super) struct Listed {
    folders: BTreeMap<String, (ListedFolder, Fresh)>,
    /// The files with rules around the root.
    rules: Vec<Option<FileStat>>,
}

/// Whether a folder can change without a difference in its metadata.
type Fresh = bool;

impl Listed {
    /// Keeps what a walk found that began at `now`.
    pub(super) fn new(
        folders: BTreeMap<String, ListedFolder>,
        rules: Vec<Option<FileStat>>,
        now: i64,
    ) -> Self {
        let folders = folders.into_iter().map(|(path, folder)| {
            let fresh = is_fresh(&folder.stat, now);
            (path, (folder, fresh))
        });
        Self { folders: folders.collect(), rules }
    }

    /// Returns the entries whose state must be determined again. `None` if entries were added or
    /// removed, or other files may be ignored now: then a walk is needed.
    pub(super) fn outdated(
        &mut self,
        root: &Path,
        entries: &BTreeMap<String, Entry>,
        now: i64,
        saving: bool,
    ) -> Option<Vec<(String, FoundEntry)>> {
        if self.folders.is_empty() || rule_files(root) != self.rules {
            return None;
        }
        for (path, (folder, fresh)) in &mut self.folders {
            let path = root.join(path);
            let found = FoundEntry::new(&path.symlink_metadata().ok()?, false);
            if found.kind != EntryKind::Folder || found.stat.inode != folder.stat.inode {
                return None;
            }
            if found.stat != folder.stat || *fresh {
                if names(&path).ok()? != folder.names {
                    return None;
                }
                (folder.stat, *fresh) = (found.stat, is_fresh(&found.stat, now));
            }
        }
        let all: Vec<_> = entries.iter().collect();
        in_parallel(&all, PER_THREAD, |(path, entry)| inspect(root, path, entry, saving))
    }
}

fn is_fresh(stat: &FileStat, now: i64) -> bool {
    stat.changed.max(stat.modified) > now.saturating_sub(RESOLUTION)
}

/// Returns the names in a folder, sorted.
pub(super) fn names(path: &Path) -> io::Result<Vec<OsString>> {
    let listed = std::fs::read_dir(path)?.map(|entry| Ok(entry?.file_name()));
    let mut names = listed.collect::<io::Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}

/// Inspects one entry. The outer `None` asks for a walk.
fn inspect(
    root: &Path,
    path: &str,
    entry: &Entry,
    saving: bool,
) -> Option<Option<(String, FoundEntry)>> {
    let found = FoundEntry::new(&root.join(path).symlink_metadata().ok()?, entry.ignored);
    let was_folder = matches!(entry.state, PathState::Folder { .. });
    if (found.kind == EntryKind::Folder) != was_folder {
        return None;
    }
    if !entry.is_outdated(&found, saving) {
        return Some(None);
    }
    let has_rules = path == ".gitignore" || path.ends_with("/.gitignore");
    if has_rules {
        return None;
    }
    Some(Some((path.to_owned(), found)))
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
