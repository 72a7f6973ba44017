//! Appends: one guarded statement, and finding out why it was refused.
//!
//! The statement updates the session's lease row only if it has this writer's token and the last
//! sequence number that the writer knows; the same statement inserts the events. If the row is
//! different, [`reload`] finds out in a transaction whether the lease is lost, the events are out
//! of order, or some of them are stored already.

use std::sync::Arc;

use robota_core::event::{Cursor, Durability, Envelope};
use robota_core::journal::{JournalError, Order, SessionHead, repeated};

use super::chain;
use super::ended_leases::Token;
use super::lease::{Lease, SessionRow, lock_session_row};
use super::{Tx, Value, int};
use crate::failpoint::failpoint;

/// The approximate number of events between two stored heads: a fork folds at most that many.
pub(super) const HEAD_EVERY: u64 = 256;

/// The end of a session, as its writer knows it.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    /// The last event; none if the session has no events.
    pub(super) last: Option<Cursor>,
    head: Option<SessionHead>,
    bytes: i64,
    /// The last event that the head in the session's row includes.
    stored: u64,
}

impl Tail {
    /// Creates the tail of a session without events.
    pub(super) fn empty() -> Self {
        Self { last: None, head: None, bytes: 0, stored: 0 }
    }

    /// Creates the tail of a fork with that head, which is not stored yet.
    pub(super) fn fork(head: SessionHead) -> Self {
        Self { last: Some(head.last), head: Some(head), bytes: 0, stored: 0 }
    }

    /// Loads the tail of a session whose rows are locked.
    pub(super) async fn load(tx: &mut dyn Tx, row: &SessionRow) -> Result<Self, JournalError> {
        let Some(stored) = &row.head else { return Ok(Self::empty()) };
        let (head, bytes) = chain::fold_rest(tx, row.journal, stored.clone(), row.bytes).await?;
        Ok(Self { last: Some(head.last), head: Some(head), bytes, stored: stored.last.seq })
    }

    /// Returns the head; none if the session has no events.
    pub(super) fn head(&self) -> Option<SessionHead> {
        self.head.clone()
    }

    pub(super) fn order(&self) -> Order {
        self.last.map_or(Order::Empty, Order::After)
    }

    /// Returns the head if the session's row is behind it.
    pub(super) fn unstored(&self) -> Option<StoredHead> {
        let head = self.head.as_ref().filter(|head| head.last.seq > self.stored)?;
        StoredHead::new(head, self.bytes).ok()
    }
}

/// The head and list columns of a session's row.
#[derive(Debug, Clone)]
pub(super) struct StoredHead {
    /// The last event that it includes.
    pub(super) last: Cursor,
    pub(super) json: String,
    pub(super) updated: i64,
    pub(super) cwd: Option<String>,
    pub(super) bytes: i64,
}

impl StoredHead {
    fn new(head: &SessionHead, bytes: i64) -> Result<Self, JournalError> {
        let (updated, cwd) = (nanoseconds(head.updated), head.cwd.clone());
        Ok(Self { last: head.last, json: json(head)?, updated, cwd, bytes })
    }

    /// Writes it to the session's row.
    pub(super) async fn write(&self, tx: &mut dyn Tx, journal: i64) -> Result<(), JournalError> {
        let sql = "UPDATE robota_sessions SET head = $2, updated = $3, cwd = $4, bytes = $5 \
                   WHERE journal = $1";
        let values = vec![
            Value::Int(journal),
            Value::text(&*self.json),
            Value::Int(self.updated),
            Value::opt_text(self.cwd.as_deref()),
            Value::Int(self.bytes),
        ];
        tx.execute(sql, values).await.map(|_| ())
    }
}

/// One append, prepared for the database.
#[derive(Debug)]
pub(super) struct Append {
    pub(super) journal: i64,
    pub(super) token: Token,
    /// For how long the append renews the lease, in milliseconds.
    pub(super) ttl: i64,
    /// The last sequence number that the row must have.
    pub(super) expected: i64,
    pub(super) last_seq: i64,
    pub(super) last_epoch: i64,
    pub(super) seqs: Vec<i64>,
    pub(super) lines: Vec<Vec<u8>>,
    /// The head for the session's row, if it is due.
    pub(super) head: Option<StoredHead>,
    /// Heads for forks, and the events after which they apply.
    pub(super) head_seqs: Vec<i64>,
    pub(super) heads: Vec<String>,
    /// Whether it must survive a power failure once it is acknowledged.
    pub(super) durable: bool,
    /// The tail after the append, which the writer keeps if it succeeds.
    pub(super) tail: Tail,
}

