//! The files of a plugin: what identifies them, and how they are copied.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::trust::hex;

/// The most files of a plugin. All are read at every start, to compare their hash.
const MAX_FILES: usize = 5_000;
/// The most bytes of all files of a plugin.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Lists the files of a plugin, relative to its folder, sorted. Version control is left out.
fn files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let listed = fs::read_dir(root.join(&folder));
        for entry in listed.map_err(|error| format!("{}: {error}", root.join(&folder).display()))? {
            let entry = entry.map_err(|error| error.to_string())?;
            let path = folder.join(entry.file_name());
            let metadata = entry.metadata().map_err(|error| error.to_string())?;
            if metadata.is_dir() {
                // It changes with every fetch, and nothing of it is used.
                if entry.file_name() != ".git" {
                    folders.push(path);
                }
            } else if metadata.is_file() {
                bytes += metadata.len();
                found.push(path);
            // A link could lead to a file outside of the plugin, which the hash would not cover.
            } else {
                return Err(format!("{} is a link or no regular file", path.display()));
            }
            if found.len() > MAX_FILES || bytes > MAX_BYTES {
                return Err(format!("it has more than {MAX_FILES} files or {MAX_BYTES} bytes"));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns what identifies all files of a plugin.
pub(super) fn hash(root: &Path) -> Result<String, String> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut hash = Sha256::new();
    for path in files(root)? {
        let file = root.join(&path);
        let read = || Ok::<_, std::io::Error>((fs::read(&file)?, file.metadata()?.permissions()));
        let (content, mode) = read().map_err(|error| format!("{}: {error}", file.display()))?;
        for part in [path.as_os_str().as_encoded_bytes(), &content] {
            // With the length before each part, two different sets of files cannot give the same
            // bytes.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        // A file that becomes executable is a change, too.
        hash.update([u8::from(mode.mode() & 0o111 != 0)]);
    }
    Ok(hex(&hash.finalize()))
}

/// Returns how the files of a new version differ, one line for each file.
pub(super) fn changes(old: &Path, new: &Path) -> Result<Vec<String>, String> {
    let (before, after) = (files(old)?, files(new)?);
    let mut lines = Vec::new();
    for path in &after {
        if before.binary_search(path).is_err() {
            lines.push(format!("adds {}", path.display()));
        } else if fs::read(old.join(path)).ok() != fs::read(new.join(path)).ok() {
            lines.push(format!("changes {}", path.display()));
        }
    }
    let removed = before.iter().filter(|path| after.binary_search(path).is_err());
    lines.extend(removed.map(|path| format!("removes {}", path.display())));
    Ok(lines)
}

/// Copies a plugin to a folder that does not exist.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let fail = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    for path in files(from)? {
        let target = to.join(&path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(|error| fail(folder, error))?;
        }
        fs::copy(from.join(&path), &target).map_err(|error| fail(&target, error))?;
    }
    Ok(())
}
