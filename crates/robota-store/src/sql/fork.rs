//! Forks: a journal that begins with another, by reference.

use std::sync::Arc;

use robota_core::event::{Cursor, Envelope};
use robota_core::ids::{SessionId, SessionName};
use robota_core::journal::{JournalError, Order, SessionHead, follows};

use super::append::{insert, known_before, update};
use super::chain::{self, Piece};
use super::lease::{Applicant, Lease, claim};
use super::{Tx, Value};
use crate::failpoint::failpoint;

/// So many events are folded at once.
const PAGE: usize = 2_000;

/// Begins a session with the events of another up to a point, followed by `first`.
pub(super) async fn fork(
    tx: &mut dyn Tx,
    parent: &SessionId,
    at: Cursor,
    child: (&SessionId, &Applicant),
    first: &[Arc<Envelope>],
) -> Result<Lease, JournalError> {
    let (child, applicant) = child;
    SessionName::parse(child.as_str())?;
    let (head, pieces) = chain::pieces(tx, parent).await?;
    let none = || JournalError::NoSuchEvent { session: parent.clone(), at };
    let (piece, event) = chain::event(tx, &pieces, at.seq).await?.ok_or_else(none)?;
    if event.cursor() != at {
        return Err(none());
    }
    follows(child, Order::After(at), first.iter().map(|event| &**event))?;
    let lease = claim(tx, child, applicant).await?;
    // Directly from the journal that has the event: a lineage gets no longer than it must.
    let sql = "UPDATE robota_journals SET parent = $2, parent_at = $3 WHERE id = $1";
    let values = vec![Value::Int(lease.journal), Value::Int(piece.journal), Value::seq(at.seq)];
    tx.execute(sql, values).await?;
    let head = if head.last == at { head } else { fold(tx, parent, &pieces, at).await? };
    let head = head.fork(child.clone(), at);
    let (head, bytes) = insert(tx, &lease, lease.journal, Some(head), first).await?;
    if let Some(head) = head {
        let now = tx.now().await?;
        update(tx, &lease, &head, bytes, now + applicant.ttl).await?;
    }
    let sql = "INSERT INTO robota_refs (session, sha256) \
               SELECT $1, sha256 FROM robota_refs WHERE session = $2";
    tx.execute(sql, vec![Value::text(child.as_str()), Value::text(parent.as_str())]).await?;
    failpoint!("store.sql.fork.before_commit");
    Ok(lease)
}

/// What was known at an event.
async fn fold(
    tx: &mut dyn Tx,
    session: &SessionId,
    pieces: &[Piece],
    at: Cursor,
) -> Result<SessionHead, JournalError> {
    let mut head = known_before(tx, pieces, at.seq).await?;
    loop {
        let after = head.as_ref().map_or(0, |head| head.last.seq);
        let events = chain::read(tx, pieces, after, PAGE).await?;
        let full = events.len() == PAGE;
        for event in events.iter().take_while(|event| event.seq <= at.seq) {
            match &mut head {
                Some(head) => head.apply(event),
                None => head = Some(SessionHead::begin(session.clone(), event)),
            }
        }
        let done = events.last().is_none_or(|event| event.seq >= at.seq) || !full;
        if done {
            let none = || JournalError::NoSuchEvent { session: session.clone(), at };
            let head = head.ok_or_else(none)?;
            return Ok(SessionHead { session: session.clone(), ..head });
        }
    }
}
