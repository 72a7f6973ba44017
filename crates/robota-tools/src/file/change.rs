//! Changes of files: they are planned first, without touching a file, and then made together, all or
//! none.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::atomic_swap::{PreparedFile, SwapError, lock_folders};
use super::encoding::Encoding;
use super::nearest::nearest;
use super::open::open_file;
use super::replace::{ReplaceError, Replacement, replace};
use super::stamp::FileStamp;
use super::{BOM, MAX_EDIT_BYTES};
use crate::error::FileError;

/// A change that was not made yet.
#[derive(Debug)]
pub struct PlannedChange {
    /// The path as it was given.
    pub path: PathBuf,
    /// The file that is written: the path with all links followed.
    pub target: PathBuf,
    /// The current content; `None` if the file does not exist.
    pub before: Option<Vec<u8>>,
    /// The new content.
    pub after: Vec<u8>,
    metadata: Option<Metadata>,
}

/// Where a planned edit replaces text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditLocation {
    /// The line of the first replaced text, counted from 1, after the edits before it.
    pub start_line: u64,
    /// The number of replaced occurrences.
    pub count: u64,
}

impl PlannedChange {
    /// Returns the permission bits of the current file.
    #[must_use]
    pub fn mode(&self) -> Option<u32> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            self.metadata.as_ref().map(|metadata| metadata.permissions().mode() & 0o7777)
        }
        #[cfg(not(unix))]
        {
            None
        }
    }
}

