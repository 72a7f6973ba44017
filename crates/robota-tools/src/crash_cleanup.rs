//! Cleans up on this machine after a crash of an agent's process.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use robota_core::blob::Blobs;
use robota_core::checkpoint::{
    CrashCleanup, FileChange, FileDelta, FoundFile, PathState, RestoreFiles,
};
use robota_core::event::{FilesWatched, NotRestored};
use robota_core::ids::CallId;
use robota_core::process::ProcessIdentity;
use robota_exec::RecordedExit;
use robota_exec::reaper::{self, ReaperRecord};

use crate::local_files::LocalFiles;

/// How long to wait for a reaper's record to appear, and for the exit status in it.
const RECORD_TIMEOUT: Duration = Duration::from_secs(1);
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Kills leftover processes, and restores files that were changed only in part.
#[derive(Debug, Default)]
pub struct LocalCrashCleanup {
    /// The folder where the reaper writes its records.
    records: Option<PathBuf>,
    /// The records that were read, until [`remove_records`](Self::remove_records) deletes them.
    used: Mutex<Vec<ReaperRecord>>,
}

impl LocalCrashCleanup {
    /// Creates a cleanup without records of a reaper.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the folder with the records of a reaper.
    #[must_use]
    pub fn records(mut self, dir: impl Into<PathBuf>) -> Self {
        self.records = Some(dir.into());
        self
    }

    /// Deletes the records that were used. To be called after the journal has their content.
    pub fn remove_records(&self) {
        let used = std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner));
        for (dir, record) in self.records.iter().flat_map(|dir| used.iter().map(move |r| (dir, r)))
        {
            // If the deletion fails, the next resume reads the same record again.
            let _ = reaper::remove_record(dir, record);
        }
    }

    /// Waits for the reaper's final record of a process. `None` if there is none.
    async fn record(&self, process: &ProcessIdentity, was_alive: bool) -> Option<ReaperRecord> {
        let dir = self.records.as_ref()?;
        let mut waited = Duration::ZERO;
        loop {
            let records = reaper::read_records(dir).unwrap_or_default();
            let record = records.into_iter().find(|record| record.process() == *process);
            let timeout = match &record {
                Some(found) if found.exit.is_some() => return record,
                Some(_) => EXIT_TIMEOUT,
                None if was_alive => RECORD_TIMEOUT,
                // The process had ended before, so no reaper of it is about to write a record.
                None => return None,
            };
            if waited >= timeout {
                return record;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
            waited += POLL_INTERVAL;
        }
    }
}

#[async_trait::async_trait]
impl RestoreFiles for LocalCrashCleanup {
    async fn current(&self, paths: &[String], blobs: Option<&dyn Blobs>) -> Vec<PathState> {
        LocalFiles.current(paths, blobs).await
    }

    async fn restore(&self, files: &[FileDelta], blobs: &dyn Blobs) -> Vec<NotRestored> {
        LocalFiles.restore(files, blobs).await
    }

    async fn diffs(&self, files: &[FileDelta], blobs: &dyn Blobs) -> Vec<Option<String>> {
        LocalFiles.diffs(files, blobs).await
    }

    async fn changed_since(&self, watched: &FilesWatched, blobs: &dyn Blobs) -> Vec<FileDelta> {
        LocalFiles.changed_since(watched, blobs).await
    }
}

#[async_trait::async_trait]
impl CrashCleanup for LocalCrashCleanup {
    async fn end_process(&self, _call: &CallId, process: &ProcessIdentity) -> Option<i32> {
        let was_alive = reaper::kill_leftover(process);
        let record = self.record(process, was_alive).await?;
        let exit = record.exit.map(|exit| match exit {
            RecordedExit::Code(code) => code,
            // The convention of shells.
            RecordedExit::Signal(signal) => 128 + signal,
        });
        self.used.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        exit
    }

    async fn settle_files(&self, files: &[FileChange], blobs: &dyn Blobs) -> Vec<FoundFile> {
        crate::file::settle_files(files, blobs).await
    }
}
