//! Stores output: in one blob if it is small, else in parts, so that neither storing nor reading it
//! needs all of it in memory.

use std::sync::Arc;

use robota_core::blob::Blobs;
use robota_core::error::{Diagnose as _, ErrorData};
use robota_core::message::BlobRef;
use robota_core::tool::{KeptOutput, OutputWriter};
use serde_json::json;

use super::MAX_KEPT;

/// The size of a part in bytes.
pub(super) const PART_BYTES: usize = 4 * 1024 * 1024;
/// The prefix of output names in the text for the model.
const NAME_PREFIX: &str = "output:";
/// The suffix of a name whose blob is a list of parts.
const PARTS_SUFFIX: &str = "-parts";
/// The longest list of parts. A longer one was not written by this program.
pub(super) const MAX_PARTS: usize = MAX_KEPT / PART_BYTES + 1;

/// The name of a stored output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OutputName {
    /// A blob that is the output.
    Whole(BlobRef),
    /// A blob that lists the parts of the output: `HASH BYTES`, one per line.
    Parts(BlobRef),
}

impl OutputName {
    pub(super) fn parse(name: &str) -> Option<Self> {
        let name = name.strip_prefix(NAME_PREFIX)?;
        match name.strip_suffix(PARTS_SUFFIX) {
            Some(name) => blob_of(name, '-').map(Self::Parts),
            None => blob_of(name, '-').map(Self::Whole),
        }
    }
}

impl std::fmt::Display for OutputName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (blob, end) = match self {
            Self::Whole(blob) => (blob, ""),
            Self::Parts(blob) => (blob, PARTS_SUFFIX),
        };
        write!(f, "{NAME_PREFIX}{}-{}{end}", blob.sha256, blob.bytes)
    }
}

/// Parses a hash and a length.
fn blob_of(text: &str, between: char) -> Option<BlobRef> {
    let (sha256, bytes) = text.split_once(between)?;
    let is_hash = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(())?;
    Some(BlobRef { sha256: sha256.to_owned(), bytes: bytes.parse().ok()? })
}

/// Parses a list of parts; `None` if a line is invalid or the list is too long.
pub(super) fn parts_of(list: &[u8]) -> Option<Vec<BlobRef>> {
    let list = std::str::from_utf8(list).ok()?;
    let parts: Option<Vec<_>> = list.lines().map(|line| blob_of(line, ' ')).collect();
    parts.filter(|parts| parts.len() <= MAX_PARTS)
}

/// Writes output into blobs as it arrives.
pub(super) struct PartsWriter {
    blobs: Arc<dyn Blobs>,
    part: Vec<u8>,
    parts: Vec<BlobRef>,
    kept: usize,
}

impl PartsWriter {
    pub(super) fn new(blobs: Arc<dyn Blobs>) -> Self {
        Self { blobs, part: Vec::new(), parts: Vec::new(), kept: 0 }
    }

    async fn put(&self, bytes: &[u8]) -> Result<BlobRef, ErrorData> {
        self.blobs.put(bytes).await.map_err(|error| error.to_data())
    }

    async fn end_part(&mut self) -> Result<(), ErrorData> {
        let part = self.put(&self.part).await?;
        self.part.clear();
        self.parts.push(part);
        Ok(())
    }
}

#[async_trait::async_trait]
impl OutputWriter for PartsWriter {
    async fn write(&mut self, text: &[u8]) -> Result<(), ErrorData> {
        // Beyond the limit nothing is stored; `finish` reports how much was.
        let mut text = &text[..text.len().min(MAX_KEPT - self.kept)];
        self.kept += text.len();
        while !text.is_empty() {
            let (now, later) = text.split_at(text.len().min(PART_BYTES - self.part.len()));
            self.part.extend_from_slice(now);
            text = later;
            if self.part.len() == PART_BYTES {
                self.end_part().await?;
            }
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<KeptOutput, ErrorData> {
        if !self.part.is_empty() || self.parts.is_empty() {
            self.end_part().await?;
        }
        let bytes = self.kept as u64;
        if let [whole] = &self.parts[..] {
            let name = OutputName::Whole(whole.clone()).to_string();
            return Ok(KeptOutput { name, bytes, place: json!(whole) });
        }
        let lines = self.parts.iter().map(|part| format!("{} {}\n", part.sha256, part.bytes));
        let list = self.put(lines.collect::<String>().as_bytes()).await?;
        let place = json!({"sha256": list.sha256, "bytes": list.bytes, "parts": self.parts});
        Ok(KeptOutput { name: OutputName::Parts(list).to_string(), bytes, place })
    }
}
