//! The store as the rest of the world sees it.

use std::sync::Arc;

use futures::future::BoxFuture;
use robota_core::blob::Blobs;
use robota_core::clock::Clock;
use robota_core::event::{Cursor, Envelope};
use robota_core::ids::{SessionId, SessionName};
use robota_core::journal::{Journal, JournalError, SessionFilter, SessionHead, SessionPage};

use super::blobs::SqlBlobs;
use super::ended::Ended;
use super::journal::SqlJournal;
use super::lease::{self, Applicant, Lease};
use super::{Columns, Database, Tx, Value, Work, chain, fork, list, remove};
use crate::Level;

/// A store in a database.
pub(super) struct SqlStore<D> {
    pub(super) database: Arc<D>,
    level: Level,
    ttl: std::time::Duration,
    clock: Arc<dyn Clock>,
    /// Shared by all clones: they are one store.
    ended: Arc<Ended>,
}

impl<D> Clone for SqlStore<D> {
    fn clone(&self) -> Self {
        Self {
            database: Arc::clone(&self.database),
            level: self.level,
            ttl: self.ttl,
            clock: Arc::clone(&self.clock),
            ended: Arc::clone(&self.ended),
        }
    }
}

fn work<T: Send + 'static>(
    work: impl for<'a> FnOnce(&'a mut dyn Tx) -> BoxFuture<'a, Result<T, JournalError>> + Send + 'static,
) -> Work<T> {
    Box::new(work)
}

impl<D: Database> SqlStore<D> {
    /// The store in that database, whose owners' times are told by that clock.
    pub(super) fn new(
        database: D,
        level: Level,
        ttl: std::time::Duration,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (database, ended) = (Arc::new(database), Arc::new(Ended::new(ttl)));
        Self { database, level, ttl, clock, ended }
    }

    fn applicant(&self) -> Applicant {
        Applicant {
            owner: crate::owner::owner(&*self.clock),
            ttl: i64::try_from(self.ttl.as_millis()).unwrap_or(i64::MAX / 2),
            ended: Arc::clone(&self.ended),
        }
    }

    /// What cannot be the name of a session is the name of none.
    fn known(session: &SessionId) -> Result<(), JournalError> {
        match SessionName::parse(session.as_str()) {
            Ok(_) => Ok(()),
            Err(_) => Err(JournalError::NotFound(session.clone())),
        }
    }

    fn writer(&self, lease: Lease) -> Box<dyn Journal> {
        Box::new(SqlJournal::new(Arc::clone(&self.database), lease, self.level))
    }

    pub(super) async fn create(
        &self,
        session: &SessionId,
    ) -> Result<Box<dyn Journal>, JournalError> {
        let (session, applicant) = (session.clone(), self.applicant());
        let claim =
            work(move |tx| Box::pin(async move { lease::claim(tx, &session, &applicant).await }));
        // Safe, whatever the level: a database that forgot whose session it is refuses its writer.
        Ok(self.writer(self.database.write(true, claim).await?))
    }

