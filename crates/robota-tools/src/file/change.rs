//! Changes of files: planned without touching anything, then made, all or none of them.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::atomic::{NotSwapped, Prepared, lock_folders};
use super::encoding::Encoding;
use super::nearest::nearest;
use super::open::open_file;
use super::replace::{Replacement, Unreplaced, replace};
use super::stamp::FileStamp;
use super::{BOM, MOST_EDITED};
use crate::error::FileError;

/// A change that is not made yet.
#[derive(Debug)]
pub struct Planned {
    /// The file as it was named.
    pub path: PathBuf,
    /// The file that is written: links in the given path are followed.
    pub target: PathBuf,
    /// What is there; absent if nothing is.
    pub before: Option<Vec<u8>>,
    /// What is to be there.
    pub after: Vec<u8>,
    metadata: Option<Metadata>,
}

/// One replacement of a planned edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line of the first replaced text, counted from 1, when its turn came.
    pub start_line: u64,
    /// How many texts were replaced.
    pub count: u64,
}

impl Planned {
    /// The permission bits of what is there.
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

/// Plans replacements in a file, one after the other. With `seen`, it is refused if the content
/// is not the one that was seen.
///
/// # Errors
/// If it is no text file, was changed, or a text is not there once.
pub fn plan_edit(
    path: &Path,
    replacements: &[Replacement<'_>],
    seen: Option<&FileStamp>,
) -> Result<(Planned, Vec<Place>), FileError> {
    // Through links: the file they lead to is replaced, not the link.
    let target = path.canonicalize().map_err(FileError::io("find", path))?;
    let (file, metadata) = open_file(&target)?;
    let before = content(file, &target, &metadata)?;
    if seen.is_some_and(|seen| !seen.same_content(&FileStamp::of(&before, &metadata))) {
        return Err(FileError::Changed { path: path.to_owned() });
    }
    let binary = || FileError::Binary { path: path.to_owned() };
    let encoding = Encoding::of(&before).ok_or_else(binary)?;
    let mut text = encoding.decode(&before).ok_or_else(binary)?;
    let mut places = Vec::with_capacity(replacements.len());
    for replacement in replacements {
        let replaced = replace(&text, *replacement).map_err(|why| match why {
            Unreplaced::NothingToFind => FileError::NothingToFind,
            Unreplaced::NoChange => FileError::NoChange,
            Unreplaced::Absent => {
                let nearest = nearest(&text, replacement.old);
                FileError::Absent { path: path.to_owned(), nearest }
            }
            Unreplaced::Ambiguous { count, lines } => {
                FileError::Ambiguous { path: path.to_owned(), count, lines }
            }
        })?;
        text = replaced.content;
        places.push(Place { start_line: replaced.start_line, count: replaced.count });
    }
    let after = encoded(path, encoding, &text)?;
    let planned = Planned {
        path: path.to_owned(),
        target,
        before: Some(before),
        after,
        metadata: Some(metadata),
    };
    Ok((planned, places))
}

/// Plans new content for a file. One that is there keeps its line endings, its mark and its
/// encoding. With `seen`, it is refused if the content is not the one that was seen.
///
/// # Errors
/// If something else is there, it was changed, or cannot hold the text.
pub fn plan_write(path: &Path, text: &str, seen: Option<&FileStamp>) -> Result<Planned, FileError> {
    let Ok(target) = path.canonicalize() else {
        let target = new_target(path)?;
        let after = text.as_bytes().to_vec();
        return Ok(Planned { path: path.to_owned(), target, before: None, after, metadata: None });
    };
    let (file, metadata) = open_file(&target)?;
    let before = content(file, &target, &metadata)?;
    let seen = seen.ok_or_else(|| FileError::NotRead { path: path.to_owned() })?;
    if !seen.same_content(&FileStamp::of(&before, &metadata)) {
        return Err(FileError::Changed { path: path.to_owned() });
    }
    let after = match Encoding::of(&before).and_then(|e| Some((e, e.decode(&before)?))) {
        Some((encoding, old)) if !before.is_empty() => {
            encoded(path, encoding, as_before(text, &old).as_bytes())?
        }
        // What was not text has nothing to keep.
        _ => text.as_bytes().to_vec(),
    };
    Ok(Planned {
        path: path.to_owned(),
        target,
        before: Some(before),
        after,
        metadata: Some(metadata),
    })
}

/// Makes changes: all of them, or none. Each file has its old or its new content at any time,
/// also when we are killed; two changes of one file must not be among them.
///
/// # Errors
/// If somebody changed one of the files since it was planned, or one cannot be written.
pub fn commit(planned: &[Planned]) -> Result<Vec<FileStamp>, FileError> {
    for change in planned {
        if change.before.is_some() {
            // A rename would replace a file we may not write; asking to write it tells.
            let write = FileError::io("write", &change.path);
            OpenOptions::new().write(true).open(&change.target).map_err(write)?;
        } else if let Some(dir) = change.target.parent() {
            std::fs::create_dir_all(dir)
                .map_err(FileError::io("make the folder of", &change.path))?;
        }
    }
    // Held until nothing of ours but the files themselves is in the folders.
    let _alone = lock_folders(planned.iter().map(|change| change.target.as_path()));
    let mut prepared = Vec::with_capacity(planned.len());
    for change in planned {
        let write = || FileError::io("write", &change.path);
        let ready = Prepared::new(&change.target, &change.after, change.metadata.as_ref());
        prepared.push(ready.map_err(write())?);
    }
    let mut swapped = Vec::with_capacity(planned.len());
    let mut failed = None;
    for (change, ready) in planned.iter().zip(prepared) {
        match ready.swap(change.before.as_deref(), &change.after) {
            Ok(done) => swapped.push(done),
            Err(NotSwapped::Changed) => {
                failed = Some(FileError::Changed { path: change.path.clone() });
            }
            Err(NotSwapped::Io(source)) => {
                failed = Some(FileError::io("write", &change.path)(source));
            }
        }
        if failed.is_some() {
            break;
        }
    }
    if let Some(failed) = failed {
        swapped.into_iter().rev().for_each(super::atomic::Swapped::undo);
        return Err(failed);
    }
    let stamp = |(change, done): (&Planned, super::atomic::Swapped)| {
        let metadata = done.settle().map_err(FileError::io("look at", &change.path))?;
        Ok(FileStamp::of(&change.after, &metadata))
    };
    planned.iter().zip(swapped).map(stamp).collect()
}

/// Where a new file will be: links on the way are followed, its folder may be missing.
fn new_target(path: &Path) -> Result<PathBuf, FileError> {
    if path.symlink_metadata().is_ok() {
        // A link that leads nowhere: to write through it makes the file there.
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

/// The text with the mark and the line endings of what is there.
fn as_before(text: &str, old: &[u8]) -> String {
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
    Ok(content)
}

#[cfg(test)]
mod tests;
