//! Forks: a journal that continues another one, by reference.

use std::sync::Arc;

use robota_core::event::{Cursor, Durability, Envelope};
use robota_core::ids::{SessionId, SessionName};
use robota_core::journal::{JournalError, Order, SessionHead, follows};

use super::append::{Append, Tail};
use super::chain::{self, ChainPart, head_of};
use super::lease::{Lease, LeaseRequest, claim};
use super::{Query, Tx, Value};
use crate::failpoint::failpoint;

/// Creates a session that starts with the events of `parent` up to `at`, followed by `first`.
pub(super) async fn fork(
    tx: &mut dyn Tx,
    parent: &SessionId,
    at: Cursor,
    child: (&SessionId, &LeaseRequest),
    first: &[Arc<Envelope>],
) -> Result<(Lease, Tail), JournalError> {
    let (child, request) = child;
    SessionName::parse(child.as_str())?;
    // Locks the parent against deletion, but not against appends.
    let keep = "SELECT journal FROM robota_leases \
                WHERE journal = (SELECT journal FROM robota_sessions WHERE session = $1) \
                FOR KEY SHARE";
    tx.query(keep, vec![Value::text(parent.as_str())]).await?;
    let parts = chain::parts(tx, parent).await?;
    let none = || JournalError::NoSuchEvent { session: parent.clone(), at };
    let (part, event) = chain::event(tx, &parts, at.seq).await?.ok_or_else(none)?;
    if event.cursor() != at {
        return Err(none());
    }
    follows(child, Order::After(at), first.iter().map(|event| &**event))?;
    // The fork refers directly to the journal that has the event, so chains stay short.
    let lease = claim(tx, child, request, Some((part.journal, at.seq))).await?;
    let sql = "UPDATE robota_leases SET last_seq = $2, last_epoch = $3 WHERE journal = $1";
    let values = vec![Value::Int(lease.journal), Value::seq(at.seq), Value::Int(at.epoch.into())];
    tx.execute(sql, values).await?;
    let tail = Tail::fork(fold(tx, parent, &parts, at).await?.fork(child.clone(), at));
    let append = Append::new(&lease, &tail, first, Durability::Synced, true)?;
    if !append.run(tx).await? {
        return Err(none());
    }
    let sql = "INSERT INTO robota_refs (session, sha256) \
               SELECT $1, sha256 FROM robota_refs WHERE session = $2";
    tx.execute(sql, vec![Value::text(child.as_str()), Value::text(parent.as_str())]).await?;
    failpoint!("store.sql.fork.before_commit");
    Ok((lease, append.tail))
}

/// Folds the head of a session at an event, from the nearest stored head.
async fn fold(
    tx: &mut dyn Query,
    session: &SessionId,
    parts: &[ChainPart],
    at: Cursor,
) -> Result<SessionHead, JournalError> {
    let mut head = stored_before(tx, parts, at.seq).await?;
    loop {
        let after = head.as_ref().map_or(0, |head| head.last.seq);
        let left = usize::try_from(at.seq.saturating_sub(after)).unwrap_or(usize::MAX);
        let events = chain::read_parts(tx, parts, after, left.min(chain::PAGE), true).await?;
        for event in events.iter().take_while(|event| event.seq <= at.seq) {
            SessionHead::fold(&mut head, session, event);
        }
        if events.last().is_none_or(|event| event.seq >= at.seq) {
            let none = || JournalError::NoSuchEvent { session: session.clone(), at };
            let head = head.filter(|head| head.last == at).ok_or_else(none)?;
            return Ok(SessionHead { session: session.clone(), ..head });
        }
    }
}

/// Returns the nearest stored head at or before an event, in any of these parts.
async fn stored_before(
    tx: &mut dyn Query,
    parts: &[ChainPart],
    at: u64,
) -> Result<Option<SessionHead>, JournalError> {
    let sql = "SELECT head FROM robota_heads WHERE journal = $1 AND seq <= $2 \
               ORDER BY seq DESC LIMIT 1";
    for part in parts.iter().rev() {
        let values = vec![Value::Int(part.journal), Value::seq(part.to.min(at))];
        if let Some(mut head) = tx.first(sql, values).await? {
            return head_of(&head.text()?).map(Some);
        }
    }
    Ok(None)
}
