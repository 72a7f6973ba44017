//! Reads the context files of a working folder: regular files only, up to a size, links only as far
//! as their owner allows, and every access counted.

mod folders;
mod nested;
mod tree;

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

pub(crate) use folders::{Boundary, Folders};
pub(crate) use tree::{Depth, EntryKind};

use crate::clean::clean;
use crate::files::{is_absent, open_regular};
use crate::layer::{Layer, Origin};
use crate::places::Places;
use crate::report::{Problem, Severity};

/// Reads the files that people write for agents: instructions, skills, agents, styles and tasks.
///
/// All modules that read such files share one reader, so that [`ContextReader::counts`] returns what
/// the start of a session cost.
///
/// ```
/// use robota_config::{ContextReader, Places};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (home, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
/// let reader = ContextReader::new(&Places::new(home.path(), project.path()));
/// assert_eq!(reader.root(), project.path().canonicalize()?);
/// assert_eq!(reader.counts().files, 0);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct ContextReader {
    pub(crate) folders: Folders,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    files: AtomicU64,
    folders: AtomicU64,
    bytes: AtomicU64,
}

/// What a reader has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ReadCounts {
    /// The number of files opened.
    pub files: u64,
    /// The number of folders listed.
    pub folders: u64,
    /// The number of bytes read from files.
    pub bytes: u64,
}

/// The text of a file, cleaned.
#[derive(Debug, Clone)]
pub(crate) struct TextFile {
    /// The path without links.
    pub(crate) real: PathBuf,
    pub(crate) text: String,
    /// The size of the file, of which `text` may be the beginning only.
    pub(crate) size: u64,
    pub(crate) cut: bool,
    /// Whether the bytes were UTF-8.
    pub(crate) utf8: bool,
    /// The hash of all bytes of the file; none if it was cut.
    pub(crate) hash: Option<String>,
}

impl ContextReader {
    /// Returns a reader for the home and the working folder of these places.
    #[must_use]
    pub fn new(places: &Places) -> Self {
        Self { folders: Folders::find(places), counts: Arc::default() }
    }

    /// Returns the canonical folder of the checkout: the nearest one with `.git` at or above the
    /// working folder, otherwise the working folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.folders.root
    }

    /// Returns the canonical working folder.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.folders.cwd
    }

    /// Returns what this reader and its clones have read.
    #[must_use]
    pub fn counts(&self) -> ReadCounts {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        ReadCounts {
            files: get(&self.counts.files),
            folders: get(&self.counts.folders),
            bytes: get(&self.counts.bytes),
        }
    }

    /// Reads a file, at most `limit` bytes; none if it does not exist. The error is the reason why it
    /// is not read.
    pub(crate) fn read(
        &self,
        path: &Path,
        boundary: &Boundary,
        limit: u64,
    ) -> Result<Option<TextFile>, String> {
        let Some(real) = self.resolve(path, boundary)? else { return Ok(None) };
        let text = |error: std::io::Error| error.to_string();
        let Some(file) = open_regular(&real).map_err(text)? else { return Ok(None) };
        let metadata = file.metadata().map_err(text)?;
        if let Boundary::Above { owners, .. } = boundary
            && !owners.contains(&metadata.uid())
        {
            return Err("it is above the checkout and belongs to another user".to_owned());
        }
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(text)?;
        self.counts.files.fetch_add(1, Ordering::Relaxed);
        self.counts.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let cut = bytes.len() as u64 > limit;
        let hash = (!cut).then(|| crate::trust::hex(&Sha256::digest(&bytes)));
        if cut {
            bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        let size = metadata.len().max(bytes.len() as u64);
        let (raw, utf8) = decode(bytes, cut);
        Ok(Some(TextFile { real, text: clean(&raw).into_owned(), size, cut, utf8, hash }))
    }

    /// Returns the path without links; none if nothing is there. The error is the reason why a link
    /// is not followed.
    pub(crate) fn resolve(
        &self,
        path: &Path,
        boundary: &Boundary,
    ) -> Result<Option<PathBuf>, String> {
        match path.symlink_metadata() {
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error.to_string()),
            Ok(_) => {}
        }
        let real = path.canonicalize().map_err(|error| {
            if is_absent(&error) { "it is a broken link".to_owned() } else { error.to_string() }
        })?;
        if boundary.contains(&real) {
            Ok(Some(real))
        } else {
            Err(format!("it is a link that leaves the checkout, to {}", crate::clean::shown(&real)))
        }
    }

    fn count_folder(&self) {
        self.counts.folders.fetch_add(1, Ordering::Relaxed);
    }
}

/// Decodes bytes; a character that the limit cut in two is dropped.
fn decode(mut bytes: Vec<u8>, cut: bool) -> (String, bool) {
    if cut
        && let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    match String::from_utf8(bytes) {
        Ok(text) => (text, true),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), false),
    }
}

/// Returns a warning about a file.
pub(crate) fn warning(layer: Layer, file: &Path, message: impl Into<String>) -> Problem {
    Problem {
        severity: Severity::Warning,
        origin: Origin { layer, file: Some(file.to_owned()), line: None },
        key: None,
        message: message.into(),
    }
}

#[cfg(test)]
mod tests;
