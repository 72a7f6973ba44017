//! Replaces a file atomically: a reader sees the old content or the new one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::disk::{AppendFile, CreateMode, Disk};

/// How the name of a temporary file ends.
const TEMPORARY: &str = ".new";

/// Whether to wait for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyncMode {
    /// Wait until the content is synced. The caller syncs the folder.
    Content,
    /// Do not wait: the content may be lost in a power failure.
    No,
}

/// Writes a file, replacing the one at that path.
pub(super) fn replace(
    disk: &dyn Disk,
    path: &Path,
    bytes: &[u8],
    wait: SyncMode,
) -> io::Result<()> {
    let (mut file, fresh) = create_temporary(disk, path)?;
    let written = file.write(bytes).and_then(|()| match wait {
        SyncMode::Content => file.sync(),
        SyncMode::No => Ok(()),
    });
    let done = written.and_then(|()| disk.rename(&fresh, path));
    if done.is_err() {
        let _ = disk.remove(&fresh);
    }
    done
}

/// Creates a file next to `path` with a name that is not in use: other threads and processes may
/// replace the same file at the same time, and one that crashed may have left its file.
fn create_temporary(disk: &dyn Disk, path: &Path) -> io::Result<(Box<dyn AppendFile>, PathBuf)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}-{number}{TEMPORARY}", std::process::id()));
        let fresh = path.with_file_name(name);
        match disk.open_append(&fresh, CreateMode::Always) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return Ok((created?, fresh)),
        }
    }
}

/// Returns whether a file of this name is one that [`replace`] writes before its rename.
pub(super) fn is_temporary(name: &str) -> bool {
    name.ends_with(TEMPORARY)
}
