//! From a session to its events: its own, after those of the journals it was forked from.

use std::collections::HashMap;

use robota_core::event::{Cursor, DecodeError, Envelope};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, SessionHead};

use super::{Columns, Tx, Value};

/// A journal is made of so many others at most; deeper is damage, or a circle.
const DEEPEST: usize = 10_000;

/// So many events are fetched at once.
const PAGE: usize = 2_000;

/// A part of a session's events: those of one journal up to a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) journal: i64,
    /// The last of them; the end when it is the session's own.
    pub(super) to: u64,
}

/// A journal without events, perhaps one that begins with another up to a number.
pub(super) async fn new_journal(
    tx: &mut dyn Tx,
    parent: Option<(i64, u64)>,
) -> Result<i64, JournalError> {
    let id = tx.fresh_journal().await?;
    let sql = "INSERT INTO robota_journals (id, parent, parent_at) VALUES ($1, $2, $3)";
    let (parent, at) = match parent {
        Some((parent, at)) => (Value::Int(parent), Value::seq(at)),
        None => (Value::Null, Value::Null),
    };
    tx.execute(sql, vec![Value::Int(id), parent, at]).await?;
    Ok(id)
}

/// Removes a journal that nobody needs, and those it began with that nobody else needs.
pub(super) async fn drop_journal(tx: &mut dyn Tx, journal: i64) -> Result<(), JournalError> {
    let mut next = Some(journal);
    while let Some(journal) = next.take() {
        let id = || vec![Value::Int(journal)];
        let used = "SELECT 1 FROM robota_sessions WHERE journal = $1";
        if !tx.query(used, id()).await?.is_empty() {
            break;
        }
        let forked = "SELECT CAST(MAX(parent_at) AS BIGINT) FROM robota_journals WHERE parent = $1";
        let forked = tx.query(forked, id()).await?.into_iter().next();
        let needed = forked.map_or(Ok(None), |row| Columns::of(row).opt_int())?;
        if let Some(needed) = needed {
            // Forks need its beginning only.
            let sql = "DELETE FROM robota_events WHERE journal = $1 AND seq > $2";
            tx.execute(sql, vec![Value::Int(journal), Value::Int(needed)]).await?;
            break;
        }
        let parent = "SELECT parent FROM robota_journals WHERE id = $1";
        let parent = tx.query(parent, id()).await?.into_iter().next();
        next = parent.map_or(Ok(None), |row| Columns::of(row).opt_int())?;
        for sql in [
            "DELETE FROM robota_events WHERE journal = $1",
            "DELETE FROM robota_heads WHERE journal = $1",
            "DELETE FROM robota_raw WHERE journal = $1",
            "DELETE FROM robota_journals WHERE id = $1",
        ] {
            tx.execute(sql, id()).await?;
        }
    }
    Ok(())
}

/// What is known of a session, and the pieces it is made of, oldest first.
pub(super) async fn pieces(
    tx: &mut dyn Tx,
    session: &SessionId,
) -> Result<(SessionHead, Vec<Piece>), JournalError> {
    let missing = || JournalError::NotFound(session.clone());
    let sql = "SELECT journal, head FROM robota_sessions WHERE session = $1";
    let rows = tx.query(sql, vec![Value::text(session.as_str())]).await?;
    let mut columns = Columns::of(rows.into_iter().next().ok_or_else(missing)?);
    let journal = columns.int()?;
    let head = head_of(&columns.opt_text()?.ok_or_else(missing)?)?;
    Ok((head, lineage(tx, journal).await?))
}

/// The pieces a journal is made of, oldest first.
pub(super) async fn lineage(tx: &mut dyn Tx, journal: i64) -> Result<Vec<Piece>, JournalError> {
    let mut pieces = vec![Piece { journal, to: u64::MAX }];
    let mut at = journal;
    let sql = "SELECT parent, parent_at FROM robota_journals WHERE id = $1";
    while pieces.len() < DEEPEST {
        let rows = tx.query(sql, vec![Value::Int(at)]).await?;
        let Some(row) = rows.into_iter().next() else { break };
        let mut columns = Columns::of(row);
        let (Some(parent), Some(to)) = (columns.opt_int()?, columns.opt_int()?) else { break };
        pieces.push(Piece { journal: parent, to: u64::try_from(to).unwrap_or_default() });
        at = parent;
    }
    pieces.reverse();
    Ok(pieces)
}

/// The events after a number, oldest first.
pub(super) async fn read(
    tx: &mut dyn Tx,
    pieces: &[Piece],
    after: u64,
    limit: usize,
) -> Result<Vec<Envelope>, JournalError> {
    let mut events: Vec<Envelope> = Vec::new();
    let sql = "SELECT line FROM robota_events WHERE journal = $1 AND seq > $2 AND seq <= $3 \
               ORDER BY seq LIMIT $4";
    let mut from = after;
    for piece in pieces.iter().filter(|piece| piece.to > after) {
        while events.len() < limit {
            let page = PAGE.min(limit - events.len());
            let values = vec![
                Value::Int(piece.journal),
                Value::seq(from),
                Value::seq(piece.to),
                Value::seq(page as u64),
            ];
            let rows = tx.query(sql, values).await?;
            let full = rows.len() == page;
            for row in rows {
                let event = decode(&Columns::of(row).bytes()?)?;
                from = event.seq;
                events.push(event);
            }
            if !full {
                break;
            }
        }
    }
    Ok(events)
}

/// The event of that number, if there is one.
pub(super) async fn event(
    tx: &mut dyn Tx,
    pieces: &[Piece],
    seq: u64,
) -> Result<Option<(Piece, Envelope)>, JournalError> {
    let sql = "SELECT line FROM robota_events WHERE journal = $1 AND seq = $2";
    let Some(piece) = pieces.iter().find(|piece| seq <= piece.to).copied() else { return Ok(None) };
    let rows = tx.query(sql, vec![Value::Int(piece.journal), Value::seq(seq)]).await?;
    let Some(row) = rows.into_iter().next() else { return Ok(None) };
    Ok(Some((piece, decode(&Columns::of(row).bytes()?)?)))
}

/// The events with these numbers, in their order.
pub(super) async fn pick(
    tx: &mut dyn Tx,
    session: &SessionId,
    seqs: &[u64],
) -> Result<Vec<Envelope>, JournalError> {
    let (_, pieces) = pieces(tx, session).await?;
    let mut found: HashMap<u64, Envelope> = HashMap::with_capacity(seqs.len());
    for seq in seqs {
        if !found.contains_key(seq) {
            let at = Cursor { epoch: 0, seq: *seq };
            let missing = || JournalError::NoSuchEvent { session: session.clone(), at };
            let (_, event) = event(tx, &pieces, *seq).await?.ok_or_else(missing)?;
            found.insert(*seq, event);
        }
    }
    Ok(seqs.iter().filter_map(|seq| found.get(seq).cloned()).collect())
}

pub(super) fn head_of(text: &str) -> Result<SessionHead, JournalError> {
    serde_json::from_str(text).map_err(|error| JournalError::Damaged {
        place: "a session's row".to_owned(),
        reason: error.to_string(),
    })
}

fn decode(line: &[u8]) -> Result<Envelope, JournalError> {
    Envelope::decode(line).map_err(|error| {
        let (place, reason) = ("an event's row".to_owned(), error.to_string());
        match error {
            // Not damage.
            DecodeError::NewerReader { .. } => JournalError::Io { action: "read", place, reason },
            DecodeError::Torn | DecodeError::Checksum { .. } | DecodeError::Malformed(_) => {
                JournalError::Damaged { place, reason }
            }
        }
    })
}
