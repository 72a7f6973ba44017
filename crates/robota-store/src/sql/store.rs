//! The store that both databases share.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use robota_core::blob::Blobs;
use robota_core::clock::Clock;
use robota_core::event::{Cursor, Envelope};
use robota_core::ids::{SessionId, SessionName};
use robota_core::journal::{
    Journal, JournalError, JournalStore, SessionFilter, SessionHead, SessionPage,
};

use super::append::Tail;
use super::blobs::SqlBlobs;
use super::ended_leases::EndedLeases;
use super::journal::SqlJournal;
use super::lease::{self, Lease, LeaseRequest};
use super::renew::Renewals;
use super::{Database, Query, Value, chain, fork, list, query, remove, work};
use crate::DurabilityLevel;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// Stores sessions in a database: [`SqliteStore`](crate::SqliteStore) or
/// [`PostgresStore`](crate::PostgresStore).
pub struct SqlStore<D> {
    database: Arc<D>,
    level: DurabilityLevel,
    ttl: Duration,
    clock: Arc<dyn Clock>,
    /// Shared by all clones, like the fields below: clones are one store.
    ended: Arc<EndedLeases>,
    renewals: Arc<Renewals<D>>,
    releases: Arc<Releases>,
    blob_writes: Arc<Semaphore>,
}

impl<D: Database> fmt::Debug for SqlStore<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlStore").field("place", &self.database.place()).finish_non_exhaustive()
    }
}

impl<D> Clone for SqlStore<D> {
    fn clone(&self) -> Self {
        Self {
            database: Arc::clone(&self.database),
            level: self.level,
            ttl: self.ttl,
            clock: Arc::clone(&self.clock),
            ended: Arc::clone(&self.ended),
            renewals: Arc::clone(&self.renewals),
            releases: Arc::clone(&self.releases),
            blob_writes: Arc::clone(&self.blob_writes),
        }
    }
}

/// Releases that are in progress, by session: the next writer of a session waits for its release.
#[derive(Default)]
pub(super) struct Releases(Mutex<HashMap<SessionId, Vec<JoinHandle<()>>>>);

impl Releases {
    pub(super) fn add(&self, session: &SessionId, release: JoinHandle<()>) {
        let mut releases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        releases.retain(|_, of| {
            of.retain(|release| !release.is_finished());
            !of.is_empty()
        });
        releases.entry(session.clone()).or_default().push(release);
    }

    async fn await_releases(&self, session: &SessionId) {
        let of = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
        for release in of.unwrap_or_default() {
            let _ = release.await;
        }
    }
}

#[expect(private_bounds, reason = "only databases of this crate implement the bound")]
impl<D: Database> SqlStore<D> {
    /// Creates the store in that database; `clock` dates its lease owners.
    pub(super) fn new(
        database: D,
        level: DurabilityLevel,
        ttl: Duration,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (database, ended) = (Arc::new(database), Arc::new(EndedLeases::new(ttl)));
        let renewals = Renewals::new(Arc::clone(&database), ttl);
        let blob_writes = Arc::new(Semaphore::new(database.blob_writes()));
        let releases = Arc::default();
        Self { database, level, ttl, clock, ended, renewals, releases, blob_writes }
    }

    fn request(&self) -> LeaseRequest {
        LeaseRequest {
            owner: crate::owner::lease_owner(&*self.clock),
            ttl: i64::try_from(self.ttl.as_millis()).unwrap_or(i64::MAX / 2),
            ended: Arc::clone(&self.ended),
        }
    }

    /// Reads events, with or without chunks.
    async fn read_page(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
        chunks: bool,
    ) -> Result<Vec<Envelope>, JournalError> {
        Self::check_name(session)?;
        let session = session.clone();
        let read = query(move |tx| {
            Box::pin(async move { chain::read(tx, &session, after, limit, chunks).await })
        });
        self.database.read(read).await
    }

    /// Fails with `NotFound` if the id is not a valid session name: no such session can exist.
    fn check_name(session: &SessionId) -> Result<(), JournalError> {
        match SessionName::parse(session.as_str()) {
            Ok(_) => Ok(()),
            Err(_) => Err(JournalError::NotFound(session.clone())),
        }
    }

    fn writer(&self, (lease, tail): (Lease, Tail)) -> Box<dyn Journal> {
        Box::new(SqlJournal::new(
            Arc::clone(&self.database),
            lease,
            tail,
            self.level,
            Arc::clone(&self.releases),
            Arc::clone(&self.renewals),
        ))
    }
}

