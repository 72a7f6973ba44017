//! Finds the events of a session: its own, and those of the journals it was forked from.

use std::fmt::Write as _;

use robota_core::event::{Cursor, DecodeError, Envelope, TYPE_FIELD, chunk_kinds};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, SessionHead};

use super::{Columns, Query, Row, Tx, Value, int};

/// How many events are fetched at a time.
pub(super) const PAGE: usize = 500;

/// Returns a query over the chain of journals that a session or a journal (`seed`) consists of. A
/// chain of more than 10,000 is damage, or a cycle.
macro_rules! chain {
    ($seed:literal, $select:literal) => {
        concat!(
            "WITH RECURSIVE chain (journal, upto, depth) AS (SELECT ",
            $seed,
            " UNION ALL SELECT j.parent, j.parent_at, chain.depth + 1 \
              FROM chain JOIN robota_journals j ON j.id = chain.journal \
              WHERE j.parent IS NOT NULL AND chain.depth < 10000) ",
            $select
        )
    };
}

// A cross join keeps SQLite from scanning all events: it takes the journals first and searches the
// events of each by the primary key.

/// The lines of a range of events of a journal and its ancestors.
pub(super) const LINES: &str = chain!(
    "CAST($1 AS BIGINT), CAST(NULL AS BIGINT), 0",
    "SELECT e.line FROM chain CROSS JOIN robota_events e WHERE e.journal = chain.journal \
     AND e.seq >= $2 AND e.seq < $3 AND (chain.upto IS NULL OR e.seq <= chain.upto) \
     ORDER BY e.seq"
);

/// The lines of some events of a session, oldest first.
pub(super) const EVENTS: &str = chain!(
    "journal, CAST(NULL AS BIGINT), 0 FROM robota_sessions \
     WHERE session = $1 AND head IS NOT NULL",
    "SELECT e.line FROM chain CROSS JOIN robota_events e WHERE e.journal = chain.journal \
     AND e.seq = ANY($2) AND (chain.upto IS NULL OR e.seq <= chain.upto) ORDER BY e.seq"
);

/// A part of a session's events: those of one journal up to a sequence number.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainPart {
    pub(super) journal: i64,
    /// The last event of the part; `u64::MAX` for the session's own journal.
    pub(super) to: u64,
}

/// Creates a journal without events and its lease row. `parent` is the journal it continues, and
/// from which sequence number.
pub(super) async fn new_journal(
    tx: &mut dyn Tx,
    parent: Option<(i64, u64)>,
) -> Result<i64, JournalError> {
    let id = tx.new_journal_id().await?;
    let sql = "INSERT INTO robota_journals (id, parent, parent_at) VALUES ($1, $2, $3)";
    let (parent, at) = match parent {
        Some((parent, at)) => (Value::Int(parent), Value::seq(at)),
        None => (Value::Null, Value::Null),
    };
    tx.execute(sql, vec![Value::Int(id), parent, at]).await?;
    let sql = "INSERT INTO robota_leases (journal, token, last_seq, last_epoch) \
               VALUES ($1, 0, 0, 0)";
    tx.execute(sql, vec![Value::Int(id)]).await?;
    Ok(id)
}

/// Deletes a journal that no session uses, and its ancestors that nothing else needs.
pub(super) async fn drop_journal(tx: &mut dyn Tx, journal: i64) -> Result<(), JournalError> {
    tx.execute("DELETE FROM robota_leases WHERE journal = $1", vec![Value::Int(journal)]).await?;
    let mut next = Some(journal);
    while let Some(journal) = next.take() {
        let id = || vec![Value::Int(journal)];
        let used = "SELECT 1 FROM robota_sessions WHERE journal = $1";
        if !tx.query(used, id()).await?.is_empty() {
            break;
        }
        let forked = "SELECT CAST(MAX(parent_at) AS BIGINT) FROM robota_journals WHERE parent = $1";
        let forked = tx.first(forked, id()).await?;
        if let Some(needed) = forked.map_or(Ok(None), |mut row| row.opt_int())? {
            // Forks need only the beginning.
            let sql = "DELETE FROM robota_events WHERE journal = $1 AND seq > $2";
            tx.execute(sql, vec![Value::Int(journal), Value::Int(needed)]).await?;
            break;
        }
        let parent = "SELECT parent FROM robota_journals WHERE id = $1";
        let parent = tx.first(parent, id()).await?;
        next = parent.map_or(Ok(None), |mut row| row.opt_int())?;
        for sql in [
            "DELETE FROM robota_events WHERE journal = $1",
            "DELETE FROM robota_heads WHERE journal = $1",
            "DELETE FROM robota_journals WHERE id = $1",
        ] {
            tx.execute(sql, id()).await?;
        }
    }
    Ok(())
}

