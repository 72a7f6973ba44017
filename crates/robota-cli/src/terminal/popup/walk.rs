//! Lists the files of a folder, on a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ignore::{DirEntry, WalkBuilder};

/// How many files are passed on at once.
const BATCH: usize = 2000;

/// The folders in `.robota` that contain what the program stores. Files that people write are in others.
const STORED: [&str; 6] = ["checkpoints", "logs", "reaper", "sessions", "tasks", "worktrees"];

/// Some of the files that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Paths below the folder, with `/` between their parts; folders end with `/`.
    pub(crate) paths: Vec<String>,
    /// Whether it is the first of its listing, and the last.
    pub(crate) first: bool,
    pub(crate) last: bool,
    /// Whether there are more files than the limits allow. Known in the last batch.
    pub(crate) truncated: bool,
}

/// When a listing stops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) files: usize,
    pub(crate) time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { files: 100_000, time: Duration::from_secs(10) }
    }
}

/// A listing that runs. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct Walk {
    stop: Arc<AtomicBool>,
}

impl Walk {
    /// Lists the files of a folder, without `.git`, what ignore files exclude, and what the program stores in
    /// `.robota`. The function gets the files as they are found, and returns false to stop.
    pub(crate) fn start(
        folder: PathBuf,
        limits: Limits,
        send: impl FnMut(Batch) -> bool + Send + 'static,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        thread::Builder::new()
            .name("files".to_owned())
            .spawn(move || list(&folder, limits, &stopped, send))?;
        Ok(Self { stop })
    }
}

impl Drop for Walk {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Lists like [`Walk::start`], on this thread.
pub(super) fn list(
    folder: &Path,
    limits: Limits,
    stop: &AtomicBool,
    mut send: impl FnMut(Batch) -> bool,
) {
    let mut walk = WalkBuilder::new(folder);
    // Users name dot files too, and ignore files count also where there is no repository.
    walk.hidden(false).require_git(false);
    walk.filter_entry(|entry| entry.file_name() != ".git" && !is_stored(entry));
    let started = Instant::now();
    let mut batch = Batch { first: true, ..Batch::default() };
    let mut files = 0;
    for entry in walk.build().flatten() {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let Some(path) = relative(&entry, folder) else { continue };
        if files == limits.files || started.elapsed() > limits.time {
            batch.truncated = true;
            break;
        }
        // Folders count too: a tree of empty folders must end as well.
        files += 1;
        batch.paths.push(path);
        // The first ones are shown soon.
        if batch.paths.len() == BATCH || (batch.first && batch.paths.len() == 200) {
            let next = Batch::default();
            if !send(std::mem::replace(&mut batch, next)) {
                return;
            }
        }
    }
    batch.last = true;
    send(batch);
}

/// Returns whether a folder contains what the program stores. The listed folder itself can be such a one, as
/// a worktree is.
fn is_stored(entry: &DirEntry) -> bool {
    let parent = entry.path().parent().and_then(Path::file_name);
    entry.depth() > 0
        && parent.is_some_and(|parent| parent == ".robota")
        && STORED.iter().any(|name| entry.file_name() == *name)
}

fn relative(entry: &DirEntry, folder: &Path) -> Option<String> {
    let path = entry.path().strip_prefix(folder).ok()?.to_str()?;
    // The list could not show such a name as it is.
    if path.is_empty() || path.chars().any(char::is_control) {
        return None;
    }
    let path = path.replace(std::path::MAIN_SEPARATOR, "/");
    let folder = entry.file_type().is_some_and(|it| it.is_dir());
    Some(if folder { format!("{path}/") } else { path })
}
