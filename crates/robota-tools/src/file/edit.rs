//! Editing one file, in one go.

use std::path::{Path, PathBuf};

use super::change::{commit, plan_edit};
use super::replace::Replacement;
use super::stamp::FileStamp;
use crate::diff::unified;
use crate::error::FileError;

/// The largest file that is edited, and the largest whose content a stamp knows.
pub const MOST_EDITED: u64 = 32 * 1024 * 1024;

/// An edit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The file that was written: links in the given path are followed.
    pub path: PathBuf,
    /// The line of the first replaced text, counted from 1.
    pub start_line: u64,
    /// How many texts were replaced.
    pub count: u64,
    /// The change, for people.
    pub diff: String,
    /// The content that is there now.
    pub stamp: FileStamp,
}

/// Replaces text in a file. The file has the old or the new content at any time; its mode, line
/// endings, byte order mark, encoding and every byte outside the edit stay. With `seen`, it is
/// refused if the content is not the one that was seen. `name` is what the diff calls the file.
///
/// # Errors
/// If it is no text file, was changed, cannot be written, or the text is not there once.
pub fn edit_file(
    path: &Path,
    name: &str,
    replacement: Replacement<'_>,
    seen: Option<&FileStamp>,
) -> Result<Edited, FileError> {
    let (planned, places) = plan_edit(path, &[replacement], seen)?;
    let stamps = commit(std::slice::from_ref(&planned))?;
    let (Some(place), Some(stamp)) = (places.first(), stamps.first()) else {
        return Err(FileError::NoChange);
    };
    let before = planned.before.as_deref().unwrap_or_default();
    Ok(Edited {
        diff: unified(before, &planned.after, name),
        start_line: place.start_line,
        count: place.count,
        stamp: *stamp,
        path: planned.target,
    })
}

#[cfg(test)]
mod tests;
