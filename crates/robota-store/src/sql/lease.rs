//! Leases: which process may write to a session, and for how long.
//!
//! A lease is a token in the session's lease row. A writer whose token differs from the row is no
//! longer the writer. Time only decides whether another writer may take the session: a lease that
//! expired and was not taken is renewed like any other.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use robota_core::event::Cursor;
use robota_core::ids::{SessionId, SessionName};
use robota_core::journal::{JournalError, LeaseOwner, LostReason, SessionHead};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::append::{StoredHead, Tail};
use super::chain::{self, head_of};
use super::ended_leases::{EndedLeases, Token, fresh_token};
use super::{Tx, Value};
use crate::failpoint::failpoint;

/// The maximum number of attempts to claim a session that is being released.
const MAX_TRIES: usize = 8;

/// A store's request for a lease.
#[derive(Debug, Clone)]
pub(super) struct LeaseRequest {
    /// This process, which the row will name as the owner.
    pub(super) owner: LeaseOwner,
    /// Duration of the lease in milliseconds.
    pub(super) ttl: i64,
    /// The leases of this store that no writer holds.
    pub(super) ended: Arc<EndedLeases>,
}

/// A lease that was granted. Dropping it records that no writer holds it, even if the database
/// never received the lease, or its answer was lost.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) session: SessionId,
    pub(super) journal: i64,
    pub(super) token: Token,
    pub(super) ttl: i64,
    /// When the last successful renewal was sent.
    pub(super) renewed: Mutex<Instant>,
    pub(super) lost: CancellationToken,
    pub(super) reason: OnceLock<LostReason>,
    pub(super) ended: Arc<EndedLeases>,
}

impl Lease {
    /// Records that no writer uses it.
    pub(super) fn end(&self) {
        self.ended.add(self.token);
    }

    /// Returns a token that is cancelled when the lease is lost.
    pub(super) fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }

    /// Returns why the lease was lost, if it was.
    pub(super) fn lost_error(&self) -> Option<JournalError> {
        let reason = self.reason.get()?.clone();
        Some(JournalError::Lost { session: self.session.clone(), reason })
    }

    /// Marks the lease as lost. The first reason is kept.
    pub(super) fn lose(&self, reason: LostReason) {
        let _ = self.reason.set(reason);
        self.lost.cancel();
    }

    /// Records a successful renewal that was sent at that time.
    pub(super) fn renewed(&self, sent_at: Instant) {
        let mut renewed = self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        // The time at which the renewal was sent, not answered: the database counts from some
        // moment in between.
        *renewed = sent_at.max(*renewed);
    }

    /// When the last successful renewal was sent.
    pub(super) fn last_renewed(&self) -> Instant {
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that the session's rows have this lease.
    pub(super) fn check(&self, row: Option<SessionRow>) -> Result<SessionRow, JournalError> {
        let reason = match row {
            Some(row) if row.token == self.token => return Ok(row),
            // The same journal with another token: another writer took the session over. Otherwise
            // the session was deleted, and its id may have been used again.
            Some(row) if row.journal == self.journal => LostReason::TakenOver { owner: row.owner },
            _ => LostReason::Deleted,
        };
        Err(JournalError::Lost { session: self.session.clone(), reason })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end();
    }
}

/// A lease that was not renewed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refused {
    pub(super) token: Token,
    pub(super) reason: LostReason,
}

impl Refused {
    /// Creates it from what the database has for the lease's journal: the owner of the lease there, if
    /// there is a session.
    pub(super) fn new(token: Token, is_stored: bool, owner: Option<LeaseOwner>) -> Self {
        // Without its journal the session was deleted, and its id may have been used again.
        let reason = if is_stored { LostReason::TakenOver { owner } } else { LostReason::Deleted };
        Self { token, reason }
    }
}

/// Converts the columns of a session's row that name the owner of its lease.
pub(super) fn owner_of(text: Option<&str>, process: Option<String>) -> Option<LeaseOwner> {
    text.map(|text| LeaseOwner { process, ..LeaseOwner::parse(text) })
}

