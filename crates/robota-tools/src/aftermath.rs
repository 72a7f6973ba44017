//! Tidying up on this machine after a process of ours that died.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use robota_core::blob::Blobs;
use robota_core::checkpoint::{Aftermath, FileChange, FoundFile};
use robota_core::ids::CallId;
use robota_core::process::ProcessIdentity;
use robota_exec::RecordedExit;
use robota_exec::reaper::{self, ReaperRecord};

/// How long a reaper may take to begin with a record, and to end what it has to.
const BEGINS: Duration = Duration::from_secs(1);
const ENDS: Duration = Duration::from_secs(5);
/// How often it is looked.
const LOOK: Duration = Duration::from_millis(20);

/// Ends what is left of processes, and makes half-made changes of files whole.
#[derive(Debug, Default)]
pub struct LocalAftermath {
    /// Where a reaper writes down what we did not live to see.
    records: Option<PathBuf>,
    used: Mutex<Vec<ReaperRecord>>,
}

impl LocalAftermath {
    /// Without a reaper.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with the records of a reaper.
    #[must_use]
    pub fn records(mut self, dir: impl Into<PathBuf>) -> Self {
        self.records = Some(dir.into());
        self
    }

    /// Removes the records whose story the journal tells by now.
    pub fn forget(&self) {
        let used = std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner));
        for (dir, record) in self.records.iter().flat_map(|dir| used.iter().map(move |r| (dir, r)))
        {
            // One that stays is read again, and says the same.
            let _ = reaper::forget(dir, record);
        }
    }

    /// What the reaper wrote down about a process, once it is done with it.
    async fn record(&self, process: &ProcessIdentity, was_alive: bool) -> Option<ReaperRecord> {
        let dir = self.records.as_ref()?;
        let mut waited = Duration::ZERO;
        loop {
            let records = reaper::collect(dir).unwrap_or_default();
            let found = records.into_iter().find(|record| record.process() == *process);
            let patience = match &found {
                Some(record) if record.exit.is_some() => return found,
                Some(_) => ENDS,
                None if was_alive => BEGINS,
                None => return None,
            };
            if waited >= patience {
                return found;
            }
            tokio::time::sleep(LOOK).await;
            waited += LOOK;
        }
    }
}

#[async_trait::async_trait]
impl Aftermath for LocalAftermath {
    async fn end(&self, _call: &CallId, process: &ProcessIdentity) -> Option<i32> {
        let was_alive = reaper::end_left(process);
        let record = self.record(process, was_alive).await?;
        let exit = record.exit.map(|exit| match exit {
            RecordedExit::Code(code) => code,
            RecordedExit::Signal(signal) => 128 + signal,
        });
        self.used.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        exit
    }

    async fn settle(&self, files: &[FileChange], blobs: &dyn Blobs) -> Vec<FoundFile> {
        crate::file::settle(files, blobs).await
    }
}
