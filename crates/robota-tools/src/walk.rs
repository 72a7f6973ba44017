//! Walking folders as ripgrep does: what git ignores and what is hidden is left out.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ignore::overrides::OverrideBuilder;
use ignore::types::TypesBuilder;
use ignore::{WalkBuilder, WalkParallel};
use robota_core::tool::InvalidInput;

/// As many threads as help; more only wait for the disk.
const MOST_THREADS: usize = 8;

/// What to walk over.
pub(crate) struct Walk<'a> {
    pub(crate) root: &'a Path,
    /// Whether names that start with a dot count.
    pub(crate) hidden: bool,
    /// Files whose name fits; all, if absent.
    pub(crate) glob: Option<&'a str>,
    /// Files of that type; all, if absent.
    pub(crate) file_type: Option<&'a str>,
}

impl Walk<'_> {
    pub(crate) fn build(&self) -> Result<WalkParallel, InvalidInput> {
        let mut builder = WalkBuilder::new(self.root);
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        builder.hidden(!self.hidden).threads(threads.min(MOST_THREADS));
        // A checkout that is no repository has ignore files all the same.
        builder.require_git(false);
        // Nobody wants to look into git's own files.
        builder.filter_entry(|entry| entry.file_name() != ".git");
        if let Some(glob) = self.glob {
            let mut overrides = OverrideBuilder::new(self.root);
            for one in split_globs(glob) {
                overrides.add(one).map_err(|error| wrong("glob", &error))?;
            }
            builder.overrides(overrides.build().map_err(|error| wrong("glob", &error))?);
        }
        if let Some(name) = self.file_type {
            let mut types = TypesBuilder::new();
            types.add_defaults().select(name);
            builder.types(types.build().map_err(|error| wrong("type", &error))?);
        }
        Ok(builder.build_parallel())
    }
}

/// Globs separated by white space, commas inside braces kept.
fn split_globs(globs: &str) -> impl Iterator<Item = &str> {
    globs.split_whitespace()
}

fn wrong(argument: &str, error: &dyn std::error::Error) -> InvalidInput {
    InvalidInput(format!("`{argument}` cannot be used: {error}"))
}

/// When a file was last changed, as far as is known.
pub(crate) fn modified(path: &Path) -> Option<SystemTime> {
    path.symlink_metadata().ok()?.modified().ok()
}

/// Newest first; of the same age, by name.
pub(crate) fn newest_first<T>(found: &mut [T], key: impl Fn(&T) -> (Option<SystemTime>, &PathBuf)) {
    found.sort_by(|a, b| {
        let ((a_time, a_path), (b_time, b_path)) = (key(a), key(b));
        b_time.cmp(&a_time).then_with(|| a_path.cmp(b_path))
    });
}