/// The rows of a session, locked until the end of the transaction.
pub(super) struct SessionRow {
    pub(super) journal: i64,
    pub(super) head: Option<SessionHead>,
    pub(super) bytes: i64,
    pub(super) last: Option<Cursor>,
    /// The writer that has the lease, expired or not.
    pub(super) owner: Option<LeaseOwner>,
    token: Token,
    expires: Option<i64>,
}

impl SessionRow {
    /// Fails if another writer holds the lease. A process of this machine that has exited does not
    /// count, nor does a writer of this store that ended without the database knowing.
    pub(super) fn check_free(
        &self,
        session: &SessionId,
        now: i64,
        ended: &EndedLeases,
    ) -> Result<(), JournalError> {
        let leased = self.expires.is_some_and(|expires| expires > now);
        let Some(owner) = self.owner.as_ref().filter(|_| leased) else { return Ok(()) };
        let exited = || owner.process.as_deref().is_some_and(crate::process::has_exited);
        if ended.contains(self.token) || exited() {
            return Ok(());
        }
        Err(JournalError::Locked { session: session.clone(), owner: owner.clone() })
    }
}

/// Reads and locks the rows of a session; none if it has none. Locks the lease row first, in the
/// same order as an append.
pub(super) async fn lock_session_row(
    tx: &mut dyn Tx,
    session: &SessionId,
) -> Result<Option<SessionRow>, JournalError> {
    let id = Value::text(session.as_str());
    // In the order of an append, which locks the lease row first: two orders could deadlock.
    let sql = "SELECT journal, token, expires, last_seq, last_epoch FROM robota_leases \
               WHERE journal = (SELECT journal FROM robota_sessions WHERE session = $1) FOR UPDATE";
    let Some(mut lease) = tx.first(sql, vec![id.clone()]).await? else { return Ok(None) };
    let journal = lease.int()?;
    let sql = "SELECT head, bytes, lease, lease_process FROM robota_sessions \
               WHERE session = $1 AND journal = $2";
    let row = tx.first(sql, vec![id, Value::Int(journal)]).await?;
    let Some(mut columns) = row else { return Ok(None) };
    let head = columns.opt_text()?.map(|text| head_of(&text)).transpose()?;
    let bytes = columns.int()?;
    let (owner, process) = (columns.opt_text()?, columns.opt_text()?);
    let (token, expires) = (lease.int()?, lease.opt_int()?);
    let last = Cursor {
        seq: u64::try_from(lease.int()?).unwrap_or_default(),
        epoch: u32::try_from(lease.int()?).unwrap_or_default(),
    };
    Ok(Some(SessionRow {
        journal,
        head,
        bytes,
        last: (last.seq > 0).then_some(last),
        owner: owner_of(owner.as_deref(), process),
        token,
        expires,
    }))
}

/// Opens an existing session for writing.
pub(super) async fn open(
    tx: &mut dyn Tx,
    session: &SessionId,
    request: &LeaseRequest,
) -> Result<(Lease, Tail), JournalError> {
    let missing = || JournalError::NotFound(session.clone());
    let row = lock_session_row(tx, session).await?.ok_or_else(missing)?;
    if row.last.is_none() {
        return Err(missing());
    }
    let now = Now::of(tx).await?;
    row.check_free(session, now.database, &request.ended)?;
    let tail = Tail::load(tx, &row).await?;
    Ok((grant(tx, session, row.journal, request, now).await?, tail))
}

/// The time of the database, and when it was asked for.
#[derive(Clone, Copy)]
struct Now {
    database: i64,
    /// Before the time of the database, so that a lease ends here before it ends there.
    asked_at: Instant,
}

impl Now {
    async fn of(tx: &mut dyn Tx) -> Result<Self, JournalError> {
        let asked_at = Instant::now();
        Ok(Self { database: tx.now().await?, asked_at })
    }
}