#[async_trait::async_trait]
impl<D: Database> JournalStore for SqlStore<D> {
    async fn create(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError> {
        self.releases.await_releases(session).await;
        let (session, request) = (session.clone(), self.request());
        let claim = work(move |tx| {
            Box::pin(async move { lease::claim(tx, &session, &request, None).await })
        });
        // Durable at every level: if a crash of the database lost the lease, it would refuse the
        // writer.
        let lease = self.database.write(true, claim).await?;
        Ok(self.writer((lease, Tail::empty())))
    }

    async fn open(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError> {
        Self::check_name(session)?;
        self.releases.await_releases(session).await;
        let (session, request) = (session.clone(), self.request());
        let open =
            work(move |tx| Box::pin(async move { lease::open(tx, &session, &request).await }));
        Ok(self.writer(self.database.write(true, open).await?))
    }

    async fn read(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Envelope>, JournalError> {
        self.read_page(session, after, limit, true).await
    }

    async fn read_without_chunks(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Envelope>, JournalError> {
        self.read_page(session, after, limit, false).await
    }

    async fn read_events(
        &self,
        session: &SessionId,
        seqs: &[u64],
    ) -> Result<Vec<Envelope>, JournalError> {
        Self::check_name(session)?;
        let (session, seqs) = (session.clone(), seqs.to_vec());
        let events =
            query(move |tx| Box::pin(async move { chain::read_events(tx, &session, &seqs).await }));
        self.database.read(events).await
    }

    async fn head(&self, session: &SessionId) -> Result<SessionHead, JournalError> {
        Self::check_name(session)?;
        let session = session.clone();
        let head = query(move |tx| Box::pin(async move { chain::head(tx, &session).await }));
        Ok(self.database.read(head).await?.0)
    }

    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, JournalError> {
        let filter = filter.clone();
        let list = query(move |tx| Box::pin(async move { list::list(tx, &filter).await }));
        self.database.read(list).await
    }

    async fn fork(
        &self,
        parent: &SessionId,
        at: Cursor,
        child: &SessionId,
        first: &[Arc<Envelope>],
    ) -> Result<Box<dyn Journal>, JournalError> {
        Self::check_name(parent)?;
        self.releases.await_releases(child).await;
        let (parent, child, first) = (parent.clone(), child.clone(), first.to_vec());
        let request = self.request();
        let fork = work(move |tx| {
            Box::pin(async move { fork::fork(tx, &parent, at, (&child, &request), &first).await })
        });
        Ok(self.writer(self.database.write(self.level != DurabilityLevel::Relaxed, fork).await?))
    }

    async fn delete(&self, session: &SessionId) -> Result<bool, JournalError> {
        if Self::check_name(session).is_err() {
            return Ok(false);
        }
        self.releases.await_releases(session).await;
        let (session, ended) = (session.clone(), Arc::clone(&self.ended));
        let delete =
            work(move |tx| Box::pin(async move { remove::delete(tx, &session, &ended).await }));
        let durable = self.level != DurabilityLevel::Relaxed;
        let deletion = self.database.write(durable, delete).await?;
        if deletion.had_blobs {
            let sweep = work(|tx| Box::pin(remove::sweep(tx)));
            // The session is deleted. Blobs that could not be, because clients store some at the same
            // time, are deleted with the next session.
            let _ = self.database.write(durable, sweep).await;
        }
        Ok(deletion.existed)
    }

    async fn bytes(&self, session: &SessionId) -> Result<u64, JournalError> {
        Self::check_name(session)?;
        let session = session.clone();
        let head = query(move |tx| Box::pin(async move { chain::head(tx, &session).await }));
        Ok(u64::try_from(self.database.read(head).await?.1).unwrap_or_default())
    }

    async fn wait_past(&self, session: &SessionId, seq: u64) -> Result<(), JournalError> {
        Self::check_name(session)?;
        loop {
            // Subscribed before reading, so that no hint is missed.
            let mut hints = self.database.growth_hints();
            let name = session.clone();
            let end = query(move |tx| Box::pin(async move { end(tx, &name).await }));
            let (journal, last) = self.database.read(end).await?;
            if last > seq {
                return Ok(());
            }
            tokio::select! {
                () = tokio::time::sleep(jittered(D::POLL)) => {}
                () = hints.wait_for(journal) => {}
            }
        }
    }

    fn blobs(&self, session: &SessionId) -> Arc<dyn Blobs> {
        Arc::new(SqlBlobs {
            database: Arc::clone(&self.database),
            session: session.clone(),
            level: self.level,
            writes: Arc::clone(&self.blob_writes),
        })
    }
}

/// Returns the journal of a session, and the sequence number of its last event.
async fn end(tx: &mut dyn Query, session: &SessionId) -> Result<(i64, u64), JournalError> {
    let sql = "SELECT s.journal, l.last_seq FROM robota_sessions s \
               JOIN robota_leases l ON l.journal = s.journal \
               WHERE s.session = $1 AND s.head IS NOT NULL";
    let row = tx.first(sql, vec![Value::text(session.as_str())]).await?;
    let mut columns = row.ok_or_else(|| JournalError::NotFound(session.clone()))?;
    Ok((columns.int()?, u64::try_from(columns.int()?).unwrap_or_default()))
}

/// Varies a time by up to a fifth, so that many readers do not poll at the same moment.
fn jittered(time: Duration) -> Duration {
    let part = RandomState::new().hash_one(0) % 400;
    time.mul_f64(0.8 + f64::from(u32::try_from(part).unwrap_or_default()) / 1_000.0)
}
