//! Opening what is surely a file: to open a pipe would wait for its other end.

use std::fs::{File, Metadata};
use std::path::Path;

use crate::error::FileError;

pub(crate) fn open_file(path: &Path) -> Result<(File, Metadata), FileError> {
    must_be_file(path, &path.metadata().map_err(FileError::io("read", path))?)?;
    let file = File::open(path).map_err(FileError::io("read", path))?;
    // Of the thing that was opened, should somebody have put another in its place.
    let metadata = file.metadata().map_err(FileError::io("read", path))?;
    must_be_file(path, &metadata)?;
    Ok((file, metadata))
}

fn must_be_file(path: &Path, metadata: &Metadata) -> Result<(), FileError> {
    let what = if metadata.is_file() {
        return Ok(());
    } else if metadata.is_dir() {
        "a directory"
    } else {
        "a device, pipe or socket"
    };
    Err(FileError::NotAFile { path: path.to_owned(), what })
}
