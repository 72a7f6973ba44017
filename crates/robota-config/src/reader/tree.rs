//! Lists folders: names in byte order, a limited number of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Boundary, ContextReader, warning};
use crate::clean::is_hidden;
use crate::files::is_absent;
use crate::layer::Layer;
use crate::report::Problem;

/// The most entries of a folder that are read.
const MAX_ENTRIES: usize = 20_000;
/// The most files of a tree.
const MAX_FILES: usize = 2_000;
/// The most folders of a tree.
const MAX_FOLDERS: usize = 256;
/// The most folders between a tree and a file.
const MAX_DEPTH: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) kind: EntryKind,
}

/// What an entry is, without following links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EntryKind {
    File,
    Folder,
    Link,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeFile {
    pub(crate) path: PathBuf,
    /// The names of the folders between the tree and the file, then the name of the file without its
    /// ending.
    pub(crate) names: Vec<String>,
}

impl ContextReader {
    /// Returns the entries of a folder in byte order; none if there is no such folder. Hidden entries
    /// and entries whose names hide characters are left out.
    pub(crate) fn list(
        &self,
        folder: &Path,
        boundary: &Boundary,
    ) -> Result<Option<Vec<Entry>>, String> {
        let Some(real) = self.resolve(folder, boundary)? else { return Ok(None) };
        self.entries(&real)
    }

    /// Like [`list`](Self::list), for a folder that was resolved.
    fn entries(&self, real: &Path) -> Result<Option<Vec<Entry>>, String> {
        self.count_folder();
        let found = match real.read_dir() {
            Ok(found) => found,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let mut entries = Vec::new();
        for (at, entry) in found.flatten().enumerate() {
            // The order of entries is not stable, so a part of them would differ from run to run;
            // the folder is not used.
            if at >= MAX_ENTRIES {
                return Err(format!("it has more than {MAX_ENTRIES} entries"));
            }
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.starts_with('.') || name.chars().any(|c| is_hidden(c) || c == '\n') {
                continue;
            }
            let kind = match entry.file_type() {
                Ok(kind) if kind.is_file() => EntryKind::File,
                Ok(kind) if kind.is_dir() => EntryKind::Folder,
                Ok(kind) if kind.is_symlink() => EntryKind::Link,
                Ok(_) | Err(_) => EntryKind::Other,
            };
            entries.push(Entry { name, kind });
        }
        entries.sort();
        Ok(Some(entries))
    }

    /// Returns the Markdown files of a folder and, up to a depth, of the folders in it, in byte order
    /// of their paths.
    pub(crate) fn markdown(
        &self,
        folder: &Path,
        boundary: &Boundary,
        depth: Depth,
        layer: Layer,
        problems: &mut Vec<Problem>,
    ) -> Vec<TreeFile> {
        let mut walk = Walk {
            reader: self,
            boundary,
            layer,
            problems,
            seen: BTreeSet::new(),
            files: Vec::new(),
            full: false,
        };
        let levels = match depth {
            Depth::Folder => 0,
            Depth::Tree => MAX_DEPTH,
        };
        walk.visit(folder, &mut Vec::new(), levels);
        walk.files
    }
}

/// Whether the folders in a folder are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Only the folder itself is searched.
    Folder,
    /// Also the folders in it.
    Tree,
}

struct Walk<'a> {
    reader: &'a ContextReader,
    boundary: &'a Boundary,
    layer: Layer,
    problems: &'a mut Vec<Problem>,
    /// The real folders that were listed: links can make a circle.
    seen: BTreeSet<PathBuf>,
    files: Vec<TreeFile>,
    full: bool,
}

impl Walk<'_> {
    fn visit(&mut self, folder: &Path, names: &mut Vec<String>, levels: usize) {
        let real = match self.reader.resolve(folder, self.boundary) {
            Ok(Some(real)) => real,
            Ok(None) => return,
            Err(reason) => return self.refuse(folder, &reason),
        };
        if self.seen.contains(&real) {
            return;
        }
        if self.seen.len() >= MAX_FOLDERS {
            return self.refuse(folder, &format!("there are more than {MAX_FOLDERS} folders"));
        }
        let entries = self.reader.entries(&real);
        self.seen.insert(real);
        let entries = match entries {
            Ok(entries) => entries.unwrap_or_default(),
            Err(reason) => return self.refuse(folder, &reason),
        };
        for Entry { name, kind } in entries {
            let path = folder.join(&name);
            let kind = match kind {
                // Decided by what the link leads to; whether it may be followed is checked when it
                // is.
                EntryKind::Link if path.is_dir() => EntryKind::Folder,
                EntryKind::Link => EntryKind::File,
                other => other,
            };
            match kind {
                EntryKind::Folder if levels > 0 => {
                    names.push(name);
                    self.visit(&path, names, levels - 1);
                    names.pop();
                }
                EntryKind::File => self.add(path, &name, names),
                EntryKind::Folder | EntryKind::Link | EntryKind::Other => {}
            }
        }
    }

    fn add(&mut self, path: PathBuf, name: &str, names: &[String]) {
        let Some(stem) = name.strip_suffix(".md").filter(|stem| !stem.is_empty()) else { return };
        if self.files.len() >= MAX_FILES {
            // Once, not for each file.
            if !std::mem::replace(&mut self.full, true) {
                self.refuse(&path, &format!("there are more than {MAX_FILES} files"));
            }
            return;
        }
        let names = names.iter().cloned().chain([stem.to_owned()]).collect();
        self.files.push(TreeFile { path, names });
    }

    fn refuse(&mut self, path: &Path, reason: &str) {
        self.problems.push(warning(self.layer, path, format!("not read: {reason}")));
    }
}
