//! Lists the entries of a workspace with their metadata, without reading files.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use robota_core::checkpoint::{FileStat, NotSaved, VERSION_CONTROL};

use super::CaptureLimits;
use super::ignored::IgnoreRules;
use super::quick::ListedFolder;
use super::watch::{FolderWatch, joined};

/// Folders below `.robota` that this program writes itself.
const OWN: [&str; 5] =
    [".robota/sessions", ".robota/reaper", ".robota/logs", ".robota/checkpoints", ".robota/tasks"];

/// An entry of the workspace, with what shows whether it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FoundEntry {
    pub(super) kind: EntryKind,
    pub(super) mode: u32,
    pub(super) stat: FileStat,
    /// Whether git ignores it.
    pub(super) ignored: bool,
    /// The file system, by its number.
    pub(super) device: u64,
    /// Whether it is a file that has other names, through which it can change.
    pub(super) linked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Link,
    Folder,
    Special,
}

impl FoundEntry {
    pub(super) fn new(metadata: &Metadata, ignored: bool) -> Self {
        let kind = match metadata.file_type() {
            kind if kind.is_file() => EntryKind::File,
            kind if kind.is_symlink() => EntryKind::Link,
            kind if kind.is_dir() => EntryKind::Folder,
            _ => EntryKind::Special,
        };
        let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000) + nanos;
        let stat = FileStat {
            inode: metadata.ino(),
            // The size of a folder says nothing about its own state.
            size: if kind == EntryKind::Folder { 0 } else { metadata.size() },
            modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
        };
        // A folder has a link for each folder in it.
        let linked = kind != EntryKind::Folder && metadata.nlink() > 1;
        let (mode, device) = (metadata.mode() & 0o7777, metadata.dev());
        Self { kind, mode, stat, ignored, device, linked }
    }
}

/// What a walk found: entries by relative path, in order, and the paths it did not cover.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) entries: BTreeMap<String, FoundEntry>,
    pub(super) not_covered: BTreeMap<String, NotSaved>,
    /// The folders that were listed.
    pub(super) folders: BTreeMap<String, ListedFolder>,
    /// How many names were listed, also of folders that are not covered.
    pub(super) names: usize,
}

/// How many names a walk lists for each entry that it may cover. Folders that are left out because they
/// are too large are listed too, and there can be many of them.
const LISTED_PER_ENTRY: usize = 4;
/// The most entries of a folder that are never covered, with room to spare.
const MAX_EXCLUDED: usize = 16;

/// A walk of a workspace, or of a part of it.
pub(super) struct Walk<'a> {
    pub(super) root: &'a Path,
    pub(super) limits: &'a CaptureLimits,
    /// How many entries are known that the walk does not reach.
    pub(super) known: usize,
    /// Watches the folders from before they are listed.
    pub(super) watch: Option<&'a mut FolderWatch>,
    pub(super) walked: Walked,
}

