//! The states that a power failure may leave.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};

use super::{Entry, File, SimDisk, State, World};

/// Up to this many pending name changes, every subset of them is tried.
const ALL_SUBSETS: usize = 5;

/// Up to this many unsynced bytes, a file is cut at each byte; beyond, at some.
const EVERY_BYTE: usize = 4096;

/// A point in time, counted in operations; the recording has the disk of that moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub usize);

/// A disk as a power failure may have left it.
#[derive(Debug)]
pub struct Crash {
    /// When the power failed.
    pub moment: Moment,
    /// What happened to the unsynced data, for messages.
    pub fate: String,
    /// The disk, with everything on it synced.
    pub disk: SimDisk,
}

/// What happened to the unsynced content of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Lost,
    Kept,
    /// One file has only a part of it; the rest is missing, or zeros.
    Torn {
        file: u64,
        at: usize,
        zeros: bool,
    },
}

impl SimDisk {
    /// Records every state from now on.
    pub fn record(&self) {
        let mut world = self.world();
        let now = world.state.clone();
        world.history = Some(vec![now]);
    }

    /// Returns the present moment of a recording.
    #[must_use]
    pub fn now(&self) -> Moment {
        Moment(self.world().history.as_ref().map_or(0, |history| history.len().saturating_sub(1)))
    }

    /// Returns how many moments were recorded.
    #[must_use]
    pub fn moments(&self) -> usize {
        self.world().history.as_ref().map_or(0, Vec::len)
    }

    /// Returns the states that a power failure at a recorded moment may have left. Names: every
    /// combination of unsynced changes if they are few, else none, all, each alone and each
    /// missing. Contents: lost, kept, and torn for the file that was just written (a journal at
    /// every byte), with the rest missing or, in some states, zeros.
    #[must_use]
    pub fn crashes(&self, moment: Moment) -> Vec<Crash> {
        let (state, before, fold_case) = {
            let world = self.world();
            let at = |moment: usize| world.history.as_ref()?.get(moment).cloned();
            let state = at(moment.0).unwrap_or_default();
            let before = moment.0.checked_sub(1).and_then(at);
            (state, before, world.fold_case)
        };
        let mut seen = HashSet::new();
        let mut crashes = Vec::new();
        let mut add = |names: &[bool], content: Content| {
            let left = state.after(names, content);
            let mut hasher = DefaultHasher::new();
            left.names.hash(&mut hasher);
            left.files.hash(&mut hasher);
            if seen.insert(hasher.finish()) {
                let fate = format!("{content:?}, names {names:?}");
                let world = World { state: left, fold_case, ..World::default() };
                let disk = SimDisk { world: Arc::new(Mutex::new(world)) };
                crashes.push(Crash { moment, fate, disk });
            }
        };
        for names in subsets(state.pending.len()) {
            add(&names, Content::Lost);
            add(&names, Content::Kept);
        }
        let all = vec![true; state.pending.len()];
        for (number, file) in &state.files {
            // Each write is torn at its own moment; later it is treated like any other.
            if before.as_ref().is_none_or(|before| before.files.get(number) == Some(file)) {
                continue;
            }
            // A journal at every byte, other files at some.
            let journal = state.names.iter().any(|(path, entry)| {
                matches!(entry, Entry::File(_, named) if named == number)
                    && path.to_string_lossy().ends_with(".jsonl")
            });
            let step = if journal { 1 } else { 17 };
            for (count, at) in file.cuts().into_iter().step_by(step).enumerate() {
                add(&all, Content::Torn { file: *number, at, zeros: false });
                if count % 8 == 0 {
                    add(&all, Content::Torn { file: *number, at, zeros: true });
                }
            }
        }
        crashes
    }
}

fn subsets(count: usize) -> Vec<Vec<bool>> {
    if count <= ALL_SUBSETS {
        return (0..1_u32 << count)
            .map(|bits| (0..count).map(|bit| bits & (1 << bit) != 0).collect())
            .collect();
    }
    let mut subsets = vec![vec![false; count], vec![true; count]];
    for one in 0..count {
        subsets.push((0..count).map(|bit| bit == one).collect());
        subsets.push((0..count).map(|bit| bit != one).collect());
        // All changes up to this one, in the order they were made.
        subsets.push((0..count).map(|bit| bit <= one).collect());
    }
    subsets
}

impl File {
    /// Returns where the unsynced part of the content may be cut.
    fn cuts(&self) -> Vec<usize> {
        let same = self.content.iter().zip(&self.safe).take_while(|(a, b)| a == b).count();
        let open = self.content.len() - same;
        let step = open / EVERY_BYTE + 1;
        (same..self.content.len()).step_by(step).collect()
    }
}

impl State {
    fn after(&self, names: &[bool], content: Content) -> Self {
        let mut left = self.safe.clone();
        for (change, _) in self.pending.iter().zip(names).filter(|(_, reached)| **reached) {
            change.apply(&mut left);
        }
        // Files in a folder that lost its name are unreachable.
        let reachable = |path: &std::path::Path| {
            let mut folders = path.ancestors().skip(1);
            folders.all(|folder| {
                folder.as_os_str().is_empty()
                    || folder == std::path::Path::new("/")
                    || matches!(left.get(folder), Some(Entry::Folder(_)))
            })
        };
        let kept: std::collections::BTreeMap<_, _> = left
            .iter()
            .filter(|(path, _)| reachable(path))
            .map(|(path, entry)| (path.clone(), entry.clone()))
            .collect();
        let numbers: HashSet<u64> = kept
            .values()
            .filter_map(|entry| match entry {
                Entry::Folder(_) => None,
                Entry::File(_, number) => Some(*number),
            })
            .collect();
        let files = self
            .files
            .iter()
            .filter(|(number, _)| numbers.contains(number))
            .map(|(number, file)| {
                let bytes = match content {
                    Content::Lost => file.safe.clone(),
                    Content::Torn { file: torn, at, zeros } if torn == *number => {
                        let mut bytes = file.content[..at].to_vec();
                        if zeros {
                            bytes.resize(file.content.len(), 0);
                        }
                        bytes
                    }
                    Content::Kept | Content::Torn { .. } => file.content.clone(),
                };
                (*number, File { content: bytes.clone(), safe: bytes, user: file.user })
            })
            .collect();
        Self {
            files,
            next_file: self.next_file,
            names: kept.clone(),
            safe: kept,
            pending: Vec::new(),
        }
    }
}
