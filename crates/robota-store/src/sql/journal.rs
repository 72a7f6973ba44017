//! A session that is open for writing.

use std::sync::Arc;
use std::time::Duration;

use robota_core::event::{Durability, Envelope};
use robota_core::journal::{Journal, JournalError, Order, SessionHead, follows};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::append::{self, Append, AppendOutcome, Tail};
use super::lease::{self, Lease};
use super::renew::Renewals;
use super::store::Releases;
use super::{Database, TxWork, work};
use crate::DurabilityLevel;
use crate::failpoint::failpoint;

/// How often an append is tried if the lease row changes in the meantime.
const MAX_TRIES: usize = 4;

/// How long a release may take that its caller waits for.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);

/// A session that is open for writing. Its lease is renewed while this exists; dropping it releases
/// the session.
pub(super) struct SqlJournal<D: Database> {
    database: Arc<D>,
    lease: Arc<Lease>,
    level: DurabilityLevel,
    /// Where the session ends; none if it is unknown whether the last append was committed.
    tail: Option<Tail>,
    /// The sequence number of the first event, if this writer appended it.
    first: Option<u64>,
    releases: Arc<Releases>,
    /// Whether the release was sent.
    released: bool,
    /// Keeps the task that renews the lease alive.
    _renewals: Arc<Renewals<D>>,
}

impl<D: Database> SqlJournal<D> {
    /// Creates the writer that has this lease, for a session with that tail.
    pub(super) fn new(
        database: Arc<D>,
        lease: Lease,
        tail: Tail,
        level: DurabilityLevel,
        releases: Arc<Releases>,
        renewals: Arc<Renewals<D>>,
    ) -> Self {
        let lease = Arc::new(lease);
        renewals.add(&lease);
        Self {
            database,
            lease,
            level,
            tail: Some(tail),
            first: None,
            releases,
            released: false,
            _renewals: renewals,
        }
    }

    /// Returns the transaction that releases the session; none if it was returned already.
    fn take_release(&mut self) -> Option<TxWork<()>> {
        if std::mem::replace(&mut self.released, true) {
            return None;
        }
        // Recorded here first, because the database may not receive the release.
        self.lease.end();
        let (lease, head) = (Arc::clone(&self.lease), self.tail.take());
        let head = head.and_then(|tail| tail.unstored());
        Some(work(move |tx| Box::pin(async move { lease::release(tx, &lease, head).await })))
    }

    /// Finds out where the session ends, and how many of the events are stored already.
    async fn reload(&self, events: &[Arc<Envelope>]) -> Result<(Tail, usize), JournalError> {
        let (lease, first, events) = (Arc::clone(&self.lease), self.first, events.to_vec());
        let reload = work(move |tx| {
            Box::pin(async move { append::reload(tx, &lease, first, &events).await })
        });
        self.database.write(false, reload).await
    }

    async fn try_append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError> {
        let mut events = events;
        let mut commit_unknown = false;
        for _ in 0..MAX_TRIES {
            // Taken out: unless this attempt finishes, the tail is unknown.
            let tail = match self.tail.take().filter(|tail| continues(tail, events)) {
                Some(tail) => tail,
                None => {
                    let (tail, stored) = self.reload(events).await?;
                    events = &events[stored..];
                    tail
                }
            };
            let order = tail.order();
            if let Err(error) =
                follows(&self.lease.session, order, events.iter().map(|event| &**event))
            {
                self.tail = Some(tail);
                return Err(error);
            }
            // A journal without events accepts any number, so a writer would not notice that a crash
            // of the database lost its first ones.
            let durability = if tail.last.is_none() { Durability::Synced } else { durability };
            let durable = self.level.waits(durability);
            let append = Arc::new(Append::new(&self.lease, &tail, events, durability, durable)?);
            let sent_at = Instant::now();
            match self.database.append(Arc::clone(&append)).await? {
                AppendOutcome::Done => {
                    self.lease.renewed(sent_at);
                    if let (Order::Empty, Some(first)) = (order, events.first()) {
                        self.first = Some(first.seq);
                    }
                    self.tail = Some(append.tail.clone());
                    return Ok(());
                }
                // The reload in the next iteration finds out why.
                AppendOutcome::Refused => {}
                // The same events may be appended again, whether or not they were stored.
                AppendOutcome::CommitUnknown(error) => {
                    if std::mem::replace(&mut commit_unknown, true) {
                        return Err(error);
                    }
                }
            }
        }
        let place = format!("session `{}`", self.lease.session);
        Err(JournalError::io("append to", place, "its rows kept changing during the append"))
    }
}

/// Returns whether the events directly follow the tail, so that nothing stored must be compared.
fn continues(tail: &Tail, events: &[Arc<Envelope>]) -> bool {
    match (tail.last, events.first()) {
        (Some(last), Some(first)) => last.seq.checked_add(1) == Some(first.seq),
        _ => true,
    }
}

#[async_trait::async_trait]
impl<D: Database> Journal for SqlJournal<D> {
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError> {
        if let Some(lost) = self.lease.lost_error() {
            return Err(lost);
        }
        let done = self.try_append(events, durability).await;
        failpoint!("store.sql.append.after_commit");
        if let Err(JournalError::Lost { reason, .. }) = &done {
            self.lease.lose(reason.clone());
        }
        done
    }

    fn head(&self) -> Option<SessionHead> {
        self.tail.as_ref().and_then(Tail::head)
    }

    fn lost(&self) -> CancellationToken {
        self.lease.lost()
    }

    fn lost_error(&self) -> Option<JournalError> {
        self.lease.lost_error()
    }

    async fn release(mut self: Box<Self>) {
        // A lease that is lost has nothing to release, and its database may not answer.
        if self.lease.lost_error().is_some() {
            return;
        }
        if let Some(release) = self.take_release() {
            let released = self.database.write(false, release);
            // A failure is harmless for this store, which remembers which of its leases ended.
            // Others wait until the lease expires.
            let _ = tokio::time::timeout(RELEASE_TIMEOUT, released).await;
        }
    }
}

impl<D: Database> Drop for SqlJournal<D> {
    fn drop(&mut self) {
        if let Some(release) = self.take_release()
            && let Some(task) = self.database.spawn_write(release)
        {
            self.releases.add(&self.lease.session, task);
        }
    }
}
