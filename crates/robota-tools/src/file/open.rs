//! Opens regular files only, and without following links.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

use robota_exec::LinkFreeDir;
use rustix::io::Errno;

use super::{FileStamp, ResolvedPath};
use crate::error::FileError;

pub(crate) fn open_file(path: &ResolvedPath) -> Result<(File, Metadata), FileError> {
    let opened = LinkFreeDir::of_file(&path.target, false)
        .and_then(|(dir, name)| dir.open_file(Path::new(name)))
        .and_then(|file| Ok((file.metadata()?, file)));
    match opened {
        Ok((metadata, file)) => Ok((file, metadata)),
        Err(error) => Err(open_error(path, error)),
    }
}

/// Reads a regular file of at most `max` bytes, with the stamp of its content. A link that was put in
/// the way since the path was resolved makes it fail.
///
/// # Errors
/// If the file does not exist, is not a regular file, is too large or cannot be read.
pub fn read_whole(path: &ResolvedPath, max: u64) -> Result<(Vec<u8>, FileStamp), FileError> {
    let (bytes, metadata) = read_up_to(path, max.saturating_add(1))?;
    if bytes.len() as u64 > max {
        let len = metadata.len().max(bytes.len() as u64);
        return Err(FileError::TooLarge { path: path.given.clone(), len, max });
    }
    let stamp = FileStamp::of(&bytes, &metadata);
    Ok((bytes, stamp))
}

/// Reads the beginning of a regular file, at most `max` bytes, and returns whether the file has more.
/// A link that was put in the way since the path was resolved makes it fail.
///
/// # Errors
/// If the file does not exist, is not a regular file or cannot be read.
pub fn read_start(path: &ResolvedPath, max: u64) -> Result<(Vec<u8>, bool), FileError> {
    let (mut bytes, _) = read_up_to(path, max.saturating_add(1))?;
    let more = bytes.len() as u64 > max;
    if more {
        bytes.pop();
    }
    Ok((bytes, more))
}

fn read_up_to(path: &ResolvedPath, limit: u64) -> Result<(Vec<u8>, Metadata), FileError> {
    let (file, metadata) = open_file(path)?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(FileError::io("read", &path.given))?;
    Ok((bytes, metadata))
}

/// Converts an error of [`LinkFreeDir`].
pub(crate) fn open_error(path: &ResolvedPath, error: io::Error) -> FileError {
    let given = path.given.clone();
    match error.kind() {
        io::ErrorKind::IsADirectory => FileError::NotAFile { path: given, what: "a directory" },
        io::ErrorKind::InvalidInput if path.target.parent().is_none() => {
            FileError::NotAFile { path: given, what: "a directory" }
        }
        io::ErrorKind::InvalidInput => {
            FileError::NotAFile { path: given, what: "a device, pipe or socket" }
        }
        // The target had no links when the path was resolved.
        _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            FileError::Redirected { path: given }
        }
        _ => FileError::io("read", given)(error),
    }
}
