//! Replaces a file atomically: a reader sees the old content or the new one.

use std::io;
use std::path::Path;

use crate::disk::{CreateMode, Disk};

/// Whether to wait for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyncMode {
    /// Wait until the content is synced. The caller syncs the folder.
    Content,
    /// Do not wait.
    No,
}

/// Writes a file, replacing the one at that path.
pub(super) fn replace(
    disk: &dyn Disk,
    path: &Path,
    bytes: &[u8],
    wait: SyncMode,
) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let fresh = path.with_file_name(name);
    // Remove the file of a writer that crashed at this point.
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