impl Append {
    /// Prepares the append of events that follow the tail. The head is due at barriers, so lists
    /// may lag by the events since the last barrier.
    pub(super) fn new(
        lease: &Lease,
        tail: &Tail,
        events: &[Arc<Envelope>],
        durability: Durability,
        durable: bool,
    ) -> Result<Self, JournalError> {
        let mut after = tail.clone();
        let (mut seqs, mut lines) = (Vec::new(), Vec::new());
        let (mut head_seqs, mut heads) = (Vec::new(), Vec::new());
        for event in events {
            let line = encode(event)?;
            after.bytes =
                after.bytes.saturating_add(i64::try_from(line.len()).unwrap_or(i64::MAX) + 1);
            after.last = Some(event.cursor());
            SessionHead::fold(&mut after.head, &lease.session, event);
            seqs.push(int(event.seq));
            lines.push(line);
            if let Some(head) = after.head.as_ref().filter(|_| event.seq % HEAD_EVERY == 0) {
                head_seqs.push(int(event.seq));
                heads.push(json(head)?);
            }
        }
        let mut stored = None;
        if let (Some(head), Some(last)) = (&after.head, after.last) {
            let lag = last.seq.saturating_sub(after.stored);
            if (durability == Durability::Synced && lag > 0)
                // The first append of a session always stores its head, so that lists find the
                // session.
                || tail.stored == 0
                || lag >= HEAD_EVERY
            {
                stored = Some(StoredHead::new(head, after.bytes)?);
                after.stored = last.seq;
            }
        }
        let last = after.order().last();
        Ok(Self {
            journal: lease.journal,
            token: lease.token,
            ttl: lease.ttl,
            expected: int(tail.order().last().seq),
            last_seq: int(last.seq),
            last_epoch: i64::from(last.epoch),
            seqs,
            lines,
            head: stored,
            head_seqs,
            heads,
            durable,
            tail: after,
        })
    }

    /// Runs the append in a transaction; returns whether the lease row was as expected. PostgreSQL
    /// uses one statement for all of this instead.
    pub(super) async fn run(&self, tx: &mut dyn Tx) -> Result<bool, JournalError> {
        let guard = "UPDATE robota_leases SET last_seq = $4, last_epoch = $5, expires = $6 \
                     WHERE journal = $1 AND token = $2 AND last_seq = $3";
        // The condition is the fence: a writer that lost its lease has another token, and a writer
        // that does not know the last event another number.
        let expires = tx.now().await? + self.ttl;
        let values =
            [self.journal, self.token, self.expected, self.last_seq, self.last_epoch, expires];
        if tx.execute(guard, values.map(Value::Int).to_vec()).await? == 0 {
            return Ok(false);
        }
        let sql = "INSERT INTO robota_events (journal, seq, line) VALUES ($1, $2, $3)";
        for (seq, line) in self.seqs.iter().zip(&self.lines) {
            let values =
                vec![Value::Int(self.journal), Value::Int(*seq), Value::Bytes(line.clone())];
            tx.execute(sql, values).await?;
        }
        let sql = "INSERT INTO robota_heads (journal, seq, head) VALUES ($1, $2, $3)";
        for (seq, head) in self.head_seqs.iter().zip(&self.heads) {
            let values = vec![Value::Int(self.journal), Value::Int(*seq), Value::text(&**head)];
            tx.execute(sql, values).await?;
        }
        if let Some(head) = &self.head {
            head.write(tx, self.journal).await?;
        }
        failpoint!("store.sql.append.before_commit");
        Ok(true)
    }
}

/// The result of an [`Append`], as far as the database answered.
pub(super) enum AppendOutcome {
    /// The events are stored.
    Done,
    /// The lease row was not as expected; nothing changed.
    Refused,
    /// The connection failed: the events may be stored or not.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite has no connection"))]
    CommitUnknown(JournalError),
}

/// Finds out, with the lease row locked, where the session ends and how many of the events are
/// stored already.
pub(super) async fn reload(
    tx: &mut dyn Tx,
    lease: &Lease,
    first: Option<u64>,
    events: &[Arc<Envelope>],
) -> Result<(Tail, usize), JournalError> {
    let row = lock_session_row(tx, &lease.session).await?;
    let row = lease.check(row)?;
    let tail = Tail::load(tx, &row).await?;
    let order = tail.order();
    let count = repeated(&lease.session, order, events.iter().map(|event| &**event))?;
    let Some(next) = events.first() else { return Ok((tail, 0)) };
    let refused = || order.refuse(&lease.session, next.cursor());
    if tail.last.is_none() && first.is_some_and(|first| first != next.seq) {
        // A crash of the database lost all events of this writer.
        return Err(refused());
    }
    let stored = chain::lines(tx, row.journal, next.seq, count).await?;
    let same = |(event, line): (&Arc<Envelope>, &Vec<u8>)| {
        encode(event).is_ok_and(|encoded| encoded == *line)
    };
    if stored.len() == count && events.iter().zip(&stored).all(same) {
        return Ok((tail, count));
    }
    Err(refused())
}

fn encode(event: &Envelope) -> Result<Vec<u8>, JournalError> {
    let mut line = Vec::new();
    event.encode(&mut line).map_err(|error| JournalError::unencodable(event, &error))?;
    // The line end belongs to the file format; a row is a line already.
    line.pop();
    Ok(line)
}

fn json(head: &SessionHead) -> Result<String, JournalError> {
    serde_json::to_string(head).map_err(|error| JournalError::io("write", "a session's row", error))
}

/// Converts a time to a sortable number; exact until the year 2262.
pub(super) fn nanoseconds(time: jiff::Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or(if time.as_nanosecond() < 0 {
        i64::MIN
    } else {
        i64::MAX
    })
}
