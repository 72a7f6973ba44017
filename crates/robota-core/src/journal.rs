//! The journal ports: where events go. [`Journal`] is one session open for writing;
//! [`JournalStore`] is where sessions are kept. The real ones are `robota-store`'s; those in
//! memory here are what the ephemeral agent and tests run on.

mod error;
mod head;
mod memory;
mod order;
mod owner;
mod retention;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub use error::JournalError;
pub use head::{PageMark, SessionFilter, SessionHead, SessionPage};
pub use memory::{MemoryJournal, MemoryStore};
pub use order::{Order, follows, repeated};
pub use owner::{LeaseOwner, LostReason};
pub use retention::{Pruned, RetentionPolicy, prune};

use crate::blob::Blobs;
use crate::event::{Cursor, Durability, Envelope};
use crate::ids::SessionId;

/// One session, open for writing. There is one writer; dropping it lets others write.
#[async_trait::async_trait]
pub trait Journal: Send {
    /// Appends events that follow on each other and on what is stored. All or none. Returns when
    /// they are as safe as asked.
    ///
    /// **Retries.** After an error the caller cannot know whether the events were stored: the
    /// answer to a commit may have been lost. It numbers and stamps an event once, keeps the same
    /// envelopes until the store has acknowledged them, and calls `append` again with them,
    /// possibly followed by more. The store therefore compares events whose numbers are stored
    /// already, byte for byte:
    ///
    /// - The same: it skips them and appends the rest. This succeeds when all of them are there.
    /// - Different: [`JournalError::OutOfOrder`]. Nothing is changed.
    /// - The first number is beyond the next one, for instance because a database lost events in a
    ///   crash that it had not synced: [`JournalError::OutOfOrder`] whose `last` is the last event
    ///   that is stored. The caller repairs the journal with one append that begins after `last`.
    ///
    /// # Errors
    /// [`JournalError::Lost`] when another writer has the session or it was deleted, before any
    /// other check; [`JournalError::OutOfOrder`] when the events do not follow;
    /// [`JournalError::Io`] when the disk or the database failed.
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError>;

    /// Is cancelled when this writer lost the session: everything that runs for it must stop. A
    /// store whose lock ends with the process never cancels it.
    fn lost(&self) -> CancellationToken {
        CancellationToken::new()
    }

    /// How the session was lost, once [`Journal::lost`] is cancelled: a
    /// [`JournalError::Lost`]. Every later append returns it too.
    fn lost_error(&self) -> Option<JournalError> {
        None
    }
}

/// How often [`JournalStore::wait_past`] looks, unless the store has something better.
const POLL: std::time::Duration = std::time::Duration::from_millis(100);

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
    async fn read_events(
        &self,
        session: &SessionId,
        seqs: &[u64],
    ) -> Result<Vec<Envelope>, JournalError>;

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

    /// Returns when the session has events after that number, or may have: a caller reads, and
    /// waits again when there is nothing new. This is how to follow a session that another
    /// process writes to.
    ///
    /// # Errors
    /// [`JournalError::NotFound`] when there is no such session, or it is deleted meanwhile.
    async fn wait_past(&self, session: &SessionId, seq: u64) -> Result<(), JournalError> {
        while self.head(session).await?.last.seq <= seq {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
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
