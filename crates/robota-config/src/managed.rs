//! The folders of the administrator: which files they have, and which of them cannot be read.

use std::path::{Path, PathBuf};

use crate::files::{is_absent, read_bounded};
use crate::places::Places;

/// The folders with context files in the `.claude` of an administrator.
const CONTEXT_FOLDERS: [&str; 3] = ["agents", "skills", "output-styles"];

/// The files of the administrator.
#[derive(Debug, Default)]
pub(crate) struct ManagedFiles {
    /// Files that may have settings, lowest first. The first of a folder may not exist.
    pub(crate) settings: Vec<PathBuf>,
    /// Files and folders that exist and cannot be read, and why.
    pub(crate) unreadable: Vec<(PathBuf, String)>,
}

/// The file that is the only source of MCP servers.
#[derive(Debug, Clone)]
pub(crate) struct ManagedServersFile {
    pub(crate) path: PathBuf,
    /// The content; the error says why it cannot be read.
    pub(crate) content: Result<Vec<u8>, String>,
}

impl ManagedFiles {
    /// Lists the settings files: `managed-settings.json`, then those of `managed-settings.d` in the order
    /// of their names, folder by folder.
    pub(crate) fn settings(places: &Places) -> Self {
        let mut files = Self::default();
        for folder in &places.managed {
            files.settings.push(folder.join("managed-settings.json"));
            let more = folder.join("managed-settings.d");
            match settings_in(&more) {
                Ok(mut found) => files.settings.append(&mut found),
                // A file in it may forbid something.
                Err(error) => files.unreadable.push((more, error.to_string())),
            }
        }
        files
    }

    /// Like [`settings`](Self::settings), and also checks whether the context files can be read.
    pub(crate) fn all(places: &Places) -> Self {
        let mut files = Self::settings(places);
        for folder in &places.managed {
            let instructions = folder.join("CLAUDE.md");
            let text = read_bounded(&instructions).map_err(|error| error.to_string());
            let text = text.map(|bytes| bytes.is_none_or(|it| std::str::from_utf8(&it).is_ok()));
            match text {
                Ok(true) => {}
                Ok(false) => files.refuse(&instructions, "it is not UTF-8 text"),
                Err(reason) => files.refuse(&instructions, &reason),
            }
            for name in CONTEXT_FOLDERS {
                let folder = folder.join(".claude").join(name);
                if let Err(error) = entries(&folder) {
                    files.refuse(&folder, &error.to_string());
                }
            }
        }
        files
    }

    fn refuse(&mut self, path: &Path, reason: &str) {
        self.unreadable.push((path.to_owned(), reason.to_owned()));
    }
}

/// Reads the files `managed-mcp.json`, lowest first. Without any, other sources of servers are used.
pub(crate) fn server_files(places: &Places) -> Vec<ManagedServersFile> {
    let paths = places.managed.iter().map(|folder| folder.join("managed-mcp.json"));
    let files = paths.filter_map(|path| {
        // A file that exists and cannot be read still is the only source.
        let content = read_bounded(&path).map_err(|error| error.to_string()).transpose()?;
        Some(ManagedServersFile { path, content })
    });
    files.collect()
}

/// Returns the settings files of a folder in the order of their names.
fn settings_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let is_settings = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".json") && !name.starts_with('.')
    };
    let mut files: Vec<_> = entries(folder)?.into_iter().filter(is_settings).collect();
    files.sort();
    Ok(files)
}

/// Returns the paths in a folder; none if there is no such folder.
fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    match folder.read_dir() {
        Ok(found) => found.map(|entry| Ok(entry?.path())).collect(),
        // A file in the place of the folder, or a broken link, is no absence.
        Err(error) if is_absent(&error) && is_nothing(folder) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Returns whether a path does not exist, not even as a link that leads nowhere.
fn is_nothing(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| is_absent(&error))
}
