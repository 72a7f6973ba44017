//! Where plugins keep their records.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::error::{Diagnose, ErrorKind};

/// Keeps the records of one plugin, oldest first. `FileStorage` of the SDK is one in a file.
pub trait PluginStorage: Send + Sync {
    /// Adds a record.
    ///
    /// # Errors
    /// If it cannot be stored.
    fn append(&self, record: &Value) -> Result<(), StorageError>;

    /// Returns the records, oldest first.
    ///
    /// # Errors
    /// If they cannot be read.
    fn records(&self) -> Result<Vec<Value>, StorageError>;

    /// Removes all records.
    ///
    /// # Errors
    /// If they cannot be removed.
    fn clear(&self) -> Result<(), StorageError>;
}

/// Why records of a plugin cannot be stored or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the records of a plugin: {0}")]
pub struct StorageError(pub String);

impl Diagnose for StorageError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Storage
    }
}

/// The default for the most records in memory.
const MAX_RECORDS: usize = 10_000;

/// Keeps the newest records in memory.
///
/// ```
/// use robota_core::plugin::{MemoryStorage, PluginStorage as _};
///
/// let storage = MemoryStorage::new(2);
/// for n in 0..3 {
///     storage.append(&n.into()).unwrap();
/// }
/// assert_eq!(storage.records().unwrap(), [1, 2]);
/// ```
#[derive(Debug)]
pub struct MemoryStorage {
    records: Mutex<VecDeque<Value>>,
    most: usize,
}

impl MemoryStorage {
    /// Creates a storage for at most that many records.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { records: Mutex::default(), most }
    }
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::new(MAX_RECORDS)
    }
}

impl PluginStorage for MemoryStorage {
    fn append(&self, record: &Value) -> Result<(), StorageError> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.push_back(record.clone());
        while records.len() > self.most {
            records.pop_front();
        }
        Ok(())
    }

    fn records(&self) -> Result<Vec<Value>, StorageError> {
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(records.iter().cloned().collect())
    }

    fn clear(&self) -> Result<(), StorageError> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }
}

/// Stores a record of a plugin. A plugin that cannot store does not stop a run; the log says so.
pub(super) fn store(storage: &dyn PluginStorage, plugin: &str, record: &Value) {
    if let Err(error) = storage.append(record) {
        tracing::warn!(%error, plugin, "a plugin could not store a record");
    }
}
