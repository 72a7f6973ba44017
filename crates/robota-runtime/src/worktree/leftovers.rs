//! Removes what crashed processes left while they made or removed a worktree: branches without a
//! worktree and without a commit of their own, and temporary files.

use std::path::{Path, PathBuf};

use robota_core::process::ProcessIdentity;
use robota_exec::reaper;

use super::{BRANCH, INDEX, WorktreeError, Worktrees};

impl Worktrees {
    /// Removes leftovers of processes that have ended.
    pub(super) async fn remove_leftovers(&self, cwd: &Path) -> Result<(), WorktreeError> {
        self.remove_branches(cwd).await?;
        let common = self.git(cwd, &["rev-parse", "--git-common-dir"]).await?;
        let common = cwd.join(common.trim_end_matches('\n'));
        let linked = std::fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
        let folders = linked.map(|entry| entry.path()).chain([common]);
        folders.for_each(|folder| remove_indexes(&folder));
        Ok(())
    }

    /// Removes branches of worktrees that are gone, if another branch has their commits. Git compares
    /// and deletes in one step.
    async fn remove_branches(&self, cwd: &Path) -> Result<(), WorktreeError> {
        let format = "--format=%(refname:short)%00%(objectname)%00%(worktreepath)";
        let pattern = format!("refs/heads/{BRANCH}");
        let branches = self.git(cwd, &["for-each-ref", format, &pattern]).await?;
        for line in branches.lines() {
            let mut fields = line.split('\0');
            let (Some(branch), Some(tip), Some("")) = (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            if !is_ours(branch) {
                continue;
            }
            let contains = ["for-each-ref", "--contains", tip, "--format=%(refname:short)"];
            let contains = self.git(cwd, &contains).await?;
            // Another branch that is removed here does not keep the commit.
            if contains.lines().any(|other| other != branch && !is_ours(other)) {
                self.delete_branch(cwd, branch, tip).await;
            }
        }
        Ok(())
    }
}

/// Returns whether the name of a branch is one that this program gives: `robota/NAME-xxxxxxxx`.
fn is_ours(branch: &str) -> bool {
    let id = branch.strip_prefix(BRANCH).and_then(|name| name.rsplit_once('-'));
    id.is_some_and(|(_, id)| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Removes the temporary index files of processes that have ended.
fn remove_indexes(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(INDEX).and_then(|rest| rest.split('-').next()?.parse().ok());
        if pid.is_some_and(|pid| !is_alive(pid)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The first word of the reasons with which this program locks worktrees.
const LOCK: &str = "robota";

/// Returns the reason with which this process locks a worktree. Later processes find out from it whether
/// this one still runs: its id alone would name another process after a reboot or in another container.
pub(super) fn lock_reason() -> String {
    match reaper::own_identity() {
        Some(ProcessIdentity { pid, start_time, boot_id }) => {
            format!("{LOCK} {pid} {start_time} {boot_id}")
        }
        None => format!("{LOCK} {}", std::process::id()),
    }
}

/// Returns the id of the process that a lock names, if it still runs.
pub(super) fn locked_by(reason: &str) -> Option<u32> {
    let mut words = reason.split_whitespace();
    let pid = words.next().filter(|word| *word == LOCK).and_then(|_| words.next()?.parse().ok())?;
    let alive = match (words.next().and_then(|word| word.parse().ok()), words.next()) {
        (Some(start_time), Some(boot_id)) => {
            let boot_id = boot_id.to_owned();
            reaper::is_alive(&ProcessIdentity { pid, start_time, boot_id })
        }
        // The system, or the version that made the lock, gives no more than the id.
        _ => is_alive(pid),
    };
    alive.then_some(pid)
}

/// Returns whether a process has this id; true on systems without `/proc`.
fn is_alive(pid: u32) -> bool {
    if !Path::new("/proc/self").exists() {
        return true;
    }
    let stat: PathBuf = ["/proc", &pid.to_string(), "stat"].iter().collect();
    let stat = std::fs::read_to_string(stat).unwrap_or_default();
    // A process that has ended is listed until its parent waits for it.
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}
