//! Files that change, told by looking.
//!
//! A look costs one `stat` per file; a watch of a few files that were read does not need more,
//! and works on every disk.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use robota_core::sandbox::SandboxError;
use tokio::sync::mpsc;

const EVERY: Duration = Duration::from_millis(200);

/// Hands over each file when it changes, until nobody listens.
pub(super) fn watch(paths: &[PathBuf]) -> Result<mpsc::Receiver<PathBuf>, SandboxError> {
    let (tell, changes) = mpsc::channel(64);
    let mut known: Vec<_> = paths.iter().map(|path| (path.clone(), look(path))).collect();
    tokio::spawn(async move {
        let mut clock = tokio::time::interval(EVERY);
        loop {
            tokio::select! {
                () = tell.closed() => return,
                _ = clock.tick() => {}
            }
            for (path, before) in &mut known {
                let now = look(path);
                if now != *before {
                    *before = now;
                    if tell.send(path.clone()).await.is_err() {
                        return;
                    }
                }
            }
        }
    });
    Ok(changes)
}

/// What tells one content from another without reading it.
fn look(path: &Path) -> Option<(u64, Option<SystemTime>, u64)> {
    let metadata = path.metadata().ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let number = 0;
    Some((metadata.len(), metadata.modified().ok(), number))
}
