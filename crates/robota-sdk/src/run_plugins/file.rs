//! The records of a plugin in a file.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use robota_core::plugin::{PluginStorage, StorageError};
use serde_json::Value;

/// Keeps the records of a plugin as JSON lines in a file, which only its user may read. A line that a
/// crash cut short is left out.
///
/// ```
/// use robota_core::plugin::PluginStorage as _;
/// use robota_sdk::run_plugins::FileStorage;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let file = folder.path().join("usage.jsonl");
/// FileStorage::new(&file).append(&serde_json::json!({"tokens": 7}))?;
/// assert_eq!(FileStorage::new(&file).records()?[0]["tokens"], 7);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct FileStorage {
    path: PathBuf,
    /// The open file, for records that are added.
    file: Mutex<Option<File>>,
}

impl FileStorage {
    /// Creates a storage. The file and its folder are created with the first record.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), file: Mutex::default() }
    }

    fn failed(&self, what: &str) -> impl Fn(std::io::Error) -> StorageError {
        let (what, path) = (what.to_owned(), self.path.clone());
        move |error| StorageError(format!("cannot {what} {}: {error}", path.display()))
    }

    fn open(&self) -> Result<File, StorageError> {
        if let Some(folder) = self.path.parent().filter(|it| !it.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(self.failed("create the folder of"))?;
        }
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .mode(0o600)
            .open(&self.path)
            .map_err(self.failed("open"))?;
        // The next record must not continue a line that a crash cut short.
        if !ends_with_line(&mut file).map_err(self.failed("read"))? {
            file.write_all(b"\n").map_err(self.failed("write"))?;
        }
        Ok(file)
    }
}

fn ends_with_line(file: &mut File) -> std::io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

impl PluginStorage for FileStorage {
    fn append(&self, record: &Value) -> Result<(), StorageError> {
        let mut open = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *open {
            Some(file) => file,
            none => none.insert(self.open()?),
        };
        // One write, so that records of two processes do not mix.
        file.write_all(format!("{record}\n").as_bytes()).map_err(self.failed("write"))
    }

    fn records(&self) -> Result<Vec<Value>, StorageError> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failed("open")(error)),
        };
        let mut records = Vec::new();
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(self.failed("read"))?;
            records.extend(serde_json::from_slice::<Value>(&line).ok());
        }
        Ok(records)
    }

    fn clear(&self) -> Result<(), StorageError> {
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = None;
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(self.failed("delete")(error))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
