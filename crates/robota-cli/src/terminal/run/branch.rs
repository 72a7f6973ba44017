//! The branch of a git repository, read from its files: no process is started.

use std::path::{Path, PathBuf};

use robota_config::read_regular;

/// The longest file that is read.
const LIMIT: u64 = 64 * 1024;

/// Returns the branch that is checked out in a folder, or the start of the commit's hash.
pub(super) fn of(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    let folder = if git.is_file() { linked(&git)? } else { git };
    let head = text(&folder.join("HEAD"))?;
    let head = head.trim();
    match head.strip_prefix("ref: ") {
        Some(name) => Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
        None => head.get(..7).map(str::to_owned),
    }
}

/// Returns the folder that the file `.git` of a worktree names.
fn linked(file: &Path) -> Option<PathBuf> {
    let text = text(file)?;
    let path = PathBuf::from(text.trim().strip_prefix("gitdir:")?.trim());
    Some(if path.is_absolute() { path } else { file.parent()?.join(path) })
}

/// Reads a file of the repository. A checkout may have a pipe in its place, which must not block the start.
fn text(file: &Path) -> Option<String> {
    String::from_utf8(read_regular(file, LIMIT).ok()??).ok()
}

#[cfg(test)]
mod tests;
