//! Replaces a file atomically: a reader finds the old or the new content, also after a crash.

use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Replaces the content of a file. The file keeps its mode unless one is given; a new file has 0600.
pub(crate) fn replace(path: &Path, content: &[u8], mode: Option<u32>) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mode = match mode {
        Some(mode) => mode,
        None => path.metadata().map_or(0o600, |metadata| metadata.permissions().mode() & 0o777),
    };
    // In the same folder: a rename between file systems is not atomic.
    let mut fresh = tempfile::Builder::new().prefix(".robota-").tempfile_in(folder)?;
    // Before the content, which may be a key.
    fresh.as_file().set_permissions(Permissions::from_mode(mode))?;
    fresh.write_all(content)?;
    fresh.as_file().sync_all()?;
    fresh.persist(path).map_err(|error| error.error)?;
    // The folder, too: otherwise the new name may be lost with the power.
    File::open(folder)?.sync_all()
}
