//! Lists and removes worktrees, also those that a crash left.

use std::path::{Path, PathBuf};

use super::clean::Change;
use super::leftovers::locked_by;
use super::prepare::text;
use super::{BASE, BRANCH, Worktree, WorktreeError, Worktrees, folder, listing};

/// A worktree that this program made, with what would be lost with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedWorktree {
    /// The worktree, with the commit it began with as far as it is known.
    pub worktree: Worktree,
    /// What would be lost with it; an error if git fails.
    pub changes: Result<Vec<Change>, String>,
    /// The id of the process whose agent works in it; none if none does.
    pub used_by: Option<u32>,
}

/// What [`Worktrees`](super::Worktrees) did with a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removed {
    /// It was removed, and its branch too, if it had no commits.
    Removed {
        /// Whether the branch was kept, because it has commits.
        branch_kept: bool,
    },
    /// It was kept, because it has changes, or because git could not check it.
    Kept {
        /// What would be lost, or why that could not be checked.
        reasons: Vec<String>,
    },
}

impl Worktrees {
    /// Removes a worktree if nothing can be lost with it.
    pub async fn settle(&self, worktree: &Worktree) -> Removed {
        let kept = |reasons| Removed::Kept { reasons };
        // First: git does not remove a locked worktree.
        self.unlock(worktree).await;
        match self.changes(worktree).await {
            Err(error) => kept(vec![error.to_string()]),
            Ok(changes) if !changes.is_empty() => {
                kept(changes.iter().map(ToString::to_string).collect())
            }
            Ok(_) => match self.remove_folder(worktree, false).await {
                Ok(()) => {
                    let Worktree { repository, branch, base, .. } = worktree;
                    let deleted = self.delete_branch(repository, branch, base).await;
                    Removed::Removed { branch_kept: !deleted }
                }
                Err(error) => kept(vec![error.to_string()]),
            },
        }
    }

    /// Unlocks a worktree that no agent uses any more.
    pub(super) async fn unlock(&self, worktree: &Worktree) {
        let place = worktree.path.display().to_string();
        if let Err(error) = self.git(&worktree.repository, &["worktree", "unlock", &place]).await {
            tracing::debug!(%error, "a worktree was not locked");
        }
    }

    /// Returns the worktrees that this program made in the repository of a folder, also in earlier
    /// runs.
    ///
    /// # Errors
    /// If the folder is in no repository.
    pub async fn list(&self, cwd: &Path) -> Result<Vec<ListedWorktree>, WorktreeError> {
        self.repository(cwd).await?;
        let listed = self.listed(cwd).await?;
        let mut found = Vec::new();
        let mut main: Option<PathBuf> = None;
        for listing::Record { path, branch, lock } in listing::records(&listed) {
            let main = main.get_or_insert_with(|| path.clone()).clone();
            // A worktree of a worktree is in the folder of that one.
            // The user may have worktrees of their own; those are never listed or removed.
            let ours = path.parent().is_some_and(|parent| parent.ends_with(".robota/worktrees"));
            if !ours || !path.is_dir() {
                continue;
            }
            let repository = path.ancestors().nth(3).map_or(main, Path::to_owned);
            let branch = branch.map(str::to_owned);
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let branch = branch.unwrap_or_else(|| format!("{BRANCH}{}", name.unwrap_or_default()));
            let base = self.base(&path).await;
            let worktree = Worktree { cwd: path.clone(), path, branch, base, repository };
            let changes = self.changes(&worktree).await.map_err(|error| error.to_string());
            let used_by = lock.and_then(locked_by);
            found.push(ListedWorktree { worktree, changes, used_by });
        }
        Ok(found)
    }

