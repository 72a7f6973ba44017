//! Opens regular files only, and without following links.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use robota_exec::LinkFreeDir;
use rustix::io::Errno;

use super::ResolvedPath;
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
