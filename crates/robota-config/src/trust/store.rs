//! The record of trusted folders: `~/.robota/trust.json`, which only the user may write.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use jiff::Timestamp;
use robota_core::clock::Clock;
use serde::{Deserialize, Serialize};

use super::{Trust, TrustSubject};
use crate::error::ConfigError;
use crate::files::Files;
use crate::places::Places;
use crate::write::records;

/// What the user trusts: folders, single files, and imports.
#[derive(Debug, Clone, Default)]
pub struct TrustStore {
    file: Option<PathBuf>,
    records: Records,
    /// Why the file cannot be used. Then nothing is trusted, and the file is not overwritten.
    problem: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Records {
    #[serde(default)]
    folders: IndexMap<String, Record>,
    /// Single files of checkouts that may run commands or allow calls: skills and agents.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    files: IndexMap<String, Record>,
    /// The files outside a folder that its instructions may import, by folder.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    imports: IndexMap<String, BTreeSet<PathBuf>>,
    /// Fields of a later version.
    #[serde(flatten)]
    other: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Record {
    hash: String,
    granted: Timestamp,
}

impl TrustStore {
    /// Reads the record. If it cannot be read, no folder is trusted and [`TrustStore::problem`]
    /// returns the reason.
    #[must_use]
    pub fn load(places: &Places) -> Self {
        let file = places.trust_file();
        let read = file.as_deref().map_or_else(|| Ok(Records::default()), records::read);
        match read {
            Ok(records) => Self { file, records, problem: None },
            Err(problem) => Self { file, records: Records::default(), problem: Some(problem) },
        }
    }

    /// Returns why the record cannot be used; none if it can.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Returns whether the user trusts these files.
    #[must_use]
    pub fn status(&self, files: &Files) -> Trust {
        self.status_of(&files.trust_subject())
    }

    /// Returns whether the user trusts these settings.
    #[must_use]
    pub fn status_of(&self, subject: &TrustSubject) -> Trust {
        if subject.items.is_empty() {
            // A folder without such settings is not recorded, so that settings it gets later ask.
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

    /// Records that the user trusts the folder with these settings.
    ///
    /// # Errors
    /// If there is no home folder, or the record cannot be read or written.
    pub fn grant(&mut self, subject: &TrustSubject, clock: &dyn Clock) -> Result<(), ConfigError> {
        let folder = subject.folder.as_deref().and_then(name).ok_or(ConfigError::NoPlace(
            "cannot trust this folder: its path does not exist or is not UTF-8",
        ))?;
        let record = Record { hash: subject.hash.clone(), granted: clock.now() };
        self.change(|records| {
            records.folders.insert(folder.to_owned(), record);
        })
    }

    /// Returns whether the user trusts a file with some content. The path has no links.
    pub(crate) fn has_file(&self, file: &Path) -> bool {
        name(file).is_some_and(|file| self.records.files.contains_key(file))
    }

    /// Returns whether the user trusts a file with this content. The path has no links.
    #[must_use]
    pub fn trusts_file(&self, file: &Path, hash: &str) -> bool {
        let record = name(file).and_then(|file| self.records.files.get(file));
        record.is_some_and(|record| record.hash == hash)
    }

    /// Records that the user trusts a file with this content, such as a skill that runs commands.
    ///
    /// # Errors
    /// If there is no home folder, or the record cannot be read or written.
    pub fn grant_file(
        &mut self,
        file: &Path,
        hash: &str,
        clock: &dyn Clock,
    ) -> Result<(), ConfigError> {
        let file = name(file)
            .ok_or(ConfigError::NoPlace("cannot trust this file: its path is not UTF-8"))?;
        let record = Record { hash: hash.to_owned(), granted: clock.now() };
        self.change(|records| {
            records.files.insert(file.to_owned(), record);
        })
    }

    /// Returns the files outside a folder that its instructions may import.
    #[must_use]
    pub fn approved_imports(&self, folder: &Path) -> Vec<PathBuf> {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let paths = name(&folder).and_then(|folder| self.records.imports.get(folder));
        paths.into_iter().flatten().cloned().collect()
    }

    /// Records that the instructions of a folder may import exactly these files outside it, besides
    /// those that were approved before.
    ///
    /// # Errors
    /// If there is no home folder, or the record cannot be read or written.
    pub fn approve_imports(
        &mut self,
        folder: &Path,
        files: impl IntoIterator<Item = PathBuf>,
    ) -> Result<(), ConfigError> {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let folder = name(&folder)
            .ok_or(ConfigError::NoPlace("cannot trust this folder: its path is not UTF-8"))?;
        // A path that is not UTF-8 cannot be recorded.
        let files: Vec<_> = files.into_iter().filter(|file| name(file).is_some()).collect();
        self.change(|records| {
            records.imports.entry(folder.to_owned()).or_default().extend(files);
        })
    }

    /// Revokes trust in a folder and in the files in it. Returns whether anything was trusted.
    ///
    /// # Errors
    /// If the record cannot be read or written.
    pub fn revoke(&mut self, folder: &Path) -> Result<bool, ConfigError> {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let Some(name) = name(&folder) else { return Ok(false) };
        let is_inside = |file: &String| Path::new(file).starts_with(&folder);
        let known = self.records.folders.contains_key(name)
            || self.records.imports.contains_key(name)
            || self.records.files.keys().any(is_inside);
        // With a record that cannot be read, `change` reports why, instead of the answer that
        // nothing was trusted.
        if !known && self.problem.is_none() {
            return Ok(false);
        }
        let mut was_there = false;
        self.change(|records| {
            was_there = records.folders.shift_remove(name).is_some();
            was_there |= records.imports.shift_remove(name).is_some();
            let before = records.files.len();
            records.files.retain(|file, _| !is_inside(file));
            was_there |= records.files.len() < before;
        })?;
        Ok(was_there)
    }

    /// Returns the recorded folders and the time of each grant. Their settings may have changed since.
    pub fn folders(&self) -> impl Iterator<Item = (&Path, Timestamp)> {
        self.records.folders.iter().map(|(folder, record)| (Path::new(folder), record.granted))
    }

    /// Reads, changes and writes the record under a lock, so that no other process does it at the
    /// same time.
    fn change(&mut self, change: impl FnOnce(&mut Records)) -> Result<(), ConfigError> {
        let file = self
            .file
            .as_deref()
            .ok_or(ConfigError::NoPlace("cannot record trust: there is no home folder"))?;
        self.records = records::change(file, change)?;
        self.problem = None;
        Ok(())
    }
}

/// Returns the path as it is recorded; none if it is not UTF-8, since a lossy conversion could
/// equal another path.
fn name(folder: &Path) -> Option<&str> {
    folder.to_str()
}