    pub(super) async fn open(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError> {
        Self::known(session)?;
        let (session, applicant) = (session.clone(), self.applicant());
        let open =
            work(move |tx| Box::pin(async move { lease::open(tx, &session, &applicant).await }));
        let (lease, _) = self.database.write(true, open).await?;
        Ok(self.writer(lease))
    }

    pub(super) async fn read(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Envelope>, JournalError> {
        Self::known(session)?;
        let session = session.clone();
        let read = work(move |tx| {
            Box::pin(async move {
                let (_, pieces) = chain::pieces(tx, &session).await?;
                chain::read(tx, &pieces, after, limit).await
            })
        });
        self.database.read(read).await
    }

    pub(super) async fn pick(
        &self,
        session: &SessionId,
        seqs: &[u64],
    ) -> Result<Vec<Envelope>, JournalError> {
        Self::known(session)?;
        let (session, seqs) = (session.clone(), seqs.to_vec());
        let pick = work(move |tx| Box::pin(async move { chain::pick(tx, &session, &seqs).await }));
        self.database.read(pick).await
    }

    pub(super) async fn head(&self, session: &SessionId) -> Result<SessionHead, JournalError> {
        Self::known(session)?;
        let session = session.clone();
        let head =
            work(move |tx| Box::pin(async move { Ok(chain::pieces(tx, &session).await?.0) }));
        self.database.read(head).await
    }

    pub(super) async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, JournalError> {
        let filter = filter.clone();
        let list = work(move |tx| Box::pin(async move { list::list(tx, &filter).await }));
        self.database.read(list).await
    }

    pub(super) async fn fork(
        &self,
        parent: &SessionId,
        at: Cursor,
        child: &SessionId,
        first: &[Arc<Envelope>],
    ) -> Result<Box<dyn Journal>, JournalError> {
        Self::known(parent)?;
        let (parent, child, first) = (parent.clone(), child.clone(), first.to_vec());
        let applicant = self.applicant();
        let fork = work(move |tx| {
            Box::pin(async move { fork::fork(tx, &parent, at, (&child, &applicant), &first).await })
        });
        Ok(self.writer(self.database.write(self.level != Level::Relaxed, fork).await?))
    }

    pub(super) async fn delete(&self, session: &SessionId) -> Result<bool, JournalError> {
        if Self::known(session).is_err() {
            return Ok(false);
        }
        let (session, ended) = (session.clone(), Arc::clone(&self.ended));
        let delete =
            work(move |tx| Box::pin(async move { remove::delete(tx, &session, &ended).await }));
        self.database.write(self.level != Level::Relaxed, delete).await
    }

    pub(super) async fn bytes(&self, session: &SessionId) -> Result<u64, JournalError> {
        Self::known(session)?;
        let session = session.clone();
        let bytes = work(move |tx| {
            Box::pin(async move {
                let sql = "SELECT bytes FROM robota_sessions \
                           WHERE session = $1 AND head IS NOT NULL";
                let rows = tx.query(sql, vec![Value::text(session.as_str())]).await?;
                let row = rows.into_iter().next().ok_or(JournalError::NotFound(session))?;
                Ok(u64::try_from(Columns::of(row).int()?).unwrap_or_default())
            })
        });
        self.database.read(bytes).await
    }

    pub(super) fn blobs(&self, session: &SessionId) -> Arc<dyn Blobs> {
        Arc::new(SqlBlobs {
            database: Arc::clone(&self.database),
            session: session.clone(),
            level: self.level,
        })
    }
}

/// The port, for a store that has one of these inside.
macro_rules! delegate {
    ($store:ty) => {
        #[async_trait::async_trait]
        impl robota_core::journal::JournalStore for $store {
            async fn create(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError> {
                self.store.create(session).await
            }

            async fn open(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError> {
                self.store.open(session).await
            }

            async fn read(
                &self,
                session: &SessionId,
                after_seq: u64,
                limit: usize,
            ) -> Result<Vec<Envelope>, JournalError> {
                self.store.read(session, after_seq, limit).await
            }

            async fn pick(
                &self,
                session: &SessionId,
                seqs: &[u64],
            ) -> Result<Vec<Envelope>, JournalError> {
                self.store.pick(session, seqs).await
            }

            async fn head(&self, session: &SessionId) -> Result<SessionHead, JournalError> {
                self.store.head(session).await
            }

            async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, JournalError> {
                self.store.list(filter).await
            }

            async fn fork(
                &self,
                parent: &SessionId,
                at: Cursor,
                child: &SessionId,
                first: &[Arc<Envelope>],
            ) -> Result<Box<dyn Journal>, JournalError> {
                self.store.fork(parent, at, child, first).await
            }

            async fn delete(&self, session: &SessionId) -> Result<bool, JournalError> {
                self.store.delete(session).await
            }

            async fn bytes(&self, session: &SessionId) -> Result<u64, JournalError> {
                self.store.bytes(session).await
            }

            fn blobs(&self, session: &SessionId) -> Arc<dyn Blobs> {
                self.store.blobs(session)
            }
        }
    };
}
pub(super) use delegate;
