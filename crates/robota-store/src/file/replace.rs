//! Replacing a file whole: a reader sees all of it or what was there before.

use std::io;
use std::path::Path;

use crate::disk::{CreateMode, Disk};

/// Whether to wait for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyncMode {
    /// Until the content is safe. Its name is the caller's to sync.
    Content,
    /// Not at all.
    No,
}

/// Puts a file in the place of whatever is there.
pub(super) fn replace(
    disk: &dyn Disk,
    path: &Path,
    bytes: &[u8],
    wait: SyncMode,
) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let fresh = path.with_file_name(name);
    // What a writer left that died here.
    match disk.remove(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = disk.open_append(&fresh, CreateMode::Always)?;
    file.write(bytes)?;
    if wait == SyncMode::Content {
        file.sync()?;
    }
    disk.rename(&fresh, path)
}
