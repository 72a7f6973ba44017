//! Opens regular files only. Opening a pipe would block until its other end is opened.

use std::fs::{File, Metadata};
use std::path::Path;

use crate::error::FileError;

pub(crate) fn open_file(path: &Path) -> Result<(File, Metadata), FileError> {
    must_be_file(path, &path.metadata().map_err(FileError::io("read", path))?)?;
    let file = File::open(path).map_err(FileError::io("read", path))?;
    // Checked again on the open file, because the path may have been replaced in the meantime.
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