async fn grant(
    tx: &mut dyn Tx,
    session: &SessionId,
    journal: i64,
    request: &LeaseRequest,
    now: Now,
) -> Result<Lease, JournalError> {
    // Created before the row is updated, so that dropping it records its end, also if the statement
    // fails.
    let lease = Lease {
        session: session.clone(),
        journal,
        token: fresh_token(),
        ttl: request.ttl,
        renewed: Mutex::new(now.asked_at),
        lost: CancellationToken::new(),
        reason: OnceLock::new(),
        ended: Arc::clone(&request.ended),
    };
    let sql = "UPDATE robota_leases SET token = $2, expires = $3 WHERE journal = $1";
    let values = [journal, lease.token, now.database + request.ttl];
    tx.execute(sql, values.map(Value::Int).to_vec()).await?;
    let sql = "UPDATE robota_sessions SET lease = $2, lease_process = $3 WHERE session = $1";
    let values = vec![
        Value::text(session.as_str()),
        Value::text(request.owner.to_string()),
        Value::opt_text(request.owner.process.as_deref()),
    ];
    tx.execute(sql, values).await?;
    failpoint!("store.sql.open.after_lease");
    Ok(lease)
}

/// Claims an id for a new session, which exists from its first event. `parent` is the journal that
/// a fork continues, and from which event.
pub(super) async fn claim(
    tx: &mut dyn Tx,
    session: &SessionId,
    request: &LeaseRequest,
    parent: Option<(i64, u64)>,
) -> Result<Lease, JournalError> {
    SessionName::parse(session.as_str())?;
    let journal = chain::new_journal(tx, parent).await?;
    for _ in 0..MAX_TRIES {
        // Insert the row first: of two processes that create the same session, one then waits for
        // the other.
        let sql = "INSERT INTO robota_sessions (session, journal) VALUES ($1, $2) \
                   ON CONFLICT (session) DO NOTHING";
        let values = vec![Value::text(session.as_str()), Value::Int(journal)];
        tx.execute(sql, values).await?;
        // None if the other process released the session in the meantime.
        let Some(row) = lock_session_row(tx, session).await? else { continue };
        let now = Now::of(tx).await?;
        row.check_free(session, now.database, &request.ended)?;
        if row.last.is_some() {
            return Err(JournalError::Exists(session.clone()));
        }
        if row.journal != journal {
            // Left by a writer that ended before its first event.
            let sql = "UPDATE robota_sessions SET journal = $2 WHERE session = $1";
            let values = vec![Value::text(session.as_str()), Value::Int(journal)];
            tx.execute(sql, values).await?;
            chain::drop_journal(tx, row.journal).await?;
        }
        return grant(tx, session, journal, request, now).await;
    }
    let place = format!("session `{session}`");
    Err(JournalError::io("create", place, "other processes create it at the same time"))
}

/// Releases a session, and completes what lists show of it. A session without events is deleted.
pub(super) async fn release(
    tx: &mut dyn Tx,
    lease: &Lease,
    head: Option<StoredHead>,
) -> Result<(), JournalError> {
    let row = lock_session_row(tx, &lease.session).await?;
    let Ok(row) = lease.check(row) else { return Ok(()) };
    let session = vec![Value::text(lease.session.as_str())];
    if row.last.is_none() {
        tx.execute("DELETE FROM robota_sessions WHERE session = $1", session).await?;
        return chain::drop_journal(tx, row.journal).await;
    }
    // A crash of the server may have lost events that this writer's head includes.
    // Only if the row ends where the head does, or the list would show events that do not exist.
    if let Some(head) = head.filter(|head| row.last == Some(head.last)) {
        head.write(tx, row.journal).await?;
    }
    let sql = "UPDATE robota_leases SET expires = NULL WHERE journal = $1";
    tx.execute(sql, vec![Value::Int(row.journal)]).await?;
    let sql = "UPDATE robota_sessions SET lease = NULL, lease_process = NULL WHERE session = $1";
    tx.execute(sql, session).await?;
    Ok(())
}

#[cfg(test)]
mod tests;
