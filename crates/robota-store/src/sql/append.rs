//! Appending, in one transaction.

use std::sync::Arc;

use robota_core::event::Envelope;
use robota_core::journal::{JournalError, Order, SessionHead, follows};

use super::chain;
use super::lease::{Held, Lease, hold};
use super::{Columns, Tx, Value};
use crate::failpoint::failpoint;

/// What was known is kept about every so many events.
const HEAD_EVERY: u64 = 1_024;

/// Appends events. With `doubtful`, an append before this one may or may not have been committed:
/// those of its events that are there already are passed over.
pub(super) async fn append(
    tx: &mut dyn Tx,
    lease: &Lease,
    events: &[Arc<Envelope>],
    doubtful: bool,
) -> Result<(), JournalError> {
    let lost = || JournalError::Lost {
        session: lease.session.clone(),
        owner: "it was deleted".to_owned(),
    };
    let held = hold(tx, &lease.session).await?.ok_or_else(lost)?;
    let now = tx.now().await?;
    held.check(lease, now)?;
    let known = if doubtful { already_there(tx, &held, events).await? } else { 0 };
    let events = &events[known..];
    let order = held.last.map_or(Order::Empty, Order::After);
    follows(&lease.session, order, events.iter().map(|event| &**event))?;
    let (head, added) = insert(tx, lease, held.journal, held.head, events).await?;
    if let Some(head) = head {
        let bytes = held.bytes.saturating_add(added);
        update(tx, lease, &head, bytes, now + lease.ttl).await?;
    }
    failpoint!("store.sql.append.before_commit");
    Ok(())
}

/// How many of the first events are there already, byte for byte.
async fn already_there(
    tx: &mut dyn Tx,
    held: &Held,
    events: &[Arc<Envelope>],
) -> Result<usize, JournalError> {
    let last = held.last.map_or(0, |last| last.seq);
    let pieces = chain::lineage(tx, held.journal).await?;
    let mut count = 0_usize;
    for event in events.iter().take_while(|event| event.seq <= last) {
        match chain::event(tx, &pieces, event.seq).await? {
            Some((_, there)) if there == **event => count += 1,
            _ => break,
        }
    }
    // All of what came after, or it was something else.
    let covered = count.checked_sub(1).and_then(|at| events.get(at)).map(|event| event.seq);
    Ok(if covered == Some(last) { count } else { 0 })
}

/// Inserts events, and returns what is known after them and how many bytes they are.
pub(super) async fn insert(
    tx: &mut dyn Tx,
    lease: &Lease,
    journal: i64,
    head: Option<SessionHead>,
    events: &[Arc<Envelope>],
) -> Result<(Option<SessionHead>, i64), JournalError> {
    let sql = "INSERT INTO robota_events (journal, seq, line) VALUES ($1, $2, $3)";
    let mut head = head;
    let mut added = 0_i64;
    for event in events {
        let mut line = Vec::new();
        event.encode(&mut line).map_err(|error| JournalError::Io {
            action: "append to",
            place: format!("session `{}`", lease.session),
            reason: format!("event {} cannot be written: {error}", event.seq),
        })?;
        added = added.saturating_add(i64::try_from(line.len()).unwrap_or(i64::MAX));
        line.pop();
        tx.execute(sql, vec![Value::Int(journal), Value::seq(event.seq), Value::Bytes(line)])
            .await?;
        let known = match head.take() {
            Some(mut head) => {
                head.apply(event);
                head
            }
            None => SessionHead::begin(lease.session.clone(), event),
        };
        if event.seq % HEAD_EVERY == 0 {
            let sql = "INSERT INTO robota_heads (journal, seq, head) VALUES ($1, $2, $3)";
            let values =
                vec![Value::Int(journal), Value::seq(event.seq), Value::text(json(&known)?)];
            tx.execute(sql, values).await?;
        }
        head = Some(known);
    }
    Ok((head, added))
}

/// Keeps what is known of a session in its row.
pub(super) async fn update(
    tx: &mut dyn Tx,
    lease: &Lease,
    head: &SessionHead,
    bytes: i64,
    expires: i64,
) -> Result<(), JournalError> {
    let sql = "UPDATE robota_sessions SET head = $2, updated = $3, cwd = $4, last_seq = $5, \
               last_epoch = $6, bytes = $7, lease_expires = $8 WHERE session = $1";
    let values = vec![
        Value::text(lease.session.as_str()),
        Value::text(json(head)?),
        Value::Int(nanoseconds(head.updated)),
        Value::opt_text(head.cwd.as_deref()),
        Value::seq(head.last.seq),
        Value::Int(i64::from(head.last.epoch)),
        Value::Int(bytes),
        Value::Int(expires),
    ];
    tx.execute(sql, values).await?;
    Ok(())
}

/// The nearest state known at or before an event, in any of these pieces.
pub(super) async fn known_before(
    tx: &mut dyn Tx,
    pieces: &[chain::Piece],
    at: u64,
) -> Result<Option<SessionHead>, JournalError> {
    let sql = "SELECT head FROM robota_heads WHERE journal = $1 AND seq <= $2 \
               ORDER BY seq DESC LIMIT 1";
    for piece in pieces.iter().rev() {
        let values = vec![Value::Int(piece.journal), Value::seq(piece.to.min(at))];
        if let Some(row) = tx.query(sql, values).await?.into_iter().next() {
            return chain::head_of(&Columns::of(row).text()?).map(Some);
        }
    }
    Ok(None)
}

fn json(head: &SessionHead) -> Result<String, JournalError> {
    serde_json::to_string(head).map_err(|error| JournalError::Io {
        action: "write",
        place: "a session's row".to_owned(),
        reason: error.to_string(),
    })
}

/// A time as a number that sorts; exact until the year 2262.
pub(super) fn nanoseconds(time: jiff::Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or(if time.as_nanosecond() < 0 {
        i64::MIN
    } else {
        i64::MAX
    })
}
