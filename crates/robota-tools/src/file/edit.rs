//! Edits one file: plans the change and makes it.

use std::path::{Path, PathBuf};

use super::change::{commit, plan_edit};
use super::replace::Replacement;
use super::resolved_path::ResolvedPath;
use super::stamp::FileStamp;
use crate::diff::unified;
use crate::error::FileError;

/// The largest file that is edited or hashed. It is held in memory several times.
pub const MAX_EDIT_BYTES: u64 = 32 * 1024 * 1024;

/// An edit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The file that was written: the path with all links followed.
    pub path: PathBuf,
    /// The line of the first replaced text, counted from 1.
    pub start_line: u64,
    /// The number of replaced occurrences.
    pub count: u64,
    /// The change as a unified diff.
    pub diff: String,
    /// The stamp of the new content.
    pub stamp: FileStamp,
}

/// Replaces text in a file atomically. Its mode, line endings, byte order mark, encoding and all bytes
/// outside the edit are kept. If `seen` is given, it must match the current content. `name` is the name
/// of the file in the diff.
///
/// # Errors
/// If it is not a text file, was changed, cannot be written, or the text does not occur exactly once.
pub fn edit_file(
    path: &Path,
    name: &str,
    replacement: Replacement<'_>,
    seen: Option<&FileStamp>,
) -> Result<Edited, FileError> {
    let (planned, locations) = plan_edit(&ResolvedPath::new(path)?, &[replacement], seen)?;
    let stamps = commit(std::slice::from_ref(&planned))?;
    let (Some(location), Some(stamp)) = (locations.first(), stamps.first()) else {
        return Err(FileError::NoChange);
    };
    let before = planned.before.as_deref().unwrap_or_default();
    Ok(Edited {
        diff: unified(before, &planned.after, name),
        start_line: location.start_line,
        count: location.count,
        stamp: *stamp,
        path: planned.path.target,
    })
}

#[cfg(test)]
mod tests;
