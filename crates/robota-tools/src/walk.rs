//! Walks folders as ripgrep does: files that git ignores and hidden files are skipped.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ignore::overrides::OverrideBuilder;
use ignore::types::TypesBuilder;
use ignore::{WalkBuilder, WalkParallel};
use robota_core::tool::InvalidInput;

/// The most threads of a walk; with more the threads mostly wait for the disk.
const MAX_THREADS: usize = 8;

/// The parameters of a walk.
pub(crate) struct Walk<'a> {
    pub(crate) root: &'a Path,
    /// Whether to include names that start with a dot.
    pub(crate) hidden: bool,
    /// Only files that match this glob; all files if absent.
    pub(crate) glob: Option<&'a str>,
    /// Only files of this type; all files if absent.
    pub(crate) file_type: Option<&'a str>,
}

impl Walk<'_> {
    pub(crate) fn build(&self) -> Result<WalkParallel, InvalidInput> {
        let mut builder = WalkBuilder::new(self.root);
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        builder.hidden(!self.hidden).threads(threads.min(MAX_THREADS));
        // Ignore files also apply in a folder that is not a git repository.
        builder.require_git(false);
        // Git's own files are never searched.
        builder.filter_entry(|entry| entry.file_name() != ".git");
        if let Some(glob) = self.glob {
            let mut overrides = OverrideBuilder::new(self.root);
            for one in split_globs(glob) {
                overrides.add(one).map_err(|error| invalid("glob", &error))?;
            }
            builder.overrides(overrides.build().map_err(|error| invalid("glob", &error))?);
        }
        if let Some(name) = self.file_type {
            let mut types = TypesBuilder::new();
            types.add_defaults().select(name);
            builder.types(types.build().map_err(|error| invalid("type", &error))?);
        }
        Ok(builder.build_parallel())
    }
}

/// Splits globs at white space. Commas separate alternatives in braces, so they do not split.
fn split_globs(globs: &str) -> impl Iterator<Item = &str> {
    globs.split_whitespace()
}

fn invalid(argument: &str, error: &dyn std::error::Error) -> InvalidInput {
    InvalidInput(format!("`{argument}` is invalid: {error}"))
}

/// Returns when a file was last changed; `None` if unknown.
pub(crate) fn modified(path: &Path) -> Option<SystemTime> {
    // Of the link itself: its target may be outside of the workspace.
    path.symlink_metadata().ok()?.modified().ok()
}

/// Sorts by modification time, newest first, and then by path.
pub(crate) fn newest_first<T>(found: &mut [T], key: impl Fn(&T) -> (Option<SystemTime>, &PathBuf)) {
    found.sort_by(|a, b| {
        let ((a_time, a_path), (b_time, b_path)) = (key(a), key(b));
        b_time.cmp(&a_time).then_with(|| a_path.cmp(b_path))
    });
}
