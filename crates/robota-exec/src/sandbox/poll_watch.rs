//! Watches files by polling.
//!
//! Each poll costs one `stat` per file. That is enough for the few files that a session has read,
//! and it works on every file system.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use robota_core::sandbox::SandboxError;
use tokio::sync::mpsc;

// Short enough that a person does not notice the delay, long enough that polling costs nothing
// measurable.
const INTERVAL: Duration = Duration::from_millis(200);

/// Sends the path of each file that changes, until the receiver is dropped.
pub(super) fn watch(paths: &[PathBuf]) -> Result<mpsc::Receiver<PathBuf>, SandboxError> {
    let (sender, changes) = mpsc::channel(64);
    let mut states: Vec<_> = paths.iter().map(|path| (path.clone(), state(path))).collect();
    tokio::spawn(async move {
        let mut clock = tokio::time::interval(INTERVAL);
        loop {
            tokio::select! {
                () = sender.closed() => return,
                _ = clock.tick() => {}
            }
            for (path, previous) in &mut states {
                let current = state(path);
                if current != *previous {
                    *previous = current;
                    if sender.send(path.clone()).await.is_err() {
                        return;
                    }
                }
            }
        }
    });
    Ok(changes)
}

/// Returns the metadata that differs when the content has changed: size, modification time and inode.
/// `None` if the file does not exist.
fn state(path: &Path) -> Option<(u64, Option<SystemTime>, u64)> {
    let metadata = path.metadata().ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let inode = 0;
    Some((metadata.len(), metadata.modified().ok(), inode))
}
