//! Reads git's list of worktrees.

use std::path::{Path, PathBuf};

use super::{WorktreeError, Worktrees};

/// The command that lists all worktrees of a repository.
const LIST: [&str; 4] = ["worktree", "list", "--porcelain", "-z"];
/// The same for git before 2.36.
const LIST_LINES: [&str; 3] = ["worktree", "list", "--porcelain"];
/// How the lines of that list begin.
const FIELDS: [&str; 7] =
    ["worktree ", "HEAD ", "branch ", "bare", "detached", "locked", "prunable"];

/// A worktree as git lists it. The first one is the repository itself.
pub(super) struct Record<'a> {
    pub(super) path: PathBuf,
    /// The branch that is checked out; none if HEAD is detached.
    pub(super) branch: Option<&'a str>,
    /// The reason of its lock; none if it is not locked, or without a reason.
    pub(super) lock: Option<&'a str>,
}

impl Worktrees {
    /// Lists the worktrees of a repository; [`records`] reads them.
    pub(super) async fn listed(&self, path: &Path) -> Result<String, WorktreeError> {
        let listed = self.git(path, &LIST).await;
        let Err(error @ WorktreeError::Git { .. }) = listed else { return listed };
        // The message of an older git can be in any language.
        let lines = self.git(path, &LIST_LINES).await.map_err(|_| error)?;
        of_lines(&lines).ok_or_else(|| WorktreeError::Git {
            action: LIST_LINES[..2].join(" "),
            message: "a path with a line break; git 2.36 can list it".to_owned(),
        })
    }
}

/// Returns the list of lines as the one with zero bytes; none if a path has a line break.
fn of_lines(lines: &str) -> Option<String> {
    let mut known = lines.lines().filter(|line| !line.is_empty());
    let known = known.all(|line| FIELDS.iter().any(|field| line.starts_with(field)));
    let mut records = lines.trim_end().split("\n\n");
    let whole = records.all(|record| record.starts_with(FIELDS[0]));
    (known && whole).then(|| lines.replace('\n', "\0"))
}

/// Returns the worktrees in a list.
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
