//! The files of the repository as the checks see them: paths and texts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The path from the root, with `/`.
    pub path: String,
    /// The text; empty for a file that is not UTF-8.
    pub text: String,
}

/// All files of the repository, sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// The files.
    pub files: Vec<File>,
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

impl Tree {
    /// Makes a tree of a text in which a line `-- PATH` comes before the text of each file, for tests.
    pub fn parse(text: &str) -> Self {
        let files = text.strip_prefix("-- ").into_iter().flat_map(|text| text.split("\n-- "));
        let file = |file: &str| {
            let (path, text) = file.split_once('\n').unwrap_or((file, ""));
            File { path: path.to_owned(), text: format!("{}\n", text.trim_end_matches('\n')) }
        };
        Self { files: files.map(file).collect() }
    }

    /// Reads the files at `root`, without the folders that git ignores.
    pub fn load(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        walk(root, Path::new(""), &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    /// Returns the text of one file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// Returns whether this path is a file, or a folder with files.
    pub fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let below = |rest: &str| rest.is_empty() || rest.starts_with('/');
        path.is_empty() || self.files.iter().any(|f| f.path.strip_prefix(path).is_some_and(below))
    }

    /// Returns the names of all functions of the sources.
    pub fn functions(&self) -> BTreeSet<&str> {
        self.rust().flat_map(|file| file.text.lines()).filter_map(function).collect()
    }

    /// Returns the Rust sources of the packages, without fixtures and fuzz corpora.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| {
            let data = file.path.split('/').any(|part| part == "fixtures" || part == "corpus");
            file.path.ends_with(".rs") && package(&file.path).is_some() && !data
        })
    }
}

/// Returns the folder of the package a file belongs to: `crates/NAME` or `xtask`.
pub fn package(path: &str) -> Option<&str> {
    if path.starts_with("xtask/") {
        return Some("xtask");
    }
    let name = path.strip_prefix("crates/")?.split_once('/')?.0;
    Some(&path[.."crates/".len() + name.len()])
}

/// Returns whether a file contains only tests or benches.
pub fn is_test_code(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/") || path.contains("/benches/")
}

/// Returns the name of the function that a line begins; none for one that a macro names.
pub fn function(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("async ").unwrap_or(line);
    let name = line.strip_prefix("fn ")?.split(['(', '<']).next()?;
    Some(name).filter(|name| !name.starts_with('$'))
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<File>) -> Result<()> {
    for entry in std::fs::read_dir(root.join(folder))? {
        let (entry, ignored) = (entry?, ["target", ".git", ".robota", "artifacts", "coverage"]);
        let path = folder.join(entry.file_name());
        let kind = entry.file_type()?;
        // In a worktree `.git` is a file.
        if ignored.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        if kind.is_file() {
            let bytes = std::fs::read(root.join(&path))?;
            let text = String::from_utf8(bytes).unwrap_or_default();
            files.push(File { path: path.to_string_lossy().into_owned(), text });
        } else if kind.is_dir() {
            walk(root, &path, files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
