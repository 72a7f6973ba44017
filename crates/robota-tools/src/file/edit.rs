//! Editing a file: read, check, replace, write.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::atomic::Prepared;
use super::is_binary;
use super::nearest::nearest;
use super::open::open_file;
use super::replace::{Replacement, Unreplaced, replace};
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
/// endings, byte order mark and every byte outside the edit stay. With `seen`, it is refused if
/// the content is not the one that was seen. `name` is what the diff calls the file.
///
/// # Errors
/// If it is no text file, was changed, cannot be written, or the text is not there once.
pub fn edit_file(
    path: &Path,
    name: &str,
    replacement: Replacement<'_>,
    seen: Option<&FileStamp>,
) -> Result<Edited, FileError> {
    // Through links: the file they lead to is replaced, not the link.
    let target = path.canonicalize().map_err(FileError::io("find", path))?;
    let (file, metadata) = open_file(&target)?;
    let old = content(file, &target, &metadata)?;
    let changed = || FileError::Changed { path: path.to_owned() };
    if seen.is_some_and(|seen| !seen.same_content(&FileStamp::of(&old, &metadata))) {
        return Err(changed());
    }
    let replaced = replace(&old, replacement).map_err(|why| match why {
        Unreplaced::NothingToFind => FileError::NothingToFind,
        Unreplaced::NoChange => FileError::NoChange,
        Unreplaced::Absent => {
            let nearest = nearest(&old, replacement.old);
            FileError::Absent { path: path.to_owned(), nearest }
        }
        Unreplaced::Ambiguous { count, lines } => {
            FileError::Ambiguous { path: path.to_owned(), count, lines }
        }
    })?;

    // A rename would replace a file we may not write; asking to write it tells.
    OpenOptions::new().write(true).open(&target).map_err(FileError::io("write", path))?;
    let prepared = Prepared::new(&target, &replaced.content, &metadata)
        .map_err(FileError::io("write", path))?;
    // Once more, as late as possible: another program may have written meanwhile.
    let (file, now) = open_file(&target)?;
    if content(file, &target, &now)? != old {
        return Err(changed());
    }
    let metadata = prepared.commit(&target).map_err(FileError::io("write", path))?;
    Ok(Edited {
        diff: unified(&old, &replaced.content, name),
        start_line: replaced.start_line,
        count: replaced.count,
        stamp: FileStamp::of(&replaced.content, &metadata),
        path: target,
    })
}

fn content(file: File, path: &Path, metadata: &Metadata) -> Result<Vec<u8>, FileError> {
    let too_large = |len| FileError::TooLarge { path: path.to_owned(), len, most: MOST_EDITED };
    if metadata.len() > MOST_EDITED {
        return Err(too_large(metadata.len()));
    }
    let mut content = Vec::new();
    // Not all files are as long as they say.
    file.take(MOST_EDITED + 1).read_to_end(&mut content).map_err(FileError::io("read", path))?;
    if content.len() as u64 > MOST_EDITED {
        return Err(too_large(content.len() as u64));
    }
    if is_binary(&content) {
        return Err(FileError::Binary { path: path.to_owned() });
    }
    Ok(content)
}

#[cfg(test)]
mod tests;
