//! Where trust is recorded: `~/.robota/trust.json`, which only the user may write.

use std::fs::OpenOptions;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use jiff::Timestamp;
use robota_core::clock::Clock;
use serde::{Deserialize, Serialize};

use super::{Trust, TrustSubject};
use crate::error::ConfigError;
use crate::files::{Files, read_bounded};
use crate::places::Places;
use crate::write::atomic;

/// The folders the user trusts.
#[derive(Debug, Clone, Default)]
pub struct TrustStore {
    file: Option<PathBuf>,
    records: Records,
    /// Why the file could not be read. Then nothing is trusted, and nothing is written over it.
    problem: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Records {
    #[serde(default)]
    folders: IndexMap<String, Record>,
    /// What a later version wrote.
    #[serde(flatten)]
    other: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Record {
    hash: String,
    granted: Timestamp,
}

impl TrustStore {
    /// Reads the record. One that cannot be read trusts nothing; [`TrustStore::problem`] says
    /// why.
    #[must_use]
    pub fn load(places: &Places) -> Self {
        let file = places.trust_file();
        let read = file.as_deref().map_or_else(|| Ok(Records::default()), read);
        match read {
            Ok(records) => Self { file, records, problem: None },
            Err(problem) => Self { file, records: Records::default(), problem: Some(problem) },
        }
    }

    /// What is wrong with the record, if anything is.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Whether the user trusts what these files say.
    #[must_use]
    pub fn status(&self, files: &Files) -> Trust {
        self.status_of(&files.trust_subject())
    }

    /// The same, for a subject at hand.
    #[must_use]
    pub fn status_of(&self, subject: &TrustSubject) -> Trust {
        if subject.items.is_empty() {
            return Trust::NotNeeded;
        }
        let record = subject
            .folder
            .as_deref()
            .and_then(name)
            .and_then(|folder| self.records.folders.get(folder));
        match record {
            Some(record) if record.hash == subject.hash => Trust::Trusted,
            Some(_) => Trust::Changed,
            None => Trust::Unknown,
        }
    }

    /// Records that the user trusts the folder, as it was shown.
    ///
    /// # Errors
    /// When there is no home to record it in, the record cannot be read, or not be written.
    pub fn grant(&mut self, subject: &TrustSubject, clock: &dyn Clock) -> Result<(), ConfigError> {
        let folder =
            subject.folder.as_deref().and_then(name).ok_or(ConfigError::NoPlace(
                "this folder cannot be trusted: it has no proper name",
            ))?;
        let record = Record { hash: subject.hash.clone(), granted: clock.now() };
        self.change(|records| {
            records.folders.insert(folder.to_owned(), record);
        })
    }

    /// Takes trust in a folder back. Returns whether there was any.
    ///
    /// # Errors
    /// When the record cannot be read, or not be written.
    pub fn revoke(&mut self, folder: &Path) -> Result<bool, ConfigError> {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let Some(folder) = name(&folder) else { return Ok(false) };
        if !self.records.folders.contains_key(folder) && self.problem.is_none() {
            return Ok(false);
        }
        let mut was_there = false;
        self.change(|records| was_there = records.folders.shift_remove(folder).is_some())?;
        Ok(was_there)
    }

    /// The folders that are trusted, each as it was when it was.
    pub fn folders(&self) -> impl Iterator<Item = (&Path, Timestamp)> {
        self.records.folders.iter().map(|(folder, record)| (Path::new(folder), record.granted))
    }

    /// Reads, changes and writes, with nobody else doing the same meanwhile.
    fn change(&mut self, change: impl FnOnce(&mut Records)) -> Result<(), ConfigError> {
        let file = self
            .file
            .clone()
            .ok_or(ConfigError::NoPlace("there is no home folder to record trust in"))?;
        let io = |action, path: &Path, source| ConfigError::Io {
            action,
            file: path.to_path_buf(),
            source,
        };
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(|error| io("create", folder, error))?;
        }
        let lock_file = file.with_extension("json.lock");
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&lock_file)
            .map_err(|error| io("open", &lock_file, error))?;
        lock.lock().map_err(|error| io("lock", &lock_file, error))?;
        let mut records =
            read(&file).map_err(|reason| ConfigError::Refused { file: file.clone(), reason })?;
        change(&mut records);
        let text = serde_json::to_string_pretty(&records)
            .map_err(|error| io("write", &file, error.into()))?;
        atomic::replace(&file, format!("{text}\n").as_bytes(), Some(0o600))
            .map_err(|error| io("write", &file, error))?;
        self.records = records;
        self.problem = None;
        Ok(())
    }
}

/// Paths are recorded as text; one that is no text could stand for another, so it is not.
fn name(folder: &Path) -> Option<&str> {
    folder.to_str()
}

fn read(file: &Path) -> Result<Records, String> {
    let Some(bytes) = read_bounded(file).map_err(|error| error.to_string())? else {
        return Ok(Records::default());
    };
    let facts = std::fs::metadata(file).map_err(|error| error.to_string())?;
    if facts.mode() & 0o022 != 0 {
        return Err("others may write it, so it says nothing; `chmod 600` it".to_owned());
    }
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}
