//! Reads git's list of worktrees.

use std::path::PathBuf;

/// The command that lists all worktrees of a repository.
pub(super) const LIST: [&str; 4] = ["worktree", "list", "--porcelain", "-z"];

/// A worktree as git lists it. The first one is the repository itself.
pub(super) struct Record<'a> {
    pub(super) path: PathBuf,
    /// The branch that is checked out; none if HEAD is detached.
    pub(super) branch: Option<&'a str>,
    /// The reason of its lock; none if it is not locked, or without a reason.
    pub(super) lock: Option<&'a str>,
}

/// Returns the worktrees in the output of [`LIST`].
pub(super) fn records(listed: &str) -> impl Iterator<Item = Record<'_>> {
    listed.split("\0\0").filter_map(|record| {
        let field = |name: &str| record.split('\0').find_map(|line| line.strip_prefix(name));
        Some(Record {
            path: PathBuf::from(field("worktree ")?),
            branch: field("branch refs/heads/"),
            lock: field("locked "),
        })
    })
}
