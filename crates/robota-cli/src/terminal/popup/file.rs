//! Files that match.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::Entry;
use super::matching::Matching;
use super::trigger::mention;
use super::walk::{self, Batch, Limits};

/// How many matching files are kept for the list.
const KEPT: usize = 100;

/// Returns the paths of a folder that match a query best, as the popup lists them. Blocks.
pub(crate) fn matching_files(folder: &Path, query: &str) -> Vec<String> {
    let mut index = FileIndex::default();
    walk::list(folder, Limits::default(), &AtomicBool::new(false), |batch| {
        index.add(batch);
        true
    });
    index.find(query).0.into_iter().map(|entry| entry.name).collect()
}

/// The files of the folder.
#[derive(Debug, Default)]
pub(super) struct FileIndex {
    paths: Vec<String>,
    /// The paths of the listing that runs, if there was one before.
    next: Option<Vec<String>>,
    growing: bool,
    /// Not all files are listed.
    truncated: bool,
    complete: bool,
    /// What matched the last query.
    matched: Option<(String, Vec<usize>)>,
}

impl FileIndex {
    /// Adds files. A listing replaces the one before when it is complete.
    pub(super) fn add(&mut self, batch: Batch) {
        self.matched = None;
        // The former listing is shown until the new one is complete, so that the list does not
        // flicker.
        if batch.first && self.complete {
            self.next = Some(Vec::new());
        } else if batch.first {
            self.paths.clear();
        }
        self.growing = !batch.last;
        let to = self.next.as_mut().unwrap_or(&mut self.paths);
        to.extend(batch.paths);
        if batch.last {
            self.truncated = batch.truncated;
            self.complete = true;
            if let Some(paths) = self.next.take() {
                self.paths = paths;
            }
        }
    }

    pub(super) fn is_growing(&self) -> bool {
        self.growing && !self.complete
    }

    pub(super) fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Returns the best matches, and how many there are.
    pub(super) fn find(&mut self, query: &str) -> (Vec<Entry>, usize) {
        let mut matching = Matching::paths(query);
        // Letters more match a part of what matched before.
        let among = match self.matched.take() {
            Some((before, found)) if query.starts_with(&before) => found,
            _ => (0..self.paths.len()).collect(),
        };
        let mut scored: Vec<(u32, usize)> = among
            .into_iter()
            .filter_map(|at| Some((matching.score(&self.paths[at])?, at)))
            .collect();
        let total = scored.len();
        let order = |(score, at): &(u32, usize)| {
            let path = &self.paths[*at];
            // Without a query the files at the top come first.
            let depth = path.trim_end_matches('/').matches('/').count();
            (std::cmp::Reverse(*score), depth, path.len(), *at)
        };
        let found = scored.iter().map(|(_, at)| *at).collect();
        self.matched = Some((query.to_owned(), found));
        // Before they are sorted: a short query matches most files of a repository.
        if scored.len() > KEPT {
            scored.select_nth_unstable_by_key(KEPT, order);
            scored.truncate(KEPT);
        }
        scored.sort_by_key(order);
        let entry = |(_, at): (u32, usize)| {
            let path = &self.paths[at];
            let folder = path.ends_with('/');
            Entry {
                name: path.clone(),
                letters: matching.letters(path),
                hint: None,
                description: String::new(),
                completion: format!("{}{}", mention(path), if folder { "" } else { " " }),
                complete: false,
            }
        };
        (scored.into_iter().map(entry).collect(), total)
    }
}
