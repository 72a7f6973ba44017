//! Who may write to a session, and for how long.

use std::sync::Arc;

use robota_core::event::Cursor;
use robota_core::ids::{SessionId, SessionName};
use robota_core::journal::{JournalError, SessionHead};

use super::chain::{self, head_of};
use super::ended::{Ended, Token, fresh_token};
use super::{Columns, Tx, Value};
use crate::failpoint::failpoint;

/// Somebody who asks for a lease.
#[derive(Debug, Clone)]
pub(super) struct Applicant {
    /// Who it is, as others are told.
    pub(super) owner: String,
    /// For how long, in milliseconds.
    pub(super) ttl: i64,
    /// What the store had and nobody has any more.
    pub(super) ended: Arc<Ended>,
}

/// A lease that was given. It may be that the database never heard of it, or that its answer was
/// lost; whichever it is, the store knows that nobody has it once this is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) session: SessionId,
    pub(super) journal: i64,
    /// Whoever has another one than the session's row is not the writer any more.
    token: Token,
    pub(super) ttl: i64,
    ended: Arc<Ended>,
}

impl Lease {
    /// Nobody will write with it any more.
    pub(super) fn end(&self) {
        self.ended.add(self.token);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end();
    }
}

/// A session's row, locked until the end of the transaction.
pub(super) struct Held {
    pub(super) journal: i64,
    pub(super) head: Option<SessionHead>,
    pub(super) last: Option<Cursor>,
    pub(super) bytes: i64,
    lease: Option<String>,
    process: Option<String>,
    token: Token,
    expires: Option<i64>,
}

impl Held {
    fn is_leased(&self, now: i64) -> bool {
        self.lease.is_some() && self.expires.is_some_and(|expires| expires > now)
    }

    /// Somebody has it. A process of this machine that is gone has nothing, nor has a writer of
    /// the store that asks whose end the database did not hear of.
    pub(super) fn locked(
        &self,
        session: &SessionId,
        now: i64,
        ended: &Ended,
    ) -> Result<(), JournalError> {
        let gone = || self.process.as_deref().is_some_and(crate::process::is_gone);
        if !self.is_leased(now) || ended.has(self.token) || gone() {
            return Ok(());
        }
        let owner = self.lease.clone().unwrap_or_default();
        Err(JournalError::Locked { session: session.clone(), owner })
    }

    /// That lease is not the writer's any more, or ran out.
    pub(super) fn check(&self, lease: &Lease, now: i64) -> Result<(), JournalError> {
        if self.token == lease.token && self.is_leased(now) {
            return Ok(());
        }
        let owner = match &self.lease {
            Some(owner) if self.token != lease.token => format!("by {owner}"),
            _ if self.token != lease.token => "by a writer that is done by now".to_owned(),
            _ => "its lease ran out".to_owned(),
        };
        Err(JournalError::Lost { session: lease.session.clone(), owner })
    }
}

/// The row of a session, locked against other writers; none when there is none.
pub(super) async fn hold(
    tx: &mut dyn Tx,
    session: &SessionId,
) -> Result<Option<Held>, JournalError> {
    let sql = "SELECT journal, head, last_seq, last_epoch, bytes, lease, lease_process, \
               lease_token, lease_expires FROM robota_sessions WHERE session = $1 FOR UPDATE";
    let rows = tx.query(sql, vec![Value::text(session.as_str())]).await?;
    let Some(row) = rows.into_iter().next() else { return Ok(None) };
    let mut columns = Columns::of(row);
    let journal = columns.int()?;
    let head = columns.opt_text()?.map(|text| head_of(&text)).transpose()?;
    let (seq, epoch) = (columns.opt_int()?, columns.opt_int()?);
    let last = seq.zip(epoch).map(|(seq, epoch)| Cursor {
        seq: u64::try_from(seq).unwrap_or_default(),
        epoch: u32::try_from(epoch).unwrap_or_default(),
    });
    Ok(Some(Held {
        journal,
        head,
        last,
        bytes: columns.int()?,
        lease: columns.opt_text()?,
        process: columns.opt_text()?,
        token: columns.int()?,
        expires: columns.opt_int()?,
    }))
}

