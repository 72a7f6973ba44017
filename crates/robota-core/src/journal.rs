//! The journal ports. [`Journal`] is one session that is open for writing; [`JournalStore`] stores
//! sessions. The persistent implementations are in `robota-store`; the ephemeral agent and tests
//! use the ones in memory here.

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

/// One session that is open for writing. It has one writer; dropping it lets others open it.
#[async_trait::async_trait]
pub trait Journal: Send {
    /// Appends events that follow each other and the stored ones, all or none. Returns when they
    /// are as durable as requested.
    ///
    /// **Retries.** After an error the caller cannot know whether the events were stored: the
    /// answer to a commit may have been lost. The caller numbers and stamps an event once, keeps
    /// the same envelopes until the store has acknowledged them, and calls `append` again with
    /// them, possibly followed by more. The store therefore compares events whose sequence numbers
    /// are already stored, byte for byte:
    ///
    /// - Equal: it skips them and appends the rest. This succeeds if all of them are stored.
    /// - Different: [`JournalError::OutOfOrder`]. Nothing is changed.
    /// - The first number is beyond the next one, for instance because a database lost events in a
    ///   crash that it had not synced: [`JournalError::OutOfOrder`] whose `last` is the last stored
    ///   event. The caller repairs the journal with one append that begins after `last`.
    ///
    /// # Errors
    /// [`JournalError::Lost`] when another process took the session over or it was deleted; this is
    /// checked first. [`JournalError::OutOfOrder`] when the events do not follow.
    /// [`JournalError::Io`] when the disk or the database failed.
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError>;

    /// Returns the summary of the session up to its last event, if the writer knows it: then a resume
    /// need not ask the store for it.
    fn head(&self) -> Option<SessionHead> {
        None
    }

    /// Returns a token that is cancelled when this process lost the session: everything that runs
    /// for it must stop. A store whose lock ends with the process never cancels it.
    fn lost(&self) -> CancellationToken {
        CancellationToken::new()
    }

    /// Returns how the session was lost, once [`Journal::lost`] is cancelled: a
    /// [`JournalError::Lost`]. Every later append returns it too.
    fn lost_error(&self) -> Option<JournalError> {
        None
    }

    /// Lets others open the session, like dropping the journal, and returns when they can: a store on
    /// a database waits until the database has the release. It returns also if that fails; then
    /// others wait until the lease expires.
    async fn release(self: Box<Self>) {
        drop(self);
    }
}

/// How often [`JournalStore::wait_past`] polls, unless the store implements it itself.
const POLL: std::time::Duration = std::time::Duration::from_millis(100);

/// Stores sessions. Readers open nothing and do not block a writer.
#[async_trait::async_trait]
pub trait JournalStore: Send + Sync {
    /// Creates a session and opens it for writing. The session exists once it has an event. Fails
    /// if the id is taken or is not a valid [`SessionName`](crate::ids::SessionName).
    async fn create(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError>;

    /// Opens an existing session for writing.
    async fn open(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError>;

    /// Returns the events of a session after that sequence number, oldest first; at most `limit`,
    /// and fewer only at the end.
    async fn read(
        &self,
        session: &SessionId,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Envelope>, JournalError>;

    /// Returns the events of a session after that sequence number that are not
    /// [chunks](crate::event::Nature::Chunk), oldest first; at most `limit`, and fewer only at the end.
    /// Most events of a journal are chunks, so stores skip them without decoding them.
    async fn read_without_chunks(
        &self,
        session: &SessionId,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Envelope>, JournalError> {
        let (mut events, mut after) = (Vec::new(), after_seq);
        while events.len() < limit {
            let page = self.read(session, after, PAGE).await?;
            let more = page.len() == PAGE;
            after = page.last().map_or(after, |last| last.seq);
            let room = limit - events.len();
            events.extend(page.into_iter().filter(|event| !event.event.is_chunk()).take(room));
            if !more {
                break;
            }
        }
        Ok(events)
    }

    /// Returns the events with these sequence numbers, in this order, for instance those that a
    /// snapshot refers to. The cost depends on how many are requested, not on the journal's length.
    async fn read_events(
        &self,
        session: &SessionId,
        seqs: &[u64],
    ) -> Result<Vec<Envelope>, JournalError>;

    /// Returns the summary of a session without reading its journal, exact up to the last event.
    async fn head(&self, session: &SessionId) -> Result<SessionHead, JournalError>;

    /// Lists sessions, newest first, without reading journals.
    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, JournalError>;

    /// Creates a session with the events of another up to and including `at`, followed by `first`,
    /// and opens it for writing. When this returns, the session is synced; if it fails, the session
    /// does not exist.
    async fn fork(
        &self,
        parent: &SessionId,
        at: Cursor,
        child: &SessionId,
        first: &[Arc<Envelope>],
    ) -> Result<Box<dyn Journal>, JournalError>;

    /// Deletes a session and the blobs that only it refers to; returns whether it existed.
    async fn delete(&self, session: &SessionId) -> Result<bool, JournalError>;

    /// Returns the size of a session in bytes: its journal and what only it refers to, as far as
    /// the store can determine it cheaply.
    async fn bytes(&self, session: &SessionId) -> Result<u64, JournalError> {
        let events = self.read(session, 0, usize::MAX).await?;
        Ok(events.iter().map(|event| event.to_line().len() as u64 + 1).sum())
    }

    /// Returns when the session has, or may have, events after that sequence number. The caller
    /// reads, and waits again if there is nothing new. Used to follow a session that another
    /// process writes.
    ///
    /// # Errors
    /// [`JournalError::NotFound`] if the session does not exist, or is deleted meanwhile.
    async fn wait_past(&self, session: &SessionId, seq: u64) -> Result<(), JournalError> {
        // Polled: a store without a notification of its own cannot see events of another process
        // otherwise.
        while self.head(session).await?.last.seq <= seq {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Returns the blobs of a session.
    fn blobs(&self, session: &SessionId) -> Arc<dyn Blobs>;
}

/// Returns all events of a session after that sequence number, oldest first.
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

/// How many events are read at a time.
const PAGE: usize = 4_096;

/// Passes all events of a session after that sequence number, except chunks, to `each`, oldest first.
/// They are read in pages, so that a long journal need not fit into memory.
///
/// # Errors
/// When the store cannot be read.
pub async fn for_each_without_chunks(
    store: &dyn JournalStore,
    session: &SessionId,
    after_seq: u64,
    mut each: impl FnMut(&Envelope),
) -> Result<(), JournalError> {
    let mut after = after_seq;
    loop {
        let page = store.read_without_chunks(session, after, PAGE).await?;
        page.iter().for_each(&mut each);
        match page.last() {
            Some(last) if page.len() == PAGE => after = last.seq,
            _ => return Ok(()),
        }
    }
}
