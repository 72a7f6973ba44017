//! The `Paths` port: the facts about the file system that a permission decision needs. The policy
//! uses only this port, so it can be tested without a disk; `robota-exec` implements it for the real
//! file system.

use std::path::{Path, PathBuf};

/// What exists at a path. A link at the end of the path is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// A regular file, also one with several names.
    File,
    /// A directory, not a link to one.
    Dir,
    /// A symbolic link, whatever it leads to.
    Link,
    /// A device, socket, pipe or the like.
    Other,
    /// Neither a file nor anything else exists at the path.
    Missing,
}

/// Answers questions about paths of a file system.
pub trait Paths: Send + Sync {
    /// Returns the canonical form of an absolute path: without `.` and `..`, and with every link
    /// followed. Components that do not exist are kept below their deepest existing ancestor.
    /// `None` if it cannot be determined (a loop of links, or no permission to read a folder).
    fn canonical(&self, path: &Path) -> Option<PathBuf>;

    /// Returns what exists at a path. Does not follow a link at the end of the path.
    fn kind(&self, path: &Path) -> PathKind;

    /// Returns the names in a directory, in any order; empty if it cannot be read.
    fn entries(&self, dir: &Path) -> Vec<String>;

    /// Returns whether names below this path are case-sensitive: whether `a` and `A` are two files.
    fn case_sensitive(&self, path: &Path) -> bool;

    /// Returns the text of a small regular file; `None` if it cannot be read, is large or is not
    /// text. The policy reads settings by it that choose which programs run.
    fn text(&self, path: &Path) -> Option<String> {
        let _ = path;
        None
    }
}