/// Returns the parts that a session with events consists of, oldest first.
pub(super) async fn parts(
    tx: &mut dyn Query,
    session: &SessionId,
) -> Result<Vec<ChainPart>, JournalError> {
    let sql = chain!(
        "journal, CAST(NULL AS BIGINT), 0 FROM robota_sessions \
         WHERE session = $1 AND head IS NOT NULL",
        "SELECT journal, upto FROM chain ORDER BY depth DESC"
    );
    let rows = tx.query(sql, vec![Value::text(session.as_str())]).await?;
    if rows.is_empty() {
        return Err(JournalError::NotFound(session.clone()));
    }
    rows.into_iter()
        .map(|row| {
            let mut columns = Columns::of(row);
            let (journal, to) = (columns.int()?, columns.opt_int()?);
            let to = to.map_or(u64::MAX, |to| u64::try_from(to).unwrap_or_default());
            Ok(ChainPart { journal, to })
        })
        .collect()
}

/// Reads the head of a session, exact up to its last event, and the size of its own events.
pub(super) async fn head(
    tx: &mut dyn Query,
    session: &SessionId,
) -> Result<(SessionHead, i64), JournalError> {
    let sql = "SELECT s.journal, s.head, s.bytes, l.last_seq FROM robota_sessions s \
               JOIN robota_leases l ON l.journal = s.journal \
               WHERE s.session = $1 AND s.head IS NOT NULL";
    let row = tx.first(sql, vec![Value::text(session.as_str())]).await?;
    let mut columns = row.ok_or_else(|| JournalError::NotFound(session.clone()))?;
    let (journal, head, bytes) = (columns.int()?, head_of(&columns.text()?)?, columns.int()?);
    if u64::try_from(columns.int()?).is_ok_and(|last| last <= head.last.seq) {
        return Ok((head, bytes));
    }
    fold_rest(tx, journal, head, bytes).await
}

/// Folds the events of a journal that follow its stored head; there are few.
pub(super) async fn fold_rest(
    tx: &mut dyn Query,
    journal: i64,
    mut head: SessionHead,
    mut bytes: i64,
) -> Result<(SessionHead, i64), JournalError> {
    let sql = "SELECT line FROM robota_events WHERE journal = $1 AND seq > $2 ORDER BY seq";
    let rows = tx.query(sql, vec![Value::Int(journal), Value::seq(head.last.seq)]).await?;
    for row in rows {
        let line = Columns::of(row).bytes()?;
        bytes = bytes.saturating_add(i64::try_from(line.len()).unwrap_or(i64::MAX) + 1);
        head.apply(&decode(&line)?);
    }
    Ok((head, bytes))
}

/// Reads the events after a sequence number, oldest first, with or without chunks. Pages avoid a long
/// transaction: events never change, and a last query checks that the session still exists.
pub(super) async fn read(
    tx: &mut dyn Query,
    session: &SessionId,
    after: u64,
    limit: usize,
    chunks: bool,
) -> Result<Vec<Envelope>, JournalError> {
    let parts = parts(tx, session).await?;
    let events = read_parts(tx, &parts, after, limit, chunks).await?;
    if events.len() < limit {
        let sql = "SELECT 1 FROM robota_sessions WHERE session = $1 AND journal = $2";
        let own = parts.last().map_or(0, |part| part.journal);
        let values = vec![Value::text(session.as_str()), Value::Int(own)];
        if tx.query(sql, values).await?.is_empty() {
            return Err(JournalError::NotFound(session.clone()));
        }
    }
    Ok(events)
}

