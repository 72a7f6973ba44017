//! The files of the repository as the checks see them: paths and texts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;

/// The texts of all files by their paths from the root, with `/`; empty for a file that is not UTF-8.
#[derive(Debug, Default)]
pub struct Tree(BTreeMap<String, String>);

/// What git ignores, and its own folder, which is a file in a worktree.
const IGNORED: [&str; 5] = ["target", ".git", ".robota", "artifacts", "coverage"];

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
            (path.to_owned(), format!("{}\n", text.trim_end_matches('\n')))
        };
        Self(files.map(file).collect())
    }

    /// Reads the files at `root`.
    pub fn load(root: &Path) -> Result<Self> {
        let (mut files, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                let (path, kind) = (entry.path(), entry.file_type()?);
                if IGNORED.iter().any(|name| entry.file_name() == *name) {
                    continue;
                }
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() {
                    let text = String::from_utf8(std::fs::read(&path)?).unwrap_or_default();
                    files.insert(path.strip_prefix(root)?.to_string_lossy().into_owned(), text);
                }
            }
        }
        Ok(Self(files))
    }

    /// Returns the text of one file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// Returns all paths and texts.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns whether this path is a file, or a folder with files.
    pub fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let below = |rest: &str| rest.is_empty() || rest.starts_with('/');
        path.is_empty() || self.0.keys().any(|it| it.strip_prefix(path).is_some_and(below))
    }

    /// Returns the names of all functions of the sources.
    pub fn functions(&self) -> BTreeSet<&str> {
        self.rust().flat_map(|(_, text)| text.lines()).filter_map(function).collect()
    }

    /// Returns the Rust sources of the packages, without fixtures and fuzz corpora.
    pub fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(|(path, _)| {
            let data = path.split('/').any(|part| part == "fixtures" || part == "corpus");
            path.ends_with(".rs") && package(path).is_some() && !data
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

#[cfg(test)]
mod tests;
