//! Applies what is different at a few paths to the record, without walking the whole workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use robota_core::checkpoint::{FileDelta, PathState};

use super::CaptureLimits;
use super::ignored::IgnoreRules;
use super::quick::{Inspected, ListedFolder, has_rules};
use super::tree::{WorkspaceTree, gone};
use super::walk::{EntryKind, FoundEntry, Walk, Walked, is_excluded};
use super::watch::{FolderWatch, is_at_or_below_any};

/// What a walk of the workspace needs, whichever part of it is walked.
pub(super) struct WalkParameters<'a> {
    pub(super) root: &'a Path,
    pub(super) limits: &'a CaptureLimits,
    /// The time before the walk.
    pub(super) now: i64,
    /// Whether contents are saved.
    pub(super) saving: bool,
}

/// What is different at the paths of an inspection.
#[derive(Default)]
struct Difference {
    /// Entries of the record that do not exist now.
    gone: Vec<String>,
    /// Entries that exist, new and old ones.
    found: BTreeMap<String, FoundEntry>,
    /// Folders that were walked, with the names that they have now.
    folders: BTreeMap<String, ListedFolder>,
    /// Paths below which nothing remains to be inspected.
    settled: BTreeSet<String>,
}

impl WorkspaceTree {
    /// Brings folders and deleted entries up to date, and returns the entries whose state must be
    /// determined again. `None` if a walk of the whole workspace is needed; the record is unchanged
    /// then. With `announced`, only announced changes were inspected.
    pub(super) fn settle(
        &mut self,
        walk: &WalkParameters<'_>,
        inspected: Inspected,
        (watch, announced): (&mut Option<FolderWatch>, bool),
        deltas: &mut Vec<FileDelta>,
    ) -> Option<Vec<(String, FoundEntry)>> {
        let Inspected { dirty, outdated } = inspected;
        let Difference { gone, found, folders, settled } =
            self.difference(walk, dirty, watch.as_mut())?;
        let is_new_link =
            |(path, found): (&String, &FoundEntry)| found.linked && !self.linked.contains(path);
        let links = outdated.iter().map(|(path, found)| (path, found));
        if announced && found.iter().chain(links).any(is_new_link) {
            // The other names of the file are not known.
            return None;
        }
        // A walk decides which folder is left out when there are too many.
        if self.entries.len() + found.len() > walk.limits.entries {
            return None;
        }
        if let Some(watch) = watch {
            let left = settled.iter().chain(&gone).filter(|path| !folders.contains_key(*path));
            watch.forget(&left.cloned().collect());
        }
        for folder in &settled {
            self.listed.remove(folder);
        }
        self.listed.add(folders, walk.now);
        for path in gone {
            let (folder, name) = split(&path);
            self.listed.set_name(folder, name, false);
            deltas.extend(self.remove(walk.root, path));
        }
        let mut all = outdated;
        all.retain(|(path, _)| !found.contains_key(path) && !is_at_or_below_any(path, &settled));
        for (path, found) in found {
            match self.entries.get_mut(&path) {
                Some(old) if !old.is_outdated(&found, walk.saving) => {
                    old.ignored = found.ignored;
                    continue;
                }
                Some(_) => {}
                None => {
                    let (folder, name) = split(&path);
                    self.listed.set_name(folder, name, true);
                }
            }
            all.push((path, found));
        }
        Some(all)
    }

    /// Inspects paths where something may be different. `None` if a walk of the whole workspace is
    /// needed.
    fn difference(
        &self,
        walk: &WalkParameters<'_>,
        mut dirty: BTreeSet<String>,
        mut watch: Option<&mut FolderWatch>,
    ) -> Option<Difference> {
        let mut difference = Difference::default();
        // The order is that of the paths, so a folder comes before what is in it.
        while let Some(path) = dirty.pop_first() {
            if is_at_or_below_any(&path, &difference.settled) {
                continue;
            }
            // The rules for everything below may be different; only a walk knows.
            if path.is_empty() || is_excluded(&path) || has_rules(&path) {
                return None;
            }
            let old = self.entries.get(&path);
            let was_folder = old.is_some_and(|it| matches!(it.state, PathState::Folder { .. }));
            let folder = self.listed.folder(split(&path).0)?;
            let metadata = match walk.root.join(&path).symlink_metadata() {
                Ok(metadata) => metadata,
                Err(error) if gone(&error) => {
                    difference.gone.extend(old.map(|_| path.clone()));
                    difference.gone.extend(self.below(&path));
                    difference.settled.insert(path);
                    continue;
                }
                // An error other than "not found" says nothing about what is there.
                Err(_) => return None,
            };
            let is_folder = metadata.is_dir();
            if folder.rules.is_none() && (old.is_none() || is_folder) {
                // The number of entries in an ignored folder is limited.
                dirty.insert(self.outermost_ignored(&path)?);
                continue;
            }
            let ignores = |rules: &IgnoreRules| rules.ignores(&walk.root.join(&path), is_folder);
            let found = FoundEntry::new(&metadata, folder.rules.as_ref().is_none_or(ignores));
            if found.kind == EntryKind::Folder {
                let not_covered = self.not_covered.clone();
                let mut part = Walk {
                    root: walk.root,
                    limits: walk.limits,
                    known: self.entries.len(),
                    watch: watch.as_deref_mut(),
                    walked: Walked { not_covered, ..Walked::default() },
                };
                part.below(path.clone(), &found, folder.rules.clone().unwrap_or_default());
                let Walked { entries, not_covered, folders, names: _ } = part.walked;
                // Something is covered that was not, or the other way round.
                if not_covered != self.not_covered {
                    return None;
                }
                let is_gone = |path: &String| !entries.contains_key(path);
                difference.gone.extend(self.below(&path).filter(is_gone));
                difference.folders.extend(folders);
                difference.found.extend(entries);
                difference.settled.insert(path.clone());
            } else if was_folder {
                difference.gone.extend(self.below(&path));
                difference.settled.insert(path.clone());
            }
            difference.found.insert(path, found);
        }
        Some(difference)
    }

    /// Returns the entries of the record below a path.
    fn below(&self, path: &str) -> impl Iterator<Item = String> {
        // The character after `/` is `0`.
        let range = format!("{path}/")..format!("{path}0");
        self.entries.range(range).map(|(path, _)| path.clone())
    }

    /// Returns the outermost ignored folder that contains a path.
    fn outermost_ignored(&self, path: &str) -> Option<String> {
        let mut folder = split(path).0;
        while self.listed.folder(split(folder).0)?.rules.is_none() {
            folder = split(folder).0;
        }
        Some(folder.to_owned())
    }
}

/// Returns the folder of a path, and its name in it.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
