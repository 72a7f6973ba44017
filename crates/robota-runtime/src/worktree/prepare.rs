//! Makes a worktree. If any step fails, it removes what it made, and nothing else is touched.

use std::path::{Path, PathBuf};

use robota_exec::Environment;

use super::leftovers::lock_reason;
use super::{BASE, BRANCH, INDEX, Worktree, WorktreeError, Worktrees, folder};

/// How many names are tried if they are taken.
const ATTEMPTS: u32 = 5;

impl Worktrees {
    /// Makes a worktree of the repository of a folder, on a new branch that begins with HEAD. With
    /// `carry` it begins with the uncommitted and untracked files of the folder too, as a commit on
    /// the branch; the folder itself is not changed.
    ///
    /// # Errors
    /// If the folder is in no repository, or git fails.
    pub async fn prepare(
        &self,
        cwd: &Path,
        name: &str,
        carry: bool,
    ) -> Result<Worktree, WorktreeError> {
        let (repository, bare) = self.repository(cwd).await?;
        let head = self.git(&repository, &["rev-parse", "--verify", "HEAD^{commit}"]).await;
        let head = head.map_err(|_| WorktreeError::NoCommit(repository.clone()))?;
        // A bare repository has no files.
        let base = if carry && !bare {
            self.carried(&repository, head.trim()).await?
        } else {
            head.trim().to_owned()
        };
        let all = folder(&repository);
        ignore_folder(&all)?;
        // Git creates files of the repository one after the other.
        let _one_at_a_time = self.one_at_a_time.lock().await;
        let mut attempt = 0;
        loop {
            // Each attempt uses a new name: the name that exists already will still exist next time.
            attempt += 1;
            let id = self.ids.next().simple().to_string();
            // The end of a version 7 UUID is random; its start is the time.
            let name = format!("{}-{}", safe_name(name), &id[id.len() - 8..]);
            let worktree = Worktree {
                path: all.join(&name),
                branch: format!("{BRANCH}{name}"),
                base: base.clone(),
                cwd: corresponding(&repository, cwd, &all.join(&name)),
                repository: repository.clone(),
            };
            match self.add(&worktree).await {
                Ok(()) => {
                    let mut worktree = worktree;
                    // A folder with only ignored files does not exist in the new worktree.
                    if !worktree.cwd.is_dir() {
                        worktree.cwd.clone_from(&worktree.path);
                    }
                    return Ok(worktree);
                }
                Err(error) => {
                    self.undo(&worktree).await;
                    if attempt >= ATTEMPTS || !is_taken(&error) {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Returns the repository of a folder, and whether it is bare.
    pub(super) async fn repository(&self, cwd: &Path) -> Result<(PathBuf, bool), WorktreeError> {
        let path = |text: String| PathBuf::from(text.trim_end_matches('\n'));
        let error = match self.git(cwd, &["rev-parse", "--show-toplevel"]).await {
            Ok(top) => return Ok((path(top), false)),
            Err(error) => error,
        };
        let bare = self.git(cwd, &["rev-parse", "--is-bare-repository"]).await;
        if bare.is_ok_and(|bare| bare.trim() == "true") {
            let folder = self.git(cwd, &["rev-parse", "--absolute-git-dir"]).await?;
            return Ok((path(folder), true));
        }
        Err(WorktreeError::NoRepository {
            folder: cwd.to_owned(),
            message: match error {
                WorktreeError::Git { message, .. } => message,
                other => other.to_string(),
            },
        })
    }

    async fn add(&self, worktree: &Worktree) -> Result<(), WorktreeError> {
        let Worktree { path, branch, base, repository, .. } = worktree;
        let place = text(path)?;
        let reason = lock_reason();
        let add = ["worktree", "add", "--quiet", "--lock", "--reason", &reason];
        let add = [&add[..], &["-b", branch, place, base]].concat();
        if let Err(error) = self.git(repository, &add).await {
            if !is_too_old(&error) {
                return Err(error);
            }
            let add = ["worktree", "add", "--quiet", "-b", branch, place, base];
            self.git(repository, &add).await?;
            self.git(repository, &["worktree", "lock", "--reason", &reason, place]).await?;
        }
        // Kept in git's folder of the worktree: there it is removed with the worktree, and is no
        // file of the user.
        let base_file = self.git_folder(path).await?.join(BASE);
        std::fs::write(&base_file, base).map_err(|error| WorktreeError::File {
            path: base_file.clone(),
            message: error.to_string(),
        })
    }

    /// Removes what a failed creation left. It contains no work yet.
    async fn undo(&self, worktree: &Worktree) {
        let Worktree { path, branch, base, repository, .. } = worktree;
        let Ok(place) = text(path) else { return };
        // Each may fail, because it was never made.
        let _ = self.git(repository, &["worktree", "unlock", place]).await;
        let _ = self.git(repository, &["worktree", "remove", place]).await;
        let _ = self.git(repository, &["worktree", "prune"]).await;
        self.delete_branch(repository, branch, base).await;
    }

    /// Deletes a branch if it still is at this commit. Git compares and deletes in one step.
    pub(super) async fn delete_branch(&self, repository: &Path, branch: &str, base: &str) -> bool {
        let name = format!("refs/heads/{branch}");
        self.git(repository, &["update-ref", "-d", &name, base]).await.is_ok()
    }

    /// Returns the folder in which git keeps the state of a worktree.
    pub(super) async fn git_folder(&self, path: &Path) -> Result<PathBuf, WorktreeError> {
        let folder = self.git(path, &["rev-parse", "--absolute-git-dir"]).await?;
        Ok(PathBuf::from(folder.trim_end_matches('\n')))
    }

    /// Makes a commit of the files of a folder, without changing its index, files or branch.
    async fn carried(&self, repository: &Path, head: &str) -> Result<String, WorktreeError> {
        let id = self.ids.next().simple().to_string();
        let git_folder = self.git_folder(repository).await?;
        let index = git_folder.join(format!("{INDEX}{}-{id}", std::process::id()));
        // With a copy of the index git does not have to hash every file again. Without one it only
        // takes longer.
        let _ = std::fs::copy(git_folder.join("index"), &index);
        let variables = [
            ("GIT_AUTHOR_NAME", "robota"),
            ("GIT_AUTHOR_EMAIL", "robota@localhost"),
            ("GIT_COMMITTER_NAME", "robota"),
            ("GIT_COMMITTER_EMAIL", "robota@localhost"),
        ];
        let environment = variables
            .iter()
            .fold(Environment::new(), |all, (name, value)| all.with(*name, *value))
            .with("GIT_INDEX_FILE", index.as_os_str());
        let made = async {
            self.git_with(repository, &["add", "--all"], environment.clone()).await?;
            let tree = self.git_with(repository, &["write-tree"], environment.clone()).await?;
            let of_head = self.git(repository, &["rev-parse", &format!("{head}^{{tree}}")]).await?;
            // Nothing is uncommitted, so no commit is made for it.
            if tree.trim() == of_head.trim() {
                return Ok(head.to_owned());
            }
            let message = "Uncommitted changes that the worktree began with";
            let args = ["commit-tree", tree.trim(), "-p", head, "-m", message];
            let commit = self.git_with(repository, &args, environment.clone()).await?;
            Ok(commit.trim().to_owned())
        };
        let made = made.await;
        let _ = std::fs::remove_file(&index);
        made
    }
}

/// Keeps worktrees out of the repository that they are in.
fn ignore_folder(all: &Path) -> Result<(), WorktreeError> {
    let ignore = all.join(".gitignore");
    let made = std::fs::create_dir_all(all).and_then(|()| match ignore.exists() {
        true => Ok(()),
        false => std::fs::write(&ignore, "*\n"),
    });
    made.map_err(|error| WorktreeError::File { path: ignore, message: error.to_string() })
}

/// Returns the folder of a worktree that corresponds to a folder of the repository.
fn corresponding(repository: &Path, cwd: &Path, path: &Path) -> PathBuf {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match real(cwd).strip_prefix(real(repository)) {
        Ok(below) => path.join(below),
        Err(_) => path.to_owned(),
    }
}

/// Returns whether git is older than 2.33 and cannot lock with a reason while it adds.
fn is_too_old(error: &WorktreeError) -> bool {
    match error {
        WorktreeError::Git { message, .. } => message.contains("unknown option"),
        _ => false,
    }
}

/// Returns whether a name exists already, or another process holds a lock of git.
fn is_taken(error: &WorktreeError) -> bool {
    match error {
        WorktreeError::Git { message, .. } => {
            ["already exists", "lock", "File exists"].iter().any(|text| message.contains(text))
        }
        _ => false,
    }
}

fn safe_name(name: &str) -> String {
    let safe: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        // Some file systems limit a name to 255 bytes, and git adds its own endings.
        .take(40)
        .collect();
    let safe = safe.trim_matches('-').to_owned();
    if safe.is_empty() { "agent".to_owned() } else { safe }
}

pub(super) fn text(path: &Path) -> Result<&str, WorktreeError> {
    path.to_str().ok_or_else(|| WorktreeError::File {
        path: path.to_owned(),
        message: "the path is not Unicode".to_owned(),
    })
}