/// Reads the events of these parts after a sequence number, oldest first, with or without chunks.
pub(super) async fn read_parts(
    tx: &mut dyn Query,
    parts: &[ChainPart],
    after: u64,
    limit: usize,
    chunks: bool,
) -> Result<Vec<Envelope>, JournalError> {
    let mut events: Vec<Envelope> = Vec::new();
    let (condition, kinds) = if chunks { (String::new(), Vec::new()) } else { without_chunks() };
    let sql = format!(
        "SELECT line FROM robota_events WHERE journal = $1 AND seq > $2 AND seq <= $3 {condition} \
         ORDER BY seq LIMIT $4"
    );
    let mut from = after;
    for part in parts.iter().filter(|part| part.to > after) {
        while events.len() < limit {
            let page = PAGE.min(limit - events.len());
            let mut values = vec![
                Value::Int(part.journal),
                Value::seq(from),
                Value::seq(part.to),
                Value::seq(page as u64),
            ];
            values.extend_from_slice(&kinds);
            let rows = tx.query(&sql, values).await?;
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

/// Returns a condition that excludes lines of chunks, and its parameters from the fifth on. As
/// [`Envelope::is_chunk_line`], it compares what follows the first type field.
fn without_chunks() -> (String, Vec<Value>) {
    let mut condition = String::new();
    let mut values = vec![Value::Bytes(TYPE_FIELD.to_vec())];
    for (number, kind) in (6..).zip(chunk_kinds()) {
        let _ = write!(
            condition,
            " AND substr(line, position($5 IN line) + {}, length(CAST(${number} AS BYTEA))) \
             <> ${number}",
            TYPE_FIELD.len()
        );
        values.push(Value::Bytes(format!("{kind}\"").into_bytes()));
    }
    (condition, values)
}

/// Reads the event with that sequence number and returns it with its part, if it exists.
pub(super) async fn event(
    tx: &mut dyn Query,
    parts: &[ChainPart],
    seq: u64,
) -> Result<Option<(ChainPart, Envelope)>, JournalError> {
    let sql = "SELECT line FROM robota_events WHERE journal = $1 AND seq = $2";
    let Some(part) = parts.iter().find(|part| seq <= part.to).copied() else { return Ok(None) };
    let row = tx.first(sql, vec![Value::Int(part.journal), Value::seq(seq)]).await?;
    row.map(|mut row| Ok((part, decode(&row.bytes()?)?))).transpose()
}

/// Reads the stored lines of `count` events from `first`, in a journal and its ancestors.
pub(super) async fn lines(
    tx: &mut dyn Query,
    journal: i64,
    first: u64,
    count: usize,
) -> Result<Vec<Vec<u8>>, JournalError> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let values = vec![
        Value::Int(journal),
        Value::seq(first),
        Value::seq(first.saturating_add(count as u64)),
    ];
    let rows = tx.query(LINES, values).await?;
    rows.into_iter().map(|row| Columns::of(row).bytes()).collect()
}

/// Reads the events with these sequence numbers, in the requested order.
pub(super) async fn read_events(
    tx: &mut dyn Query,
    session: &SessionId,
    seqs: &[u64],
) -> Result<Vec<Envelope>, JournalError> {
    let numbers = seqs.iter().map(|seq| int(*seq)).collect();
    let rows = tx.query(EVENTS, vec![Value::text(session.as_str()), Value::Ints(numbers)]).await?;
    if rows.is_empty() {
        parts(tx, session).await?;
    }
    let events = decode_all(rows)?;
    // Most callers ask in this order, and nothing has to be copied.
    if events.iter().map(|event| event.seq).eq(seqs.iter().copied()) {
        return Ok(events);
    }
    seqs.iter()
        .map(|seq| {
            let missing = || JournalError::NoSuchEvent {
                session: session.clone(),
                at: Cursor { epoch: 0, seq: *seq },
            };
            let found = events.binary_search_by_key(seq, |event| event.seq).ok();
            found.and_then(|at| events.get(at)).cloned().ok_or_else(missing)
        })
        .collect()
}

/// Lists of at least this many events are decoded by two threads.
const MANY_EVENTS: usize = 128;

/// Decodes rows. Decoding takes most of the time of a resume, so two threads share a long list.
fn decode_all(mut rows: Vec<Row>) -> Result<Vec<Envelope>, JournalError> {
    fn decode_part(rows: Vec<Row>) -> Result<Vec<Envelope>, JournalError> {
        rows.into_iter().map(|row| decode(&Columns::of(row).bytes()?)).collect()
    }
    if rows.len() < MANY_EVENTS {
        return decode_part(rows);
    }
    let second = rows.split_off(rows.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| decode_part(second));
        let mut events = decode_part(rows)?;
        let other = other.join().unwrap_or_else(|_| {
            Err(JournalError::damaged("an event's row", "its decoder panicked"))
        });
        events.extend(other?);
        Ok(events)
    })
}

pub(super) fn head_of(text: &str) -> Result<SessionHead, JournalError> {
    serde_json::from_str(text).map_err(|error| JournalError::damaged("a session's row", error))
}

fn decode(line: &[u8]) -> Result<Envelope, JournalError> {
    Envelope::decode(line).map_err(|error| {
        let place = "an event's row";
        match error {
            // Written by a newer version: this is not damage.
            DecodeError::NewerReader { .. } => JournalError::io("read", place, error),
            DecodeError::Torn | DecodeError::Checksum { .. } | DecodeError::Malformed(_) => {
                JournalError::damaged(place, error)
            }
        }
    })
}
