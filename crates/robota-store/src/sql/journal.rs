//! A session open for writing.

use std::sync::Arc;
use std::time::Duration;

use robota_core::event::{Durability, Envelope};
use robota_core::journal::{Journal, JournalError};
use tokio_util::sync::CancellationToken;

use super::lease::{self, Lease};
use super::{Database, Work, append};
use crate::Level;
use crate::failpoint::failpoint;

/// A session open for writing. Its lease is renewed for as long as it lives; dropping it gives the
/// session free.
pub(super) struct SqlJournal<D: Database> {
    database: Arc<D>,
    lease: Arc<Lease>,
    level: Level,
    lost: CancellationToken,
    renewing: tokio::task::JoinHandle<()>,
    /// Whether an append failed of which it is not known whether it happened.
    doubtful: bool,
}

impl<D: Database> SqlJournal<D> {
    /// The writer that has this lease.
    pub(super) fn new(database: Arc<D>, lease: Lease, level: Level) -> Self {
        let (lease, lost) = (Arc::new(lease), CancellationToken::new());
        let renewing = tokio::spawn(renew(Arc::clone(&database), Arc::clone(&lease), lost.clone()));
        Self { database, lease, level, lost, renewing, doubtful: false }
    }
}

/// Renews a lease three times before it ends, each time. Whoever cannot renew it for as long as it
/// lasts has lost it, whoever has it then.
async fn renew<D: Database>(database: Arc<D>, lease: Arc<Lease>, lost: CancellationToken) {
    let ttl = Duration::from_millis(u64::try_from(lease.ttl).unwrap_or_default());
    let mut deadline = tokio::time::Instant::now() + ttl;
    while !lost.is_cancelled() {
        tokio::time::sleep(ttl / 3).await;
        let asked = tokio::time::Instant::now();
        let mine = Arc::clone(&lease);
        let work: Work<()> =
            Box::new(move |tx| Box::pin(async move { lease::renew(tx, &mine).await }));
        match tokio::time::timeout_at(deadline, database.write(false, work)).await {
            Ok(Ok(())) => deadline = asked + ttl,
            Ok(Err(JournalError::Lost { .. })) | Err(_) => lost.cancel(),
            Ok(Err(_)) if tokio::time::Instant::now() >= deadline => lost.cancel(),
            // The database may come back in time.
            Ok(Err(_)) => {}
        }
    }
}

#[async_trait::async_trait]
impl<D: Database> Journal for SqlJournal<D> {
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError> {
        let (lease, events) = (Arc::clone(&self.lease), events.to_vec());
        let doubtful = std::mem::replace(&mut self.doubtful, true);
        let work: Work<()> = Box::new(move |tx| {
            Box::pin(async move { append::append(tx, &lease, &events, doubtful).await })
        });
        let done = self.database.write(self.level.waits(durability), work).await;
        failpoint!("store.sql.append.after_commit");
        match &done {
            // The connection may have failed between the commit and its answer.
            Err(JournalError::Io { .. }) => {}
            Err(JournalError::Lost { .. }) => {
                self.lost.cancel();
                self.doubtful = doubtful;
            }
            Ok(()) => self.doubtful = false,
            Err(_) => self.doubtful = doubtful,
        }
        done
    }

    fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }
}

impl<D: Database> Drop for SqlJournal<D> {
    fn drop(&mut self) {
        self.renewing.abort();
        // Known here at once, whatever the database hears.
        self.lease.end();
        let lease = Arc::clone(&self.lease);
        self.database
            .later(Box::new(move |tx| Box::pin(async move { lease::release(tx, &lease).await })));
    }
}