impl Walk<'_> {
    /// Walks the whole workspace.
    pub(super) fn all(mut self) -> Walked {
        if let Ok(metadata) = self.root.symlink_metadata() {
            let root = FoundEntry::new(&metadata, false);
            self.below(String::new(), &root, IgnoreRules::around(self.root));
        }
        self.walked
    }

    /// Walks what is below a folder, outer folders first. `rules` are those of the folder around it.
    /// Folders that an earlier walk did not cover are not entered.
    pub(super) fn below(&mut self, folder: String, found: &FoundEntry, rules: IgnoreRules) {
        if found.ignored {
            self.below_ignored(&folder, found);
            return;
        }
        // Outer folders first, so that the limit of entries leaves out what is deepest.
        let mut folders = VecDeque::from([(folder, *found, rules)]);
        while let Some((folder, found, rules)) = folders.pop_front() {
            if self.walked.not_covered.contains_key(&folder) {
                continue;
            }
            let path = self.root.join(&folder);
            let room = self.limits.entries.saturating_sub(self.count());
            let (children, names) = match self.children(&folder, found.device, room) {
                Ok(listed) => listed,
                Err(reason) => {
                    self.walked.not_covered.insert(folder, reason);
                    continue;
                }
            };
            let has_rules = children.iter().any(|(name, _)| name.ends_with(".gitignore"));
            let rules = if has_rules { rules.with(&path, &path.join(".gitignore")) } else { rules };
            let listed = ListedFolder { stat: found.stat, names, rules: Some(rules.clone()) };
            self.walked.folders.insert(folder, listed);
            for (child, metadata) in children {
                let ignored = rules.ignores(&self.root.join(&child), metadata.is_dir());
                let entry = FoundEntry::new(&metadata, ignored);
                if entry.kind == EntryKind::Folder {
                    if ignored {
                        self.below_ignored(&child, &entry);
                    } else {
                        folders.push_back((child.clone(), entry, rules.clone()));
                    }
                }
                self.walked.entries.insert(child, entry);
            }
        }
    }

    /// Adds what is below an ignored folder, if that is little.
    fn below_ignored(&mut self, folder: &str, found: &FoundEntry) {
        if self.walked.not_covered.contains_key(folder) {
            return;
        }
        let (mut entries, mut listed) = (Vec::new(), Vec::new());
        let mut folders = vec![(folder.to_owned(), *found)];
        while let Some((inner, found)) = folders.pop() {
            let room = self.limits.entries.saturating_sub(self.count());
            let room = room.min(self.limits.ignored_entries).saturating_sub(entries.len());
            let (children, names) = match self.children(&inner, found.device, room) {
                Ok(listed) => listed,
                Err(NotSaved::OverLimit) => {
                    self.walked.not_covered.insert(folder.to_owned(), NotSaved::OverLimit);
                    return;
                }
                Err(reason) => {
                    self.walked.not_covered.insert(inner, reason);
                    continue;
                }
            };
            listed.push((inner, ListedFolder { stat: found.stat, names, rules: None }));
            for (child, metadata) in children {
                let entry = FoundEntry::new(&metadata, true);
                if entry.kind == EntryKind::Folder {
                    folders.push((child.clone(), entry));
                }
                entries.push((child, entry));
            }
        }
        self.walked.entries.extend(entries);
        self.walked.folders.extend(listed);
    }

    fn count(&self) -> usize {
        self.known + self.walked.entries.len()
    }

    /// Lists the entries of a folder that can be covered, and the names of all. Fails with the reason why
    /// nothing in it is covered: it cannot be read, it has more than `room` entries, or the walk has
    /// listed too many names.
    fn children(&mut self, folder: &str, device: u64, room: usize) -> Result<Children, NotSaved> {
        if self.walked.names > self.limits.entries.saturating_mul(LISTED_PER_ENTRY) {
            return Err(NotSaved::OverLimit);
        }
        if let Some(watch) = self.watch.as_deref_mut() {
            watch.add(self.root, folder);
            watch.expect_device(device);
        }
        let listed = std::fs::read_dir(self.root.join(folder));
        let listed = listed.map_err(|_| NotSaved::Unreadable)?;
        let (mut children, mut names, mut unnamed) = (Vec::new(), Vec::new(), Vec::new());
        for entry in listed.flatten() {
            let name = entry.file_name();
            names.push(name.clone());
            self.walked.names += 1;
            // Not read to its end: it can have millions of entries.
            if children.len() > room || names.len() > room.saturating_add(MAX_EXCLUDED) {
                return Err(NotSaved::OverLimit);
            }
            let Some(name) = name.to_str() else {
                unnamed.push(joined(folder, &name.to_string_lossy()));
                continue;
            };
            let child = joined(folder, name);
            if is_excluded(&child) {
                continue;
            }
            // The entry was deleted since the folder was listed.
            if let Ok(metadata) = entry.metadata() {
                children.push((child, metadata));
            }
        }
        if children.len() > room {
            return Err(NotSaved::OverLimit);
        }
        let unnamed = unnamed.into_iter().map(|name| (name, NotSaved::BadName));
        self.walked.not_covered.extend(unnamed);
        names.sort_unstable();
        Ok((children, names))
    }
}

/// Returns whether a path is never covered: folders of version control and of this program.
pub(super) fn is_excluded(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    VERSION_CONTROL.contains(&name) || OWN.contains(&path)
}

/// The entries of a folder that can be covered, and the names of all its entries.
type Children = (Vec<(String, Metadata)>, Vec<OsString>);
