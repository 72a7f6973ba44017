//! The approved tools of servers, on disk: one file for each server. They are the tools that the next
//! session offers before the server is started, and what a server's tools are compared with.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::catalog::Catalog;

/// A file above this size is not read.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// Stores the approved tools of servers in a folder.
#[derive(Debug, Clone)]
pub struct CatalogStore {
    folder: PathBuf,
}

impl CatalogStore {
    /// Uses this folder, which is created when something is stored.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the approved tools of the server with this identity; none if there are none or they
    /// cannot be read.
    #[must_use]
    pub fn load(&self, identity: &str) -> Option<Catalog> {
        let path = self.path(identity);
        let small = std::fs::metadata(&path).ok()?.len() <= MAX_BYTES;
        let bytes = small.then(|| std::fs::read(&path).ok())??;
        serde_json::from_slice(&bytes).ok()
    }

    /// Stores the approved tools of a server.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, identity: &str, catalog: &Catalog) -> io::Result<()> {
        write_private(&self.path(identity), &serde_json::to_vec(catalog)?)
    }

    /// Forgets the approved tools of a server.
    ///
    /// # Errors
    /// If the file cannot be deleted.
    pub fn remove(&self, identity: &str) -> io::Result<()> {
        match std::fs::remove_file(self.path(identity)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn path(&self, identity: &str) -> PathBuf {
        self.folder.join(format!("{identity}.json"))
    }
}

/// Writes a file that only the user can read, in one step: a reader sees the old content or the new.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let folder = path.parent().unwrap_or(Path::new("."));
    create_private(folder)?;
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let unfinished = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&unfinished).and_then(|mut file| {
        file.write_all(content)?;
        // Before the rename: after a power failure the name must not stand for an empty file.
        file.sync_data()
    });
    let moved = written.and_then(|()| std::fs::rename(&unfinished, path));
    if moved.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    moved
}

fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
