//! Reads the context files of a working folder: regular files only, up to a size, links only as far
//! as their owner allows, and every access counted.

mod direct;
mod folders;
mod nested;
mod tree;
mod worktree;

use std::borrow::Cow;
use std::fs::Metadata;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use direct::{Access, Direct};
pub(crate) use folders::{Boundary, Folders, checkout_root};
pub(crate) use tree::{Depth, EntryKind, TreeFile};
pub(crate) use worktree::LinkedWorktree;

use crate::clean::clean;
use crate::files::{is_absent, open_regular, require_regular};
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
    /// The number of paths whose links were resolved part by part.
    resolved: AtomicU64,
}

/// What a reader has read: what the start of a session cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ReadCounts {
    /// The number of files that were opened.
    pub files: u64,
    /// The number of folders that were listed.
    pub folders: u64,
    /// The number of bytes read from files.
    pub bytes: u64,
}

impl std::ops::Add for ReadCounts {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            files: self.files + more.files,
            folders: self.folders + more.folders,
            bytes: self.bytes + more.bytes,
        }
    }
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
    bytes: Vec<u8>,
}

impl TextFile {
    /// Returns the hash of all bytes of the file; none if it was cut.
    pub(crate) fn hash(&self) -> Option<String> {
        (!self.cut).then(|| crate::trust::hex(&Sha256::digest(&self.bytes)))
    }
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
        let text = |error: std::io::Error| error.to_string();
        let (real, file, metadata) = match direct::open(path, Access::Read) {
            Direct::Missing => return Ok(None),
            Direct::Open(file) => {
                let metadata = file.metadata().map_err(text)?;
                check(path, boundary, &metadata, &metadata)?;
                require_regular(&metadata).map_err(text)?;
                // Its own canonical form, since it has no links.
                (path.components().collect(), file, metadata)
            }
            Direct::Unknown => {
                let Some(real) = self.resolve(path, boundary)? else { return Ok(None) };
                let Some(file) = open_regular(&real).map_err(text)? else { return Ok(None) };
                let metadata = file.metadata().map_err(text)?;
                (real, file, metadata)
            }
        };
        // With room for the whole file and one byte more, two reads are enough.
        let room = usize::try_from(metadata.len().min(limit)).unwrap_or(0).saturating_add(1);
        let mut bytes = Vec::with_capacity(room);
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(text)?;
        self.counts.files.fetch_add(1, Ordering::Relaxed);
        self.counts.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        // One byte more than the limit was read to find this out.
        let cut = bytes.len() as u64 > limit;
        if cut {
            bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        // The file may have grown since it was opened.
        let size = metadata.len().max(bytes.len() as u64);
        let (text, utf8) = decode(&bytes, cut);
        let text = clean(&text).into_owned();
        Ok(Some(TextFile { real, text, size, cut, utf8, bytes }))
    }

    /// Returns the path without links; none if nothing is there. The error is the reason why a link
    /// is not followed.
    pub(crate) fn resolve(
        &self,
        path: &Path,
        boundary: &Boundary,
    ) -> Result<Option<PathBuf>, String> {
        let text = |error: std::io::Error| error.to_string();
        match direct::open(path, Access::Inspect) {
            Direct::Missing => return Ok(None),
            Direct::Open(found) => {
                let metadata = found.metadata().map_err(text)?;
                check(path, boundary, &metadata, &metadata)?;
                return Ok(Some(path.components().collect()));
            }
            Direct::Unknown => {}
        }
        self.counts.resolved.fetch_add(1, Ordering::Relaxed);
        // Without following the link: a broken link must differ from a missing file.
        let found = match path.symlink_metadata() {
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error.to_string()),
            Ok(found) => found,
        };
        let real = path.canonicalize().map_err(|error| {
            if is_absent(&error) { "it is a broken link".to_owned() } else { error.to_string() }
        })?;
        check(&real, boundary, &found, &real.metadata().map_err(text)?)?;
        Ok(Some(real))
    }

    fn count_folder(&self) {
        self.counts.folders.fetch_add(1, Ordering::Relaxed);
    }
}

/// Checks that a path without links is within a boundary. `found` is what is at the path that was
/// asked for, `target` what a link there leads to.
fn check(
    real: &Path,
    boundary: &Boundary,
    found: &Metadata,
    target: &Metadata,
) -> Result<(), String> {
    if !boundary.contains(real) {
        let real = crate::clean::shown(real);
        return Err(format!("it is a link that leaves the checkout, to {real}"));
    }
    // Other users can write to folders such as `/tmp`, and must not give instructions there.
    if let Boundary::Above { owners, .. } = boundary
        && ![found.uid(), target.uid()].iter().all(|owner| owners.contains(owner))
    {
        return Err("it is above the checkout and belongs to another user".to_owned());
    }
    Ok(())
}

/// Decodes bytes, and returns whether they are UTF-8. A character that the limit cut in two is
/// dropped.
fn decode(bytes: &[u8], cut: bool) -> (Cow<'_, str>, bool) {
    let whole = match std::str::from_utf8(bytes) {
        Err(error) if cut && error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => bytes.len(),
    };
    let bytes = bytes.get(..whole).unwrap_or(bytes);
    let utf8 = std::str::from_utf8(bytes).is_ok();
    (String::from_utf8_lossy(bytes), utf8)
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
