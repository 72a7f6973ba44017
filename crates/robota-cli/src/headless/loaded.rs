//! Content of the session's blobs that lines show: images, and files before a change.

use std::collections::HashMap;

use robota_core::blob::Blobs;
use robota_core::message::BlobRef;

/// The most bytes of all blobs in a line. Hosts limit the length of a line, to 1 MiB for instance,
/// and a line may have the content twice, in base64.
const MAX_BYTES: u64 = 256 * 1024;

/// Blobs that were read.
#[derive(Debug, Default)]
pub(crate) struct LoadedBlobs(HashMap<String, Vec<u8>>);

impl LoadedBlobs {
    /// Reads the blobs that fit in a line, in their order. Those that cannot be read are left out.
    pub(crate) async fn load(wanted: impl Iterator<Item = BlobRef>, blobs: &dyn Blobs) -> Self {
        let (mut loaded, mut room) = (HashMap::new(), MAX_BYTES);
        for blob in wanted {
            // One that the line shows twice counts twice.
            // A later blob may still fit.
            let Some(rest) = room.checked_sub(blob.bytes) else { continue };
            if let Ok(Some(bytes)) = blobs.get(&blob).await {
                room = rest;
                loaded.insert(blob.sha256, bytes);
            }
        }
        Self(loaded)
    }

    /// Returns the content of a blob.
    pub(crate) fn get(&self, blob: &BlobRef) -> Option<&[u8]> {
        self.0.get(&blob.sha256).map(Vec::as_slice)
    }
}
