//! The files of a checkout that settings run: scripts of hooks, programs of MCP servers, the status
//! line and other helpers. A change of such a file changes what runs, like a change of the setting
//! itself. So their content belongs to the trust in a folder, and agents may not change them
//! without approval.

mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::places::Places;

/// The most files that are followed: a checkout must not be able to keep the program busy.
const MAX_FILES: usize = 256;
/// The size up to which a script is searched for other scripts.
const MAX_SCRIPT_BYTES: usize = 256 * 1024;
/// The size up to which a file is hashed. A larger one is identified by its size and times.
const MAX_HASHED_BYTES: u64 = 64 * 1024 * 1024;

/// The files of a project that its settings run, with the content that they had when the settings
/// were read. Clones share the cache of hashes.
#[derive(Debug, Clone, Default)]
pub struct NamedFiles {
    project: PathBuf,
    checkout: PathBuf,
    files: Arc<BTreeMap<PathBuf, Fingerprint>>,
    /// The stamps of files that were found unchanged, so that a check is cheap.
    checked: Arc<Mutex<HashMap<PathBuf, Stamp>>>,
}

/// What a named file contains.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fingerprint {
    Missing,
    /// The hash of the content, and where the path leads.
    Content(String),
    /// It is not a readable regular file.
    Unreadable,
}

/// The metadata of a file that changes with its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl NamedFiles {
    /// Finds the files of a checkout that these values name, and the scripts that those run. `project` is
    /// the working folder in it.
    pub(crate) fn find<'a>(
        project: &Path,
        checkout: &Path,
        values: impl IntoIterator<Item = &'a Value>,
    ) -> Self {
        let files = named((project, checkout), values).into_iter();
        let files =
            files.map(|path| (Fingerprint::of(&path), path)).map(|(print, path)| (path, print));
        Self {
            project: project.to_owned(),
            checkout: checkout.to_owned(),
            files: Arc::new(files.collect()),
            checked: Arc::default(),
        }
    }

    /// Adds the files that this value names, with the content that they have now. Files that are known
    /// keep the content that they had.
    pub fn add(&mut self, places: &Places, value: &Value) {
        let mut files = BTreeMap::clone(&self.files);
        self.project.clone_from(&places.cwd);
        self.checkout = places.checkout();
        for path in named((&self.project, &self.checkout), [value]) {
            // A file that changed since the start must not count as it is now.
            files.entry(path.clone()).or_insert_with(|| Fingerprint::of(&path));
        }
        self.files = Arc::new(files);
    }

    /// Returns the files, also those that do not exist yet.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    /// Returns the existing files with what identifies their content.
    pub(crate) fn fingerprints(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().filter_map(|(path, print)| match print {
            Fingerprint::Missing => None,
            Fingerprint::Content(hash) => Some((path.as_path(), hash.as_str())),
            Fingerprint::Unreadable => Some((path.as_path(), "unreadable")),
        })
    }

    /// Checks that the files that a command names still have the content that they had when the
    /// settings were read. To be called before the command runs.
    ///
    /// # Errors
    /// The first file that was changed, created or deleted since.
    pub fn check_unchanged(&self, command: &Value) -> Result<(), PathBuf> {
        let named = named((&self.project, &self.checkout), [command]);
        named.into_iter().find(|path| !self.is_unchanged(path)).map_or(Ok(()), Err)
    }

    fn is_unchanged(&self, path: &Path) -> bool {
        let stamp = path.metadata().ok().map(|metadata| Stamp::of(&metadata));
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        // The stamp has the time of the last change of the metadata, which no program can set back.
        if stamp.is_some() && checked.get(path).copied() == stamp {
            return true;
        }
        let unchanged = self.files.get(path) == Some(&Fingerprint::of(path));
        if let (true, Some(stamp)) = (unchanged, stamp) {
            checked.insert(path.to_owned(), stamp);
        }
        unchanged
    }
}

impl Fingerprint {
    fn of(path: &Path) -> Self {
        match hash(path) {
            Ok(hash) => Self::Content(hash),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Missing,
            Err(_) => Self::Unreadable,
        }
    }
}

/// Returns the files of a checkout that these values name, and the scripts that those run. `folders` are
/// the working folder and the checkout.
fn named<'a>(
    folders: (&Path, &Path),
    values: impl IntoIterator<Item = &'a Value>,
) -> BTreeSet<PathBuf> {
    let mut todo = VecDeque::new();
    values.into_iter().for_each(|value| collect(value, folders, &mut todo));
    let mut found = BTreeSet::new();
    while let Some(path) = todo.pop_front() {
        // Beyond the limit a file has no fingerprint, so that `check_unchanged` refuses it.
        if found.len() >= MAX_FILES || !found.insert(path.clone()) {
            continue;
        }
        let Some(script) = read_script(&path) else { continue };
        todo.extend(words::files(&script, folders).into_iter().filter(|path| is_script(path)));
    }
    found
}

/// Collects the files that the strings of a value name.
fn collect(value: &Value, folders: (&Path, &Path), into: &mut VecDeque<PathBuf>) {
    match value {
        Value::String(text) => into.extend(words::files(text, folders)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, folders, into)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, folders, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Opens a regular file. A pipe is not opened: that would wait for its other end.
fn open(path: &Path) -> io::Result<(File, Metadata)> {
    if !path.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok((file, metadata))
}

/// Returns what identifies the content of a file and the file that its path leads to.
fn hash(path: &Path) -> io::Result<String> {
    let (mut file, metadata) = open(path)?;
    let mut hash = Sha256::new();
    // A link that leads to another file with the same content is a change as well.
    hash.update(path.canonicalize()?.as_os_str().as_encoded_bytes());
    hash.update([0]);
    if metadata.len() > MAX_HASHED_BYTES {
        // Too slow for every start; the time of the last change cannot be set back by a program.
        hash.update(format!("{:?}", Stamp::of(&metadata)));
    } else {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => hash.update(&buffer[..read]),
            }
        }
    }
    Ok(super::hex(&hash.finalize()))
}

/// Returns the text of a file that may run other files; none if it is large or not text.
fn read_script(path: &Path) -> Option<String> {
    let (file, _) = open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_SCRIPT_BYTES as u64 + 1).read_to_end(&mut bytes).ok()?;
    let script = bytes.starts_with(b"#!") || is_script(path);
    (script && bytes.len() <= MAX_SCRIPT_BYTES).then(|| String::from_utf8(bytes).ok()).flatten()
}

/// Returns whether a file that a script mentions is one that it runs, and not data.
fn is_script(path: &Path) -> bool {
    let shell = path.extension().is_some_and(|end| {
        ["sh", "bash", "zsh"].iter().any(|shell| end.eq_ignore_ascii_case(shell))
    });
    // A script of any language that can be started.
    let executable = |metadata: Metadata| metadata.permissions().mode() & 0o111 != 0;
    shell || path.metadata().is_ok_and(|metadata| metadata.is_file() && executable(metadata))
}

#[cfg(test)]
mod tests;
