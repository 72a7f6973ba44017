//! The `Paths` port: facts about the file system that a decision needs. Policy stays pure by
//! asking only through here; `robota-exec` has the real one.

use std::path::{Path, PathBuf};

/// What a path is, without following a link at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Link,
    /// A device, socket, pipe or the like.
    Other,
    /// Nothing is there.
    Missing,
}

/// Facts about the file system.
pub trait Paths: Send + Sync {
    /// The canonical form of an absolute path: `.` and `..` gone, every link on the way
    /// followed. What does not exist yet is kept below its deepest existing ancestor. `None`
    /// when it cannot be known (a loop of links, no permission to look).
    fn canonical(&self, path: &Path) -> Option<PathBuf>;

    /// What is there, not following a link at the end.
    fn kind(&self, path: &Path) -> PathKind;

    /// The names in a directory, in any order; empty when it cannot be read.
    fn entries(&self, dir: &Path) -> Vec<String>;

    /// Whether `a` and `A` are two files below this path.
    fn case_sensitive(&self, path: &Path) -> bool;
}
