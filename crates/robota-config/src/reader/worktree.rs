//! Linked worktrees of git: which checkout they belong to, without running git.

use std::path::{Path, PathBuf};

use crate::files::read_bounded;

/// A folder that `git worktree add` made.
#[derive(Debug)]
pub(crate) struct LinkedWorktree {
    /// The folder in which git keeps the state of the worktree.
    pub(crate) state: PathBuf,
    /// The folder of the repository, which its worktrees share.
    common: PathBuf,
}

impl LinkedWorktree {
    /// Reads the links of the worktree whose root is this canonical folder; none if it is no linked
    /// worktree. A checkout can contain a file `.git`, too: the folder that it names must be one of the
    /// repository, and name the file in turn.
    pub(crate) fn at(root: &Path) -> Option<Self> {
        let git = root.join(".git");
        let state = root.join(line(&git)?.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
        let back = state.join(line(&state.join("gitdir"))?.trim());
        if back.canonicalize().ok()? != git.canonicalize().ok()? {
            return None;
        }
        let common = state.join(line(&state.join("commondir"))?.trim()).canonicalize().ok()?;
        (state.parent()? == common.join("worktrees")).then_some(Self { state, common })
    }

    /// Returns the main checkout of the repository; none if the repository has none.
    pub(crate) fn main_checkout(&self) -> Option<&Path> {
        (self.common.file_name()? == ".git").then(|| self.common.parent()).flatten()
    }
}

/// Returns the text of a small file; none if it cannot be read, is no regular file or is no text.
fn line(file: &Path) -> Option<String> {
    String::from_utf8(read_bounded(file).ok()??).ok()
}
