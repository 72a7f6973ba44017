//! `JournalStore` for files: runs the blocking file operations outside the async threads.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use robota_core::blob::Blobs;
use robota_core::event::{Cursor, Durability, Envelope};
use robota_core::ids::SessionId;
use robota_core::journal::{
    Journal, JournalError, JournalStore, SessionFilter, SessionHead, SessionPage,
};

use super::blobs::FileBlobs;
use super::open_files::OpenFiles;
use super::writer::Writer;
use super::{FileStore, Files};

/// How often a waiting reader checks the length of the journal.
const POLL: Duration = Duration::from_millis(100);

/// A short append that takes longer shows that the disk or the processor is busy, because it only
/// copies into memory.
const SLOW: Duration = Duration::from_millis(2);

/// This many appends are given to blocking threads after a slow one.
const APPENDS_AFTER_SLOW: u32 = 256;

impl FileStore {
    /// Runs blocking work on the store's files in a blocking thread.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Files>) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let files = Arc::clone(&self.files);
        run_blocking("the sessions", move || work(&files)).await
    }

    /// Reads a session in a blocking thread; see [`Files::reading`].
    async fn reading<T: Send + 'static>(
        &self,
        session: &SessionId,
        work: impl FnOnce(&Files, &SessionId) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let session = session.clone();
        self.blocking(move |files| files.reading(&session, work)).await
    }

    /// Copies a session that another user wrote into a new session of this user. The source does
    /// not change.
    ///
    /// # Errors
    /// If the source cannot be read, or a session with the target's id exists.
    pub async fn import(
        &self,
        source: &SessionId,
        target: &SessionId,
    ) -> Result<SessionHead, JournalError> {
        let (source, target) = (source.clone(), target.clone());
        self.blocking(move |files| {
            // Releases the lock of the new session.
            drop(files.import(&source, &target)?);
            files.head(&target)
        })
        .await
    }

    /// Deletes blobs that no session refers to, and returns how many. Deleting a session does this
    /// too, unless a crash interrupts it.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    pub async fn sweep(&self) -> Result<usize, JournalError> {
        self.blocking(|files| files.sweep(&files.all_blobs()?)).await
    }
}

#[async_trait::async_trait]
impl JournalStore for FileStore {
    async fn create(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError> {
        let session = session.clone();
        self.blocking(move |files| Ok(FileJournal::boxed(files, files.create(&session)?))).await
    }

    async fn open(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError> {
        let session = session.clone();
        self.blocking(move |files| Ok(FileJournal::boxed(files, files.open(&session)?))).await
    }

    async fn read(
        &self,
        session: &SessionId,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Envelope>, JournalError> {
        self.reading(session, move |files, session| files.read(session, after_seq, limit, true))
            .await
    }

    async fn read_without_chunks(
        &self,
        session: &SessionId,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Envelope>, JournalError> {
        self.reading(session, move |files, session| files.read(session, after_seq, limit, false))
            .await
    }

    async fn read_events(
        &self,
        session: &SessionId,
        seqs: &[u64],
    ) -> Result<Vec<Envelope>, JournalError> {
        let seqs = seqs.to_vec();
        self.reading(session, move |files, session| files.read_events(session, &seqs)).await
    }

    async fn head(&self, session: &SessionId) -> Result<SessionHead, JournalError> {
        self.reading(session, Files::head).await
    }

    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, JournalError> {
        let filter = filter.clone();
        self.blocking(move |files| files.list(&filter)).await
    }

    async fn fork(
        &self,
        parent: &SessionId,
        at: Cursor,
        child: &SessionId,
        first: &[Arc<Envelope>],
    ) -> Result<Box<dyn Journal>, JournalError> {
        let (parent, child, first) = (parent.clone(), child.clone(), first.to_vec());
        self.blocking(move |files| {
            Ok(FileJournal::boxed(files, files.fork(&parent, at, &child, &first)?))
        })
        .await
    }

    async fn delete(&self, session: &SessionId) -> Result<bool, JournalError> {
        let session = session.clone();
        self.blocking(move |files| files.delete(&session)).await
    }

    async fn bytes(&self, session: &SessionId) -> Result<u64, JournalError> {
        self.reading(session, Files::bytes).await
    }

    async fn wait_past(&self, session: &SessionId, seq: u64) -> Result<(), JournalError> {
        let mut seen = None;
        loop {
            let before = seen;
            let (grown, end) = self
                .reading(session, move |files, session| files.grown_past(session, seq, before))
                .await?;
            if grown {
                return Ok(());
            }
            seen = Some(end);
            tokio::time::sleep(POLL).await;
        }
    }

    fn blobs(&self, session: &SessionId) -> Arc<dyn Blobs> {
        Arc::new(FileBlobs::new(Arc::clone(&self.files), session.clone()))
    }
}

/// A session that is open for writing. Dropping it releases the session, after an append that is
/// still in progress has finished.
struct FileJournal {
    /// Shared with the append in progress: if its caller drops the future, the append still
    /// finishes before the next one starts.
    writer: Arc<Mutex<Writer>>,
    open_files: Arc<OpenFiles>,
    /// The number of appends that are given to blocking threads although they are short.
    after_slow: u32,
}

impl FileJournal {
    fn boxed(files: &Files, writer: Writer) -> Box<dyn Journal> {
        Box::new(Self::new(files, writer))
    }

    /// Blocks, because it may have to close a file of another session.
    fn new(files: &Files, writer: Writer) -> Self {
        let is_open = writer.has_open_file();
        let writer = Arc::new(Mutex::new(writer));
        let open_files = Arc::clone(&files.open_files);
        open_files.note(&writer, is_open);
        Self { writer, open_files, after_slow: 0 }
    }

    /// Does a short append on the thread of the caller, unless the disk is busy. To hand a write of some
    /// microseconds to another thread and wait for it takes ten times as long as the write.
    fn append_here(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Option<Result<(), JournalError>> {
        if self.after_slow > 0 {
            self.after_slow -= 1;
            return None;
        }
        // An append whose caller dropped its future may still run in a blocking thread.
        let mut writer = self.writer.try_lock().ok()?;
        let begin = Instant::now();
        let appended = writer.append_short(events, durability);
        if begin.elapsed() > SLOW {
            self.after_slow = APPENDS_AFTER_SLOW;
        }
        appended
    }
}

#[async_trait::async_trait]
impl Journal for FileJournal {
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError> {
        if let Some(appended) = self.append_here(events, durability) {
            return appended;
        }
        let (writer, open_files) = (Arc::clone(&self.writer), Arc::clone(&self.open_files));
        let events = events.to_vec();
        run_blocking("the journal", move || {
            let mut locked = writer.lock().unwrap_or_else(PoisonError::into_inner);
            let appended = locked.append(&events, durability);
            let is_open = locked.has_open_file();
            drop(locked);
            open_files.note(&writer, is_open);
            appended
        })
        .await
    }

    fn head(&self) -> Option<SessionHead> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).head()
    }
}

/// Runs blocking work in a blocking thread.
pub(super) async fn run_blocking<T: Send + 'static>(
    place: &'static str,
    work: impl FnOnce() -> Result<T, JournalError> + Send + 'static,
) -> Result<T, JournalError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // The runtime is shutting down, or the work panicked.
        Err(error) => Err(JournalError::io("complete the operation on", place, error)),
    }
}

#[cfg(test)]
mod tests;