    /// Removes a worktree by its name. With `force` also one that has uncommitted files; its branch is
    /// kept in any case if it has commits.
    ///
    /// # Errors
    /// If there is no such worktree, an agent uses it, another worktree is in it, or it has changes.
    pub async fn remove(
        &self,
        cwd: &Path,
        name: &str,
        force: bool,
    ) -> Result<Removed, WorktreeError> {
        let all = self.list(cwd).await?;
        let named = |it: &&ListedWorktree| {
            let of_path = it.worktree.path.file_name().is_some_and(|file| file == name);
            of_path || it.worktree.branch == name || it.worktree.path == Path::new(name)
        };
        let found = all.iter().find(named);
        let found = found.ok_or_else(|| WorktreeError::Unknown(name.to_owned()))?;
        let worktree = &found.worktree;
        let path = worktree.path.clone();
        // Not even with `force`: the running agent would lose the folder in which it works.
        if let Some(pid) = found.used_by {
            return Err(WorktreeError::InUse { path, pid });
        }
        // Neither: the force is for this worktree, and not for the work in others.
        let inner = self.inner_worktrees(&path).await?;
        if !inner.is_empty() {
            return Err(WorktreeError::HasWorktrees { path, inner });
        }
        if !force {
            return match self.settle(worktree).await {
                Removed::Kept { reasons } => {
                    Err(WorktreeError::HasChanges { path, changes: reasons })
                }
                removed @ Removed::Removed { .. } => Ok(removed),
            };
        }
        self.keep_commits(worktree).await?;
        self.unlock(worktree).await;
        self.remove_folder(worktree, true).await?;
        let Worktree { repository, branch, base, .. } = worktree;
        let deleted = self.delete_branch(repository, branch, base).await;
        Ok(Removed::Removed { branch_kept: !deleted })
    }

    /// Makes branches for commits that only HEAD or its log have: they would be lost with the worktree.
    async fn keep_commits(&self, worktree: &Worktree) -> Result<(), WorktreeError> {
        let Worktree { path, branch, repository, .. } = worktree;
        let head = self.git(path, &["rev-parse", "--verify", "HEAD^{commit}"]).await?;
        let mut commits = vec![head.trim().to_owned()];
        commits.extend(self.head_log(path).await?);
        let mut kept = 0;
        for commit in commits {
            let contains = ["for-each-ref", "--contains", &commit, "--format=%(refname)"];
            if self.git(path, &contains).await?.trim().is_empty() {
                kept += 1;
                let number = if kept == 1 { String::new() } else { format!("-{kept}") };
                let name = format!("{branch}-head{number}");
                self.git(repository, &["branch", &name, &commit]).await?;
            }
        }
        Ok(())
    }

    /// Removes all worktrees that no agent uses and with which nothing is lost. Returns what was
    /// done with each.
    ///
    /// # Errors
    /// If the folder is in no repository.
    pub async fn prune(&self, cwd: &Path) -> Result<Vec<(Worktree, Removed)>, WorktreeError> {
        let mut results = Vec::new();
        let mut all = self.list(cwd).await?;
        // The inner ones first: a worktree is kept while another one is in its folder.
        all.sort_by_key(|found| std::cmp::Reverse(found.worktree.path.components().count()));
        for found in all {
            // A lock of a process that has ended counts as none; `list` has checked that.
            let removed = match found.used_by {
                Some(pid) => Removed::Kept { reasons: vec![format!("process {pid} uses it")] },
                None => self.settle(&found.worktree).await,
            };
            results.push((found.worktree, removed));
        }
        self.git(cwd, &["worktree", "prune"]).await?;
        self.remove_leftovers(cwd).await?;
        Ok(results)
    }

    /// Returns the commit that a worktree began with; empty if it is not known. A process that
    /// crashed while it made the worktree did not record it; then it is the first commit in the log
    /// of HEAD.
    async fn base(&self, path: &Path) -> String {
        let Ok(folder) = self.git_folder(path).await else { return String::new() };
        if let Ok(base) = std::fs::read_to_string(folder.join(BASE)) {
            return base;
        }
        self.head_log(path).await.ok().and_then(|mut log| log.pop()).unwrap_or_default()
    }

    /// Removes the folder. Without `force` git looks for changes once more.
    async fn remove_folder(&self, worktree: &Worktree, force: bool) -> Result<(), WorktreeError> {
        let place = text(&worktree.path)?;
        let args: &[&str] = match force {
            true => &["worktree", "remove", "--force", place],
            false => &["worktree", "remove", place],
        };
        self.git(&worktree.repository, args).await.map(|_| ())?;
        // Removes the folder of worktrees with the last one.
        let all = folder(&worktree.repository);
        if std::fs::read_dir(&all).is_ok_and(|mut entries| {
            entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == ".gitignore"))
        }) {
            let _ = std::fs::remove_file(all.join(".gitignore"));
            let _ = std::fs::remove_dir(&all);
        }
        Ok(())
    }
}
