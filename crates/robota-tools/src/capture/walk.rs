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

/// Folders below `.robota` that this program writes itself.
const OWN: [&str; 4] =
    [".robota/sessions", ".robota/reaper", ".robota/logs", ".robota/checkpoints"];

/// An entry of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FoundEntry {
    pub(super) kind: EntryKind,
    pub(super) mode: u32,
    pub(super) stat: FileStat,
    /// Whether git ignores it.
    pub(super) ignored: bool,
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
        Self { kind, mode: metadata.mode() & 0o7777, stat, ignored }
    }
}

/// What a walk found: entries by relative path, in order, and the paths it did not cover.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) entries: BTreeMap<String, FoundEntry>,
    pub(super) not_covered: BTreeMap<String, NotSaved>,
    /// The folders that were listed.
    pub(super) folders: BTreeMap<String, ListedFolder>,
}

/// Walks a workspace, outer folders first. The folders in `skip` are not entered: an earlier walk
/// did not cover them.
pub(super) fn walk(
    root: &Path,
    limits: &CaptureLimits,
    skip: &BTreeMap<String, NotSaved>,
) -> Walked {
    let mut walked = Walked { not_covered: skip.clone(), ..Walked::default() };
    let stat = root.symlink_metadata().map(|it| FoundEntry::new(&it, false).stat);
    let mut folders = VecDeque::new();
    if let Ok(stat) = stat {
        folders.push_back((String::new(), stat, IgnoreRules::around(root)));
    }
    while let Some((folder, stat, rules)) = folders.pop_front() {
        if walked.not_covered.contains_key(&folder) {
            continue;
        }
        let path = root.join(&folder);
        let Some((children, names)) = children(&path, &folder, &mut walked.not_covered) else {
            continue;
        };
        if walked.entries.len() + children.len() > limits.entries {
            walked.not_covered.insert(folder, NotSaved::OverLimit);
            continue;
        }
        walked.folders.insert(folder, ListedFolder { stat, names });
        let has_rules = children.iter().any(|(name, _)| name.ends_with(".gitignore"));
        let rules = if has_rules { rules.with(&path, &path.join(".gitignore")) } else { rules };
        for (child, metadata) in children {
            let ignored = rules.ignores(&root.join(&child), metadata.is_dir());
            let entry = FoundEntry::new(&metadata, ignored);
            if entry.kind == EntryKind::Folder {
                if ignored {
                    below_ignored(root, &child, entry.stat, limits, &mut walked);
                } else {
                    folders.push_back((child.clone(), entry.stat, rules.clone()));
                }
            }
            walked.entries.insert(child, entry);
        }
    }
    walked
}

/// Adds what is below an ignored folder, if that is little.
fn below_ignored(
    root: &Path,
    folder: &str,
    stat: FileStat,
    limits: &CaptureLimits,
    walked: &mut Walked,
) {
    if walked.not_covered.contains_key(folder) {
        return;
    }
    let (mut found, mut listed) = (Vec::new(), Vec::new());
    let mut folders = vec![(folder.to_owned(), stat)];
    while let Some((inner, stat)) = folders.pop() {
        let inside = children(&root.join(&inner), &inner, &mut walked.not_covered);
        let Some((children, names)) = inside else { continue };
        listed.push((inner, ListedFolder { stat, names }));
        for (child, metadata) in children {
            let entry = FoundEntry::new(&metadata, true);
            if entry.kind == EntryKind::Folder {
                folders.push((child.clone(), entry.stat));
            }
            found.push((child, entry));
        }
        let too_many = found.len() > limits.ignored_entries
            || walked.entries.len() + found.len() > limits.entries;
        if too_many {
            walked.not_covered.insert(folder.to_owned(), NotSaved::OverLimit);
            return;
        }
    }
    walked.entries.extend(found);
    walked.folders.extend(listed);
}

/// The entries of a folder that can be covered, and the names of all its entries.
type Children = (Vec<(String, Metadata)>, Vec<OsString>);

/// Lists the entries of a folder that can be covered, and the names of all. `None` if the folder cannot be read.
fn children(
    path: &Path,
    folder: &str,
    not_covered: &mut BTreeMap<String, NotSaved>,
) -> Option<Children> {
    let Ok(listed) = std::fs::read_dir(path) else {
        not_covered.insert(folder.to_owned(), NotSaved::Unreadable);
        return None;
    };
    let (mut children, mut names) = (Vec::new(), Vec::new());
    for entry in listed.flatten() {
        let name = entry.file_name();
        names.push(name.clone());
        let Some(name) = name.to_str() else {
            let name = format!("{folder}/{}", name.to_string_lossy());
            not_covered.insert(name.trim_start_matches('/').to_owned(), NotSaved::BadName);
            continue;
        };
        let child = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        if VERSION_CONTROL.contains(&name) || OWN.contains(&child.as_str()) {
            continue;
        }
        // The entry was deleted since the folder was listed.
        if let Ok(metadata) = entry.metadata() {
            children.push((child, metadata));
        }
    }
    names.sort_unstable();
    Some((children, names))
}
