//! The files of the repository, as the checks see them: paths and texts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::sh;

/// Folders that are no part of the sources, for checkouts without git.
const SKIPPED: [&str; 4] = ["target", ".git", ".robota", "artifacts"];

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// From the root, with `/`.
    pub path: String,
    /// The text; empty for what is no UTF-8.
    pub text: String,
}

/// All files that are, or would be, committed; sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// The files.
    pub files: Vec<File>,
}

/// The root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

impl Tree {
    /// A tree out of thin air, for tests.
    #[must_use]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let mut files: Vec<File> = files
            .iter()
            .map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() })
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }

    /// Reads the tree at `root`: what git would commit, or all files where there is no git.
    pub fn load(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        let mut paths = listed_by_git(root).map_or_else(|_| walked(root), Ok)?;
        paths.sort();
        paths.dedup();
        for path in paths {
            let full = root.join(&path);
            // Git also lists what was deleted but not committed yet, and links to folders.
            if full.is_file() {
                let bytes = std::fs::read(&full)
                    .with_context(|| format!("cannot read {}", full.display()))?;
                files.push(File { path, text: String::from_utf8(bytes).unwrap_or_default() });
            }
        }
        Ok(Self { files })
    }

    /// The text of one file.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// Whether this path is a file, or a folder with files.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty()
            || self.files.iter().any(|file| {
                file.path
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }

    /// The Rust sources of our packages; fixtures are data, even when they end in `.rs`.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| {
            file.path.ends_with(".rs") && package(&file.path).is_some() && !is_fixture(&file.path)
        })
    }
}

/// The folder of the package a file belongs to: `crates/NAME` or `xtask`.
#[must_use]
pub fn package(path: &str) -> Option<&str> {
    if path.starts_with("xtask/") {
        return Some("xtask");
    }
    let name = path.strip_prefix("crates/")?.split_once('/')?.0;
    Some(&path[.."crates/".len() + name.len()])
}

/// Whether a file is test data.
#[must_use]
pub fn is_fixture(path: &str) -> bool {
    path.split('/').any(|part| part == "fixtures" || part == "corpus")
}

/// Whether a file holds tests only.
#[must_use]
pub fn is_test_code(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/") || path.contains("/benches/")
}

fn listed_by_git(root: &Path) -> Result<Vec<String>> {
    // A checkout that belongs to somebody else (containers) is still ours to read.
    let git = ["git", "-c", "safe.directory=*", "ls-files", "-z", "-c", "-o", "--exclude-standard"];
    let out = sh::read(root, &git)?;
    Ok(out.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

fn walked(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let full = root.join(&folder);
        let entries =
            std::fs::read_dir(&full).with_context(|| format!("cannot list {}", full.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let path = folder.join(&name);
            if !entry.file_type()?.is_dir() {
                found.push(path.to_string_lossy().replace('\\', "/"));
            } else if !SKIPPED.iter().any(|skipped| name == *skipped) {
                folders.push(path);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
