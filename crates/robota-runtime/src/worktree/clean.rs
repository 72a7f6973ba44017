//! Finds what would be lost with a worktree.

use std::path::{Path, PathBuf};

use super::{Worktree, WorktreeError, Worktrees, listing};

/// Something that would be lost, or whose loss cannot be ruled out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Files with changes that are not committed, staged ones included.
    Uncommitted(usize),
    /// Files that git does not know.
    Untracked(usize),
    /// Commits: HEAD or the branch has moved since the worktree was made.
    Commits,
    /// A submodule was checked out; its commits are kept only there.
    Submodule(String),
    /// A merge, rebase or the like has begun.
    Operation(String),
    /// Other worktrees of the repository are in its folder. They are in folders that git ignores, so
    /// that their files are not among the untracked ones.
    Worktrees(usize),
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uncommitted(1) => write!(f, "1 changed file"),
            Self::Uncommitted(files) => write!(f, "{files} changed files"),
            Self::Untracked(1) => write!(f, "1 untracked file"),
            Self::Untracked(files) => write!(f, "{files} untracked files"),
            Self::Commits => write!(f, "commits"),
            Self::Submodule(name) => write!(f, "the submodule {name}"),
            Self::Operation(name) => write!(f, "an unfinished {name}"),
            Self::Worktrees(1) => write!(f, "another worktree in it"),
            Self::Worktrees(inner) => write!(f, "{inner} other worktrees in it"),
        }
    }
}

/// Files of a worktree's git folder that exist while an operation is unfinished.
const OPERATIONS: [(&str, &str); 6] = [
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("BISECT_LOG", "bisect"),
];

impl Worktrees {
    /// Returns what would be lost with a worktree; nothing if it can be removed.
    ///
    /// # Errors
    /// If git fails. Then the worktree must be kept.
    pub async fn changes(&self, worktree: &Worktree) -> Result<Vec<Change>, WorktreeError> {
        let Worktree { path, branch, base, .. } = worktree;
        let mut changes = Vec::new();
        let status = self
            .git(
                path,
                &[
                    "--no-optional-locks",
                    "status",
                    "--porcelain=v1",
                    "--untracked-files=all",
                    "--ignore-submodules=none",
                    "-z",
                ],
            )
            .await?;
        let (mut uncommitted, mut untracked) = (self.hidden(path).await?, 0);
        let mut entries = status.split('\0').filter(|entry| !entry.is_empty());
        while let Some(entry) = entries.next() {
            match entry.get(..2) {
                Some("??") => untracked += 1,
                state => {
                    uncommitted += 1;
                    // The next entry is the former name.
                    if state.is_some_and(|state| state.contains(['R', 'C'])) {
                        entries.next();
                    }
                }
            }
        }
        if uncommitted > 0 {
            changes.push(Change::Uncommitted(uncommitted));
        }
        if untracked > 0 {
            changes.push(Change::Untracked(untracked));
        }
        if self.has_commits(path, branch, base).await? {
            changes.push(Change::Commits);
        }
        for line in self.git(path, &["submodule", "status"]).await?.lines() {
            // A minus sign marks a submodule that is not checked out.
            if !line.starts_with('-') {
                let name = line.split_whitespace().nth(1).unwrap_or_default();
                changes.push(Change::Submodule(name.to_owned()));
            }
        }
        let folder = self.git_folder(path).await?;
        for (file, name) in OPERATIONS {
            if folder.join(file).exists() {
                changes.push(Change::Operation(name.to_owned()));
            }
        }
        let inner = self.inner_worktrees(path).await?.len();
        if inner > 0 {
            changes.push(Change::Worktrees(inner));
        }
        Ok(changes)
    }

    /// Returns the worktrees whose folders are in the folder of another one, which are
    /// removed together with it.
    pub(super) async fn inner_worktrees(&self, path: &Path) -> Result<Vec<PathBuf>, WorktreeError> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let outer = real(path);
        let listed = self.listed(path).await?;
        let all = listing::records(&listed).map(|record| real(&record.path));
        // One whose folder is gone has nothing to lose.
        Ok(all.filter(|it| *it != outer && it.starts_with(&outer) && it.is_dir()).collect())
    }

    /// Counts the files whose changes git does not report: `assume-unchanged` or `skip-worktree` is set.
    async fn hidden(&self, path: &Path) -> Result<usize, WorktreeError> {
        let files = self.git(path, &["ls-files", "-v", "-z"]).await?;
        let hidden = files.split('\0').filter(|entry| match entry.split_once(' ') {
            // A sparse checkout leaves such files out.
            Some(("S", file)) => path.join(file).symlink_metadata().is_ok(),
            Some((tag, _)) => tag.starts_with(|c: char| c.is_ascii_lowercase()),
            None => false,
        });
        Ok(hidden.count())
    }

    /// Returns whether HEAD or the branch is, or was, at another commit than the one it began with.
    async fn has_commits(
        &self,
        path: &Path,
        branch: &str,
        base: &str,
    ) -> Result<bool, WorktreeError> {
        let head = self.git(path, &["rev-parse", "--verify", "HEAD^{commit}"]).await?;
        if head.trim() != base {
            return Ok(true);
        }
        let name = format!("refs/heads/{branch}");
        // If the branch was deleted, its commits were merged or deliberately dropped.
        let tip = self.git(path, &["for-each-ref", "--format=%(objectname)", &name]).await?;
        if tip.lines().any(|tip| tip != base) {
            return Ok(true);
        }
        // A commit that was left behind by a reset is in the log of HEAD only, which goes with the
        // worktree.
        Ok(self.head_log(path).await?.iter().any(|commit| commit != base))
    }

    /// Returns the commits that HEAD was at, the newest first.
    pub(super) async fn head_log(&self, path: &Path) -> Result<Vec<String>, WorktreeError> {
        let log = self.git(path, &["reflog", "show", "--format=%H", "HEAD"]).await?;
        Ok(log.lines().map(str::to_owned).collect())
    }
}
