//! The branch of a git repository, read from its files: no process is started.

use std::path::{Path, PathBuf};

/// Returns the branch that is checked out in a folder, or the start of the commit's hash.
pub(super) fn of(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    let folder = if git.is_file() { linked(&git)? } else { git };
    let head = std::fs::read_to_string(folder.join("HEAD")).ok()?;
    let head = head.trim();
    match head.strip_prefix("ref: ") {
        Some(name) => Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
        None => head.get(..7).map(str::to_owned),
    }
}

/// Returns the folder that the file `.git` of a worktree names.
fn linked(file: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(file).ok()?;
    let path = PathBuf::from(text.trim().strip_prefix("gitdir:")?.trim());
    Some(if path.is_absolute() { path } else { file.parent()?.join(path) })
}

#[cfg(test)]
mod tests;
