//! Paths with their links followed. A path is resolved once, when the call is judged; later only the
//! file that it led to is opened, without following links.

use std::path::{Path, PathBuf};

use robota_core::paths::Paths as _;
use robota_exec::OsPaths;

use crate::error::FileError;

/// A path as it was given, and the file that it led to when it was resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    /// The absolute path as it was given.
    pub given: PathBuf,
    /// The canonical path of the file. The file and its folders may not exist.
    pub target: PathBuf,
}

impl ResolvedPath {
    /// Resolves an absolute path.
    ///
    /// # Errors
    /// If it cannot be determined where the path leads: links in a loop, or a folder that may not be
    /// read.
    pub fn new(given: impl Into<PathBuf>) -> Result<Self, FileError> {
        let given = given.into();
        // Links in /proc have another target in each process; this process opens the file itself.
        let target = OsPaths.canonical(&given).map_or_else(|| given.canonicalize(), Ok);
        match target {
            Ok(target) => Ok(Self { given, target }),
            Err(error) => Err(FileError::io("find", given)(error)),
        }
    }

    /// Returns the resolved path of something below this folder.
    #[must_use]
    pub fn join(&self, below: &Path) -> Self {
        Self { given: self.given.join(below), target: self.target.join(below) }
    }
}