/// Plans replacements in a file, one after the other. If `seen` is given, it must match the current
/// content.
///
/// # Errors
/// If it is not a text file, was changed, or a text does not occur exactly once.
pub fn plan_edit(
    path: &Path,
    replacements: &[Replacement<'_>],
    seen: Option<&FileStamp>,
) -> Result<(PlannedChange, Vec<EditLocation>), FileError> {
    // Links are followed: the target of a link is changed, not the link.
    let target = path.canonicalize().map_err(FileError::io("find", path))?;
    let (file, metadata) = open_file(&target)?;
    let before = content(file, &target, &metadata)?;
    if seen.is_some_and(|seen| !seen.same_content(&FileStamp::of(&before, &metadata))) {
        return Err(FileError::Changed { path: path.to_owned() });
    }
    let binary = || FileError::Binary { path: path.to_owned() };
    let encoding = Encoding::of(&before).ok_or_else(binary)?;
    let mut text = encoding.decode(&before).ok_or_else(binary)?;
    let mut locations = Vec::with_capacity(replacements.len());
    for replacement in replacements {
        let replaced = replace(&text, *replacement).map_err(|error| match error {
            ReplaceError::NothingToFind => FileError::NothingToFind,
            ReplaceError::NoChange => FileError::NoChange,
            ReplaceError::Absent => {
                let nearest = nearest(&text, replacement.old);
                FileError::Absent { path: path.to_owned(), nearest }
            }
            ReplaceError::Ambiguous { count, lines } => {
                FileError::Ambiguous { path: path.to_owned(), count, lines }
            }
        })?;
        text = replaced.content;
        locations.push(EditLocation { start_line: replaced.start_line, count: replaced.count });
    }
    let after = encoded(path, encoding, &text)?;
    let planned = PlannedChange {
        path: path.to_owned(),
        target,
        before: Some(before),
        after,
        metadata: Some(metadata),
    };
    Ok((planned, locations))
}

/// Plans new content for a file. An existing file keeps its line endings, its byte order mark and its
/// encoding, and needs `seen`, which must match the current content.
///
/// # Errors
/// If the path is not a file, the file was not read or was changed, or its encoding cannot represent
/// the text.
pub fn plan_write(
    path: &Path,
    text: &str,
    seen: Option<&FileStamp>,
) -> Result<PlannedChange, FileError> {
    let Ok(target) = path.canonicalize() else {
        let target = new_target(path)?;
        let after = text.as_bytes().to_vec();
        return Ok(PlannedChange {
            path: path.to_owned(),
            target,
            before: None,
            after,
            metadata: None,
        });
    };
    let (file, metadata) = open_file(&target)?;
    let before = content(file, &target, &metadata)?;
    let seen = seen.ok_or_else(|| FileError::NotRead { path: path.to_owned() })?;
    if !seen.same_content(&FileStamp::of(&before, &metadata)) {
        return Err(FileError::Changed { path: path.to_owned() });
    }
    let after = match Encoding::of(&before).and_then(|e| Some((e, e.decode(&before)?))) {
        Some((encoding, old)) if !before.is_empty() => {
            encoded(path, encoding, with_format_of(text, &old).as_bytes())?
        }
        // A file that was empty or not text has no format to keep.
        _ => text.as_bytes().to_vec(),
    };
    Ok(PlannedChange {
        path: path.to_owned(),
        target,
        before: Some(before),
        after,
        metadata: Some(metadata),
    })
}

/// Makes changes, all of them or none. At any time each file has its old or its new content, also
/// after a crash. `planned` must not contain two changes of one file.
///
/// # Errors
/// If one of the files was changed since it was planned, or one cannot be written.
pub fn commit(planned: &[PlannedChange]) -> Result<Vec<FileStamp>, FileError> {
    for change in planned {
        if change.before.is_some() {
            // A rename would also replace a read-only file, so the permission is checked by opening.
            let write = FileError::io("write", &change.path);
            OpenOptions::new().write(true).open(&change.target).map_err(write)?;
        } else if let Some(dir) = change.target.parent() {
            std::fs::create_dir_all(dir)
                .map_err(FileError::io("create the folder of", &change.path))?;
        }
    }
    // Held until all temporary files are gone.
    let _locks = lock_folders(planned.iter().map(|change| change.target.as_path()));
    let mut prepared = Vec::with_capacity(planned.len());
    for change in planned {
        let write = || FileError::io("write", &change.path);
        let ready = PreparedFile::new(&change.target, &change.after, change.metadata.as_ref());
        prepared.push(ready.map_err(write())?);
    }
    let mut swapped = Vec::with_capacity(planned.len());
    let mut failed = None;
    for (change, ready) in planned.iter().zip(prepared) {
        match ready.swap(change.before.as_deref(), &change.after) {
            Ok(done) => swapped.push(done),
            Err(SwapError::Changed) => {
                failed = Some(FileError::Changed { path: change.path.clone() });
            }
            Err(SwapError::Io(source)) => {
                failed = Some(FileError::io("write", &change.path)(source));
            }
        }
        if failed.is_some() {
            break;
        }
    }
    if let Some(failed) = failed {
        swapped.into_iter().rev().for_each(super::atomic_swap::SwappedFile::undo);
        return Err(failed);
    }
    let stamp = |(change, done): (&PlannedChange, super::atomic_swap::SwappedFile)| {
        let metadata = done.sync().map_err(FileError::io("inspect", &change.path))?;
        Ok(FileStamp::of(&change.after, &metadata))
    };
    planned.iter().zip(swapped).map(stamp).collect()
}

/// Returns the path of a new file with links followed. Its folder may not exist yet.
fn new_target(path: &Path) -> Result<PathBuf, FileError> {
    if path.symlink_metadata().is_ok() {
        // A dangling link: writing through it creates the target.
        let target = path.read_link().map_err(FileError::io("follow", path))?;
        let target = path.parent().unwrap_or(path).join(target);
        return match target.symlink_metadata() {
            Err(_) => Ok(target),
            Ok(_) => Err(FileError::NotAFile { path: path.to_owned(), what: "a broken link" }),
        };
    }
    let missing = |path: &Path| FileError::Missing { path: path.to_owned() };
    let name = path.file_name().ok_or_else(|| missing(path))?;
    let dir = path.parent().ok_or_else(|| missing(path))?;
    Ok(dir.canonicalize().unwrap_or_else(|_| dir.to_owned()).join(name))
}

/// Returns the text with the byte order mark and the line endings of the old content.
fn with_format_of(text: &str, old: &[u8]) -> String {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (body, mark) = match old.strip_prefix(BOM) {
        Some(body) => (body, "\u{feff}"),
        None => (old, ""),
    };
    let lines = body.iter().filter(|byte| **byte == b'\n').count();
    let crlf = body.windows(2).filter(|pair| pair == b"\r\n").count();
    if crlf * 2 > lines {
        format!("{mark}{}", bare.replace("\r\n", "\n").replace('\n', "\r\n"))
    } else {
        format!("{mark}{bare}")
    }
}

fn encoded(path: &Path, encoding: Encoding, text: &[u8]) -> Result<Vec<u8>, FileError> {
    encoding.encode(text).ok_or_else(|| FileError::Unencodable {
        path: path.to_owned(),
        encoding: encoding.name().unwrap_or("UTF-8"),
    })
}

fn content(file: File, path: &Path, metadata: &Metadata) -> Result<Vec<u8>, FileError> {
    let too_large = |len| FileError::TooLarge { path: path.to_owned(), len, max: MAX_EDIT_BYTES };
    if metadata.len() > MAX_EDIT_BYTES {
        return Err(too_large(metadata.len()));
    }
    let mut content = Vec::new();
    // The size in the metadata can be wrong, for example in /proc.
    file.take(MAX_EDIT_BYTES + 1).read_to_end(&mut content).map_err(FileError::io("read", path))?;
    if content.len() as u64 > MAX_EDIT_BYTES {
        return Err(too_large(content.len() as u64));
    }
    Ok(content)
}

#[cfg(test)]
mod tests;
