//! The user's records as JSON files: read, changed and written under a lock, so that two processes do
//! not overwrite each other.

use std::fs::OpenOptions;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::atomic;
use crate::error::ConfigError;
use crate::files::read_bounded;

/// Reads a record; a file that does not exist is an empty one. A file that other users can write is
/// refused.
pub(crate) fn read<R: Default + DeserializeOwned>(file: &Path) -> Result<R, String> {
    let Some(bytes) = read_bounded(file).map_err(|error| error.to_string())? else {
        return Ok(R::default());
    };
    let metadata = std::fs::metadata(file).map_err(|error| error.to_string())?;
    if metadata.mode() & 0o022 != 0 {
        return Err("other users can write it, so it is not used; run `chmod 600` on it".to_owned());
    }
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}

/// Changes a record and returns it.
pub(crate) fn change<R: Default + DeserializeOwned + Serialize>(
    file: &Path,
    change: impl FnOnce(&mut R),
) -> Result<R, ConfigError> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(|error| io("create", folder, error))?;
    }
    // A file of its own: the record is replaced, and a lock on it would be lost with the old file.
    let lock_file = file.with_extension("json.lock");
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&lock_file)
        .map_err(|error| io("open", &lock_file, error))?;
    lock.lock().map_err(|error| io("lock", &lock_file, error))?;
    // Read under the lock, so that the change of another process is kept.
    let mut records =
        read(file).map_err(|reason| ConfigError::Refused { file: file.to_owned(), reason })?;
    change(&mut records);
    let text =
        serde_json::to_string_pretty(&records).map_err(|error| io("write", file, error.into()))?;
    atomic::replace(file, format!("{text}\n").as_bytes(), Some(0o600))
        .map_err(|error| io("write", file, error))?;
    Ok(records)
}

/// Returns the error of a file operation; `action` is a verb.
pub(crate) fn io(action: &'static str, path: &Path, source: std::io::Error) -> ConfigError {
    ConfigError::Io { action, file: path.to_owned(), source }
}
