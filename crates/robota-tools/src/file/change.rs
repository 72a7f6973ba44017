//! Changes of files: they are planned first, without touching a file, and then made together, all or
//! none.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::path::Path;

use super::atomic_swap::{Place, PreparedFile, SwapError, SwappedFile, lock_folders};
use super::encoding::Encoding;
use super::nearest::nearest;
use super::open::{open_error, open_file};
use super::replace::{ReplaceError, Replacement, replace};
use super::resolved_path::ResolvedPath;
use super::stamp::FileStamp;
use super::{BOM, MAX_EDIT_BYTES};
use crate::error::FileError;

/// A change that was not made yet.
#[derive(Debug)]
pub struct PlannedChange {
    /// The file that is written.
    pub path: ResolvedPath,
    /// The current content; `None` if the file does not exist.
    pub before: Option<Vec<u8>>,
    /// The new content, in the encoding of the file.
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
    path: &ResolvedPath,
    replacements: &[Replacement<'_>],
    seen: Option<&FileStamp>,
) -> Result<(PlannedChange, Vec<EditLocation>), FileError> {
    let (file, metadata) = open_file(path)?;
    let before = content(file, &path.given, &metadata)?;
    if seen.is_some_and(|seen| !seen.same_content(&FileStamp::of(&before, &metadata))) {
        return Err(FileError::Changed { path: path.given.clone() });
    }
    let binary = || FileError::Binary { path: path.given.clone() };
    let encoding = Encoding::of(&before).ok_or_else(binary)?;
    let mut text = encoding.decode(&before).ok_or_else(binary)?;
    let mut locations = Vec::with_capacity(replacements.len());
    for replacement in replacements {
        let replaced = replace(&text, *replacement).map_err(|error| match error {
            ReplaceError::NothingToFind => FileError::NothingToFind,
            ReplaceError::NoChange => FileError::NoChange,
            ReplaceError::Absent => {
                let nearest = nearest(&text, replacement.old);
                FileError::Absent { path: path.given.clone(), nearest }
            }
            ReplaceError::Ambiguous { count, lines } => {
                FileError::Ambiguous { path: path.given.clone(), count, lines }
            }
        })?;
        text = replaced.content;
        locations.push(EditLocation { start_line: replaced.start_line, count: replaced.count });
    }
    let after = encoded(&path.given, encoding, &text)?;
    let planned =
        PlannedChange { path: path.clone(), before: Some(before), after, metadata: Some(metadata) };
    Ok((planned, locations))
}

/// Plans new content for a file. An existing file keeps its line endings, its byte order mark and its
/// encoding, and needs `seen`, which must match the current content.
///
/// # Errors
/// If the path is not a file, the file was not read or was changed, or its encoding cannot represent
/// the text.
pub fn plan_write(
    path: &ResolvedPath,
    text: &str,
    seen: Option<&FileStamp>,
) -> Result<PlannedChange, FileError> {
    let (file, metadata) = match open_file(path) {
        Err(FileError::Missing { .. }) => {
            let after = text.as_bytes().to_vec();
            return Ok(PlannedChange { path: path.clone(), before: None, after, metadata: None });
        }
        opened => opened?,
    };
    let before = content(file, &path.given, &metadata)?;
    let seen = seen.ok_or_else(|| FileError::NotRead { path: path.given.clone() })?;
    if !seen.same_content(&FileStamp::of(&before, &metadata)) {
        return Err(FileError::Changed { path: path.given.clone() });
    }
    let after = match Encoding::of(&before).and_then(|e| Some((e, e.decode(&before)?))) {
        Some((encoding, old)) if !before.is_empty() => {
            encoded(&path.given, encoding, with_format_of(text, &old).as_bytes())?
        }
        // A file that was empty or not text has no format to keep.
        _ => text.as_bytes().to_vec(),
    };
    Ok(PlannedChange { path: path.clone(), before: Some(before), after, metadata: Some(metadata) })
}

/// Makes changes, all of them or none. At any time each file has its old or its new content, also
/// after a crash. `planned` must not contain two changes of one file.
///
/// # Errors
/// If one of the files was changed since it was planned, or one cannot be written.
pub fn commit(planned: &[PlannedChange]) -> Result<Vec<FileStamp>, FileError> {
    let mut places = Vec::with_capacity(planned.len());
    for change in planned {
        let place = Place::open(&change.path.target, change.before.is_none());
        let place = place.map_err(|error| open_error(&change.path, error))?;
        if change.before.is_some() {
            // A rename would also replace a read-only file, so the permission is checked by opening.
            place.check_writable().map_err(FileError::io("write", &change.path.given))?;
        }
        places.push(place);
    }
    // Held until all temporary files are deleted.
    let _locks =
        lock_folders(planned.iter().map(|change| change.path.target.as_path()).zip(&places));
    let mut prepared = Vec::with_capacity(planned.len());
    for (change, place) in planned.iter().zip(&places) {
        let ready = PreparedFile::new(place, &change.after, change.metadata.as_ref());
        prepared.push(ready.map_err(FileError::io("write", &change.path.given))?);
    }
    let mut swapped = Vec::with_capacity(planned.len());
    for (change, ready) in planned.iter().zip(prepared) {
        let path = || change.path.given.clone();
        let failed = match ready.swap(change.before.as_deref(), &change.after) {
            Ok(done) => {
                swapped.push(done);
                continue;
            }
            Err(SwapError::Changed) => FileError::Changed { path: path() },
            Err(SwapError::Io(source)) => FileError::io("write", path())(source),
        };
        swapped.into_iter().rev().for_each(SwappedFile::undo);
        return Err(failed);
    }
    let stamp = |(change, done): (&PlannedChange, SwappedFile<'_>)| {
        let metadata = done.sync().map_err(FileError::io("inspect", &change.path.given))?;
        Ok(FileStamp::of(&change.after, &metadata))
    };
    planned.iter().zip(swapped).map(stamp).collect()
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
    // The more frequent ending: mixed files are common, and each kind has to stay the majority.
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
