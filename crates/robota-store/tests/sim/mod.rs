//! A disk in memory that can lose power, fill up, become read-only, fail, and fold case.
//!
//! It is as strict about durability as a disk may be: the content of a file is durable once the
//! file was synced, a name once its folder was. After a power failure, any combination of
//! everything else may have reached the disk ([`SimDisk::crashes`]).
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
    /// How many more bytes fit; a write beyond that fails after a part was written.
    pub room: Option<u64>,
    /// Nothing can be written.
    pub read_only: bool,
    /// Syncing fails, and unsynced data is lost.
    pub sync_fails: bool,
    /// Truncating fails.
    pub truncate_fails: bool,
    /// The changing operation with this number fails; the first one is 1. See
    /// [`SimDisk::operations`].
    pub fail_at: Option<u64>,
    /// Hard links cannot be created.
    pub no_links: bool,
    /// The disk is on that network file system.
    pub network: Option<&'static str>,
    /// The user that runs the process and owns new files.
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

/// The content of the disk, and what of it is durable.
#[derive(Debug, Clone, Default)]
struct State {
    /// Files by number.
    files: BTreeMap<u64, File>,
    next_file: u64,
    /// What paths lead to now.
    names: BTreeMap<PathBuf, Entry>,
    /// What paths lead to after a power failure, at least.
    safe: BTreeMap<PathBuf, Entry>,
    /// Name changes that are not durable yet, oldest first.
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
    /// Creates an empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty disk on which `A` and `a` are one name.
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

    /// Returns how many operations changed something, or tried to.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.world().operations
    }

    /// Returns how many syncs there were.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.world().syncs
    }

    /// Returns the content of every file.
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

    /// Returns how many files have more than one name.
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
    /// Returns the key of a path: lower-cased on a disk that folds case.
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
