//! The journal ports: where events go. [`Journal`] is one session open for writing;
//! [`JournalStore`] is where sessions are kept. The real ones are `robota-store`'s; those in
//! memory here are what the ephemeral agent and tests run on.

mod error;
mod head;
mod memory;
mod order;
mod retention;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub use error::JournalError;
pub use head::{PageMark, SessionFilter, SessionHead, SessionPage};
pub use memory::{MemoryJournal, MemoryStore};
pub use order::{Order, follows};
pub use retention::{Pruned, RetentionPolicy, prune};

use crate::blob::Blobs;
use crate::event::{Cursor, Durability, Envelope};
use crate::ids::SessionId;

/// One session, open for writing. There is one writer; dropping it lets others write.
#[async_trait::async_trait]
pub trait Journal: Send {
    /// Appends events that follow on each other and on what is there. All or none: after an
    /// error the journal is as it was before. Returns when they are as safe as asked.
    ///
    /// # Errors
    /// [`JournalError::OutOfOrder`] when they do not follow, [`JournalError::Lost`] when somebody
    /// else took the session over, [`JournalError::Io`] when the disk or the database failed.
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError>;

    /// Is cancelled when somebody else took the session over: whatever runs for it must end.
    /// A store whose lock ends with the process never cancels it.
    fn lost(&self) -> CancellationToken {
        CancellationToken::new()
    }
}

/// Where sessions are kept. Readers open nothing and hinder no writer.
#[async_trait::async_trait]
pub trait JournalStore: Send + Sync {
    /// Begins a session, open for writing; it exists from its first event. Fails when there is
    /// one of that id, or the id is no [`SessionName`](crate::ids::SessionName).
    async fn create(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError>;

    /// Opens a session for writing; the events it has are those [`JournalStore::read`] returns.
    async fn open(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError>;

    /// The events of a session after that number, oldest first; at most `limit` of them, fewer
    /// only at the end.
    async fn read(
        &self,
        session: &SessionId,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Envelope>, JournalError>;

    /// The events with these numbers, in their order: what a snapshot refers to. Costs what is
    /// asked for, not what the journal holds.
    async fn pick(&self, session: &SessionId, seqs: &[u64]) -> Result<Vec<Envelope>, JournalError>;

    /// What is known of a session without reading its journal, exact up to its last event.
    async fn head(&self, session: &SessionId) -> Result<SessionHead, JournalError>;

    /// The sessions there are, newest first. Reads no journals.
    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, JournalError>;

    /// Begins a session with the events of another up to and including `at`, followed by
    /// `first`; it is safe when this returns, or does not exist. Open for writing.
    async fn fork(
        &self,
        parent: &SessionId,
        at: Cursor,
        child: &SessionId,
        first: &[Arc<Envelope>],
    ) -> Result<Box<dyn Journal>, JournalError>;

    /// Deletes a session and the blobs only it refers to; says whether there was one.
    async fn delete(&self, session: &SessionId) -> Result<bool, JournalError>;

    /// How much room a session takes, in bytes: its journal and what only it refers to, as far as
    /// the store can tell cheaply.
    async fn bytes(&self, session: &SessionId) -> Result<u64, JournalError> {
        let events = self.read(session, 0, usize::MAX).await?;
        Ok(events.iter().map(|event| event.to_line().len() as u64 + 1).sum())
    }

    /// The blobs of a session.
    fn blobs(&self, session: &SessionId) -> Arc<dyn Blobs>;
}

/// All events of a session after that number, oldest first.
///
/// # Errors
/// When the store cannot be read.
pub async fn read_all(
    store: &dyn JournalStore,
    session: &SessionId,
    after_seq: u64,
) -> Result<Vec<Envelope>, JournalError> {
    store.read(session, after_seq, usize::MAX).await
}
