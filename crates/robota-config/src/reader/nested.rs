//! The folders between the working folder and a file that an agent reads.

use std::path::{Path, PathBuf};

use super::ContextReader;

/// Folders with files of other authors: what is below them gives no instructions.
const FOREIGN: &[&str] = &[".git", ".venv", "node_modules", "site-packages"];

impl ContextReader {
    /// Returns the path of an existing file without links.
    pub(crate) fn accessed(&self, path: &Path) -> Option<PathBuf> {
        self.folders.cwd.join(path).canonicalize().ok()
    }

    /// Returns the folders below the working folder that contain a file, outermost first.
    pub(crate) fn nested_folders(&self, file: &Path) -> Vec<PathBuf> {
        let Ok(below) = file.strip_prefix(&self.folders.cwd) else { return Vec::new() };
        let mut folder = self.folders.cwd.clone();
        let mut folders = Vec::new();
        for name in below.parent().into_iter().flat_map(Path::components) {
            // None of them, also not the folders above: the whole file is foreign.
            if FOREIGN.iter().any(|foreign| name.as_os_str() == *foreign) {
                return Vec::new();
            }
            folder.push(name);
            folders.push(folder.clone());
        }
        folders
    }
}
