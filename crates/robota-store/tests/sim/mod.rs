//! A disk in memory that can lose its power, fill up, refuse to be written, fail, and fold case.
//!
//! It tells what is safe from what is not, as strictly as a disk may: the content of a file is
//! safe once the file was synced, a name once its folder was. Everything else may or may not have
//! reached the disk when the power goes, in any combination ([`SimDisk::crashes`]).
//!
//! The unit tests of the crate, its integration tests and its benches include this file.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "each of them uses a part of it")]

mod crash;
mod disk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use crash::{Crash, Moment};

/// A disk in memory. Clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct SimDisk {
    world: Arc<Mutex<World>>,
}

/// What goes wrong.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// How many more bytes fit; what goes beyond fails after a part was written.
    pub room: Option<u64>,
    /// Nothing may be written.
    pub read_only: bool,
    /// Syncing fails, and what was not safe before is forgotten.
    pub sync_fails: bool,
    /// Truncating fails.
    pub truncate_fails: bool,
    /// The mutating operation with this number fails, the first being one; see
    /// [`SimDisk::operations`].
    pub fail_at: Option<u64>,
    /// Links cannot be made.
    pub no_links: bool,
    /// The disk is on that network.
    pub network: Option<&'static str>,
    /// The user whose new files are, and who we are.
    pub user: u32,
}

#[derive(Debug, Clone, Default)]
struct World {
    state: State,
    faults: Faults,
    fold_case: bool,
    locks: BTreeMap<PathBuf, Locked>,
    operations: u64,
    syncs: u64,
    history: Option<Vec<State>>,
}

/// What is on the disk, and what of it is safe.
#[derive(Debug, Clone, Default)]
struct State {
    /// Files by number.
    files: BTreeMap<u64, File>,
    next_file: u64,
    /// What paths lead to now.
    names: BTreeMap<PathBuf, Entry>,
    /// What they lead to after a loss of power, at least.
    safe: BTreeMap<PathBuf, Entry>,
    /// Changes to names that are not safe yet, oldest first.
    pending: Vec<Change>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct File {
    content: Vec<u8>,
    safe: Vec<u8>,
    user: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Entry {
    Folder(String),
    File(String, u64),
}

/// A change to the names of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    removed: Option<PathBuf>,
    added: Option<(PathBuf, Entry)>,
}

#[derive(Debug, Clone, Default)]
struct Locked {
    alone: bool,
    together: usize,
    note: String,
}

impl SimDisk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty disk on which `A` and `a` are one name.
    #[must_use]
    pub fn folding_case() -> Self {
        let disk = Self::new();
        disk.world().fold_case = true;
        disk
    }

    /// Changes what goes wrong.
    pub fn faults(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.world().faults);
    }

    /// How many operations changed something, or tried to.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.world().operations
    }

    /// How many times something was synced.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.world().syncs
    }

    /// The content of every file, for looking through it.
    #[must_use]
    pub fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let world = self.world();
        let content = |entry: &Entry| match entry {
            Entry::Folder(_) => None,
            Entry::File(_, number) => Some(world.state.files.get(number)?.content.clone()),
        };
        let names = world.state.names.iter();
        names.filter_map(|(path, entry)| Some((path.clone(), content(entry)?))).collect()
    }

    /// How many files have more than one name.
    #[must_use]
    pub fn shared_files(&self) -> usize {
        let world = self.world();
        let mut seen = BTreeSet::new();
        let numbers = world.state.names.values().filter_map(|entry| match entry {
            Entry::Folder(_) => None,
            Entry::File(_, number) => Some(*number),
        });
        numbers.filter(|number| !seen.insert(*number)).collect::<BTreeSet<_>>().len()
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl World {
    /// What a path is known by.
    fn key(&self, path: &Path) -> PathBuf {
        if self.fold_case {
            path.to_string_lossy().to_lowercase().into()
        } else {
            path.to_path_buf()
        }
    }
}

impl State {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.names);
        self.pending.push(change);
    }
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<PathBuf, Entry>) {
        if let Some(path) = &self.removed {
            names.remove(path);
        }
        if let Some((path, entry)) = &self.added {
            names.insert(path.clone(), entry.clone());
        }
    }

    fn is_in(&self, folder: &Path) -> bool {
        let path = self.added.as_ref().map(|(path, _)| path).or(self.removed.as_ref());
        path.and_then(|path| path.parent()) == Some(folder)
    }
}
