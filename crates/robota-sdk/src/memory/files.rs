//! The files of the memory. They are opened below the project's folder without following links, and
//! replaced atomically.

use std::path::{Path, PathBuf};

use robota_config::{clean, visible};
use robota_tools::FileError;
use robota_tools::file::{FileStamp, ResolvedPath, commit, plan_write, read_start, read_whole};

/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The maximum number of topics that are listed.
const MAX_TOPICS: usize = 1_000;

/// The folder of a memory: `.robota/memory` of a project.
#[derive(Debug, Clone)]
pub(super) struct MemoryFolder(ResolvedPath);

impl MemoryFolder {
    /// Uses `.robota/memory` of a project. The folder need not exist.
    pub(super) fn new(project: &Path) -> Result<Self, FileError> {
        Ok(Self(ResolvedPath::new(project)?.join(Path::new(".robota/memory"))))
    }

    /// Returns the path of a file in the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.given.join(name)
    }

    /// Reads a file without what could hide text in a terminal or from a reader; `None` if it does
    /// not exist.
    pub(super) fn read(&self, name: &str) -> Result<Option<String>, FileError> {
        let read = self.open(name)?;
        Ok(read.map(|(bytes, _)| clean(&String::from_utf8_lossy(&bytes)).into_owned()))
    }

    /// Reads the beginning of a file as [`Self::read`] does, at most `max` bytes and whole lines
    /// only, and returns whether the file has more.
    pub(super) fn read_lines(&self, name: &str, max: u64) -> Result<(String, bool), FileError> {
        let (mut bytes, more) = match read_start(&self.0.join(Path::new(name)), max) {
            Ok(read) => read,
            Err(FileError::Missing { .. }) => (Vec::new(), false),
            Err(error) => return Err(error),
        };
        if more {
            // Before it is cleaned: a sequence that is cut in two would not be found.
            let lines = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            bytes.truncate(lines);
        }
        Ok((clean(&String::from_utf8_lossy(&bytes)).into_owned(), more))
    }

    fn open(&self, name: &str) -> Result<Option<(Vec<u8>, FileStamp)>, FileError> {
        match read_whole(&self.0.join(Path::new(name)), MAX_FILE_BYTES) {
            Ok(read) => Ok(Some(read)),
            Err(FileError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces a file by what `change` makes of its content. Two changes at the same time do not
    /// lose one: the second fails. Returns false if there was nothing to change.
    pub(super) fn update(
        &self,
        name: &str,
        change: impl FnOnce(Option<&str>) -> Option<String>,
    ) -> Result<bool, FileError> {
        let path = self.0.join(Path::new(name));
        let before = self.open(name)?;
        // Not a lossy text: it would be written back with the damage.
        let text = before.as_ref().map(|(bytes, _)| std::str::from_utf8(bytes)).transpose();
        let text = text.map_err(|_| FileError::Binary { path: path.given.clone() })?;
        let Some(after) = change(text) else { return Ok(false) };
        let stamp = before.as_ref().map(|(_, stamp)| stamp);
        commit(&[plan_write(&path, &after, stamp)?])?;
        Ok(true)
    }

    /// Returns the names of the topics, sorted. Links, other files, and names with characters that
    /// are not shown are left out.
    pub(super) fn topics(&self) -> Vec<String> {
        let folder = self.0.join(Path::new("topics"));
        // A link in the way would lead to other files.
        let linked = ResolvedPath::new(&folder.target).is_ok_and(|it| it.target != folder.target);
        let Some(entries) = std::fs::read_dir(&folder.target).ok().filter(|_| !linked) else {
            return Vec::new();
        };
        let name = |entry: std::fs::DirEntry| {
            let file = entry.file_type().ok()?.is_file();
            let name = entry.file_name().into_string().ok()?;
            let topic = name.strip_suffix(".md").filter(|_| file)?;
            (visible(topic) == topic).then(|| topic.to_owned())
        };
        let mut names: Vec<_> = entries.filter_map(|entry| name(entry.ok()?)).collect();
        names.sort();
        names.truncate(MAX_TOPICS);
        names
    }
}