/// Takes a session that is there, and says what is known of it.
pub(super) async fn open(
    tx: &mut dyn Tx,
    session: &SessionId,
    applicant: &Applicant,
) -> Result<(Lease, SessionHead), JournalError> {
    let missing = || JournalError::NotFound(session.clone());
    let held = hold(tx, session).await?.ok_or_else(missing)?;
    let head = held.head.clone().ok_or_else(missing)?;
    let now = tx.now().await?;
    held.locked(session, now, &applicant.ended)?;
    Ok((give(tx, session, &held, applicant, now).await?, head))
}

async fn give(
    tx: &mut dyn Tx,
    session: &SessionId,
    held: &Held,
    applicant: &Applicant,
    now: i64,
) -> Result<Lease, JournalError> {
    let token = fresh_token();
    // Before the row says so: what becomes of the statement need not be known.
    let ended = Arc::clone(&applicant.ended);
    let (journal, ttl) = (held.journal, applicant.ttl);
    let lease = Lease { session: session.clone(), journal, token, ttl, ended };
    let sql = "UPDATE robota_sessions SET lease = $2, lease_token = $3, lease_expires = $4, \
               lease_process = $5 WHERE session = $1";
    let values = vec![
        Value::text(session.as_str()),
        Value::text(&*applicant.owner),
        Value::Int(token),
        Value::Int(now + applicant.ttl),
        Value::opt_text(crate::process::ourselves()),
    ];
    tx.execute(sql, values).await?;
    failpoint!("store.sql.open.after_lease");
    Ok(lease)
}

/// Takes an id for a new session, which exists from its first event.
pub(super) async fn claim(
    tx: &mut dyn Tx,
    session: &SessionId,
    applicant: &Applicant,
) -> Result<Lease, JournalError> {
    SessionName::parse(session.as_str())?;
    // First the row, so that of two who begin the same session one waits for the other.
    let journal = chain::new_journal(tx, None).await?;
    let sql = "INSERT INTO robota_sessions (session, journal) VALUES ($1, $2) \
               ON CONFLICT (session) DO NOTHING";
    let values = vec![Value::text(session.as_str()), Value::Int(journal)];
    let made = tx.execute(sql, values).await? > 0;
    let missing = || JournalError::NotFound(session.clone());
    let held = hold(tx, session).await?.ok_or_else(missing)?;
    let now = tx.now().await?;
    held.locked(session, now, &applicant.ended)?;
    if held.head.is_some() {
        return Err(JournalError::Exists(session.clone()));
    }
    if !made {
        // What a writer left that died before its first event.
        chain::drop_journal(tx, journal).await?;
    }
    give(tx, session, &held, applicant, now).await
}

/// Goes on having a session.
pub(super) async fn renew(tx: &mut dyn Tx, lease: &Lease) -> Result<(), JournalError> {
    let lost = || JournalError::Lost {
        session: lease.session.clone(),
        owner: "it was deleted".to_owned(),
    };
    let held = hold(tx, &lease.session).await?.ok_or_else(lost)?;
    let now = tx.now().await?;
    held.check(lease, now)?;
    let sql = "UPDATE robota_sessions SET lease_expires = $2 WHERE session = $1";
    let values = vec![Value::text(lease.session.as_str()), Value::Int(now + lease.ttl)];
    tx.execute(sql, values).await?;
    Ok(())
}

/// Gives a session free. One without events is gone.
pub(super) async fn release(tx: &mut dyn Tx, lease: &Lease) -> Result<(), JournalError> {
    let Some(held) = hold(tx, &lease.session).await? else { return Ok(()) };
    if held.token != lease.token {
        return Ok(());
    }
    let session = vec![Value::text(lease.session.as_str())];
    if held.head.is_none() {
        tx.execute("DELETE FROM robota_sessions WHERE session = $1", session).await?;
        return chain::drop_journal(tx, held.journal).await;
    }
    let sql = "UPDATE robota_sessions SET lease = NULL, lease_process = NULL, \
               lease_expires = NULL WHERE session = $1";
    tx.execute(sql, session).await?;
    Ok(())
}
