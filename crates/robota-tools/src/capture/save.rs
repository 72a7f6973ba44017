//! Saves the contents of files in few blobs.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use robota_core::blob::Blobs;
use robota_core::checkpoint::{FileDelta, SavedContent};
use robota_core::error::{Diagnose as _, ErrorData};
use robota_core::message::BlobRef;
use tokio::sync::mpsc;

use super::tree::WorkspaceTree;
use super::{CaptureLimits, blocking};

/// A pack is complete when it has this many bytes.
const PACK_BYTES: usize = 8 * 1024 * 1024;
/// On average one of this many files ends a pack.
const PACK_FILES: u64 = 256;

/// Brings the record of a workspace up to date, and stores the contents that are not stored.
/// Returns what changed since the last time.
pub(super) async fn save(
    mut tree: WorkspaceTree,
    root: &Path,
    limits: &Arc<CaptureLimits>,
    blobs: &dyn Blobs,
) -> Result<(WorkspaceTree, Vec<FileDelta>), ErrorData> {
    // One pack waits while the next is filled, so memory is bounded and reading does not stop.
    let (packs, mut complete) = mpsc::channel(1);
    let (root, limits) = (root.to_owned(), limits.clone());
    let work = blocking(move || {
        let mut packer = Packer { packs, bytes: Vec::new(), files: Vec::new(), saved: Vec::new() };
        let changed = tree.update(&root, &limits, Some(&mut packer));
        packer.complete();
        for (path, place) in packer.saved {
            tree.set_saved(&path, place);
        }
        (tree, changed)
    });
    // It owns the receiver: if a pack cannot be stored, the packer notices it and does not wait.
    let store = async move {
        while let Some(pack) = complete.recv().await {
            let pack: Vec<u8> = pack;
            blobs.put(&pack).await.map_err(|error| error.to_data())?;
        }
        Ok::<_, ErrorData>(())
    };
    let (done, stored) = tokio::join!(work, store);
    stored?;
    done
}

/// Reads a file that probably has `size` bytes; `None` if it is longer than `max` bytes.
pub(super) fn read_file(file: &mut File, size: u64, max: u64) -> io::Result<Option<Vec<u8>>> {
    // With room for one byte more the end of the file is found without another allocation, and
    // without the many small reads of an empty buffer.
    let mut content = Vec::with_capacity(usize::try_from(size.min(max)).unwrap_or(0) + 1);
    file.take(max + 1).read_to_end(&mut content)?;
    Ok(Some(content).filter(|content| content.len() as u64 <= max))
}

/// Joins contents to packs. Where a pack ends depends on the paths, so that packs with the same
/// files are the same in all sessions, and the store keeps them once.
pub(super) struct Packer {
    packs: mpsc::Sender<Vec<u8>>,
    bytes: Vec<u8>,
    /// The files of the incomplete pack: path, offset, length.
    files: Vec<(String, u64, u64)>,
    saved: Vec<(String, SavedContent)>,
}

impl Packer {
    pub(super) fn add(&mut self, path: &str, content: &[u8]) {
        if self.bytes.len() + content.len() > PACK_BYTES {
            self.complete();
        }
        self.files.push((path.to_owned(), self.bytes.len() as u64, content.len() as u64));
        self.bytes.extend_from_slice(content);
        // FNV-1a.
        // A stable hash: the same paths must end packs in every version of the program.
        let hash = path.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        // The upper bits, because the lower ones of FNV are less well mixed.
        if (hash >> 32) % PACK_FILES == 0 {
            self.complete();
        }
    }

    fn complete(&mut self) {
        if self.files.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        let blob = BlobRef::of(&bytes);
        for (path, offset, len) in self.files.drain(..) {
            self.saved.push((path, SavedContent { blob: blob.clone(), offset, len }));
        }
        // The receiver is gone only if storing failed, which is reported there.
        let _ = self.packs.blocking_send(bytes);
    }
}
