//! Journals in a database. The logic is here once; a database says how to run a transaction.
//!
//! A *journal* holds events, a *session* is a name for one. A fork is a new journal that begins
//! with another one up to a number: nothing is copied. A journal goes when no session and no
//! journal needs it, so deleting a parent takes nothing from its forks.
//!
//! One writer: a session has a lease row with a token that no other writer ever has. An append
//! checks it, and what it follows on, in its own statement; so a writer whose session was taken
//! over is refused, whatever it believes.

mod append;
mod blobs;
mod chain;
mod ended_leases;
mod fork;
mod journal;
mod lease;
mod list;
#[cfg(feature = "postgres")]
mod postgres;
mod remove;
mod renew;
mod schema;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use robota_core::clock::Clock;
use robota_core::journal::JournalError;

use append::{Append, AppendOutcome};
use ended_leases::Token;

#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
pub use store::SqlStore;

use crate::DurabilityLevel;

/// How a store in a database behaves.
#[derive(Clone)]
pub struct SqlOptions {
    /// How much it waits for.
    pub level: DurabilityLevel,
    /// How long a writer that does not renew its lease keeps a session. It renews it three times
    /// as often.
    pub lease: Duration,
    /// The clock that leases are measured by. Without one: the database's, of which there is one
    /// for all who use it.
    pub clock: Option<Arc<dyn Clock>>,
    /// PostgreSQL: at most so many connections for reads and writes. Each store has one more for
    /// its leases and notifications.
    pub connections: usize,
    /// PostgreSQL: whether an append notifies those who wait for events
    /// ([`wait_past`](robota_core::journal::JournalStore::wait_past)), and those who wait here
    /// listen. Without, they find out by polling.
    pub notify: bool,
}

impl Default for SqlOptions {
    fn default() -> Self {
        Self {
            level: DurabilityLevel::default(),
            lease: Duration::from_secs(30),
            clock: None,
            connections: 16,
            notify: true,
        }
    }
}

impl std::fmt::Debug for SqlOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlOptions")
            .field("level", &self.level)
            .field("lease", &self.lease)
            .field("connections", &self.connections)
            .field("notify", &self.notify)
            .finish_non_exhaustive()
    }
}

/// A value of a row or a parameter.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Null,
    Int(i64),
    Ints(Vec<i64>),
    Text(String),
    Bytes(Vec<u8>),
}

/// A row of an answer.
type Row = Vec<Value>;

/// Where statements that change nothing are asked. Statements are written for PostgreSQL; what
/// SQLite calls differently is replaced.
#[async_trait::async_trait]
trait Query: Send {
    /// Asks, and returns the answer's rows.
    async fn query(&mut self, sql: &str, values: Vec<Value>) -> Result<Vec<Row>, JournalError>;

    /// Asks, and returns the answer's first row.
    async fn first(
        &mut self,
        sql: &str,
        values: Vec<Value>,
    ) -> Result<Option<Columns>, JournalError> {
        Ok(self.query(sql, values).await?.into_iter().next().map(Columns::of))
    }
}

/// A transaction.
#[async_trait::async_trait]
trait Tx: Query {
    /// Changes something, and returns how many rows.
    async fn execute(&mut self, sql: &str, values: Vec<Value>) -> Result<u64, JournalError>;

    /// The time that leases are measured in, in milliseconds.
    async fn now(&mut self) -> Result<i64, JournalError>;

    /// The id of a journal that is to be made.
    async fn new_journal_id(&mut self) -> Result<i64, JournalError>;

    /// Keeps others who ask for the same waiting until the end of the transaction.
    async fn lock_blobs(&mut self, what: BlobLock) -> Result<(), JournalError>;
}

/// What transactions exclude each other from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlobLock {
    /// Keeping blobs, together with others who do.
    Put,
    /// Sweeping blobs, alone.
    Sweep,
}

/// What is done in a transaction.
type TxWork<T> =
    Box<dyn for<'a> FnOnce(&'a mut dyn Tx) -> BoxFuture<'a, Result<T, JournalError>> + Send>;

/// Statements that change nothing.
type ReadWork<T> =
    Box<dyn for<'a> FnOnce(&'a mut dyn Query) -> BoxFuture<'a, Result<T, JournalError>> + Send>;

fn query<T: Send + 'static>(
    query: impl for<'a> FnOnce(&'a mut dyn Query) -> BoxFuture<'a, Result<T, JournalError>>
    + Send
    + 'static,
) -> ReadWork<T> {
    Box::new(query)
}

fn work<T: Send + 'static>(
    work: impl for<'a> FnOnce(&'a mut dyn Tx) -> BoxFuture<'a, Result<T, JournalError>> + Send + 'static,
) -> TxWork<T> {
    Box::new(work)
}

/// A database.
trait Database: Send + Sync + 'static {
    /// Whether other machines use it too: then a writer that cannot renew its lease in time must
    /// stop, since another machine may have taken its session.
    const SHARED: bool;

    /// How often those who wait for events look, about.
    const POLL: Duration;

    /// Runs a transaction that changes something. All or none of it; with `durable` it survives
    /// a power failure when this returns.
    fn write<T: Send + 'static>(
        &self,
        durable: bool,
        work: TxWork<T>,
    ) -> BoxFuture<'_, Result<T, JournalError>>;

    /// Runs statements that change nothing.
    fn read<T: Send + 'static>(&self, query: ReadWork<T>)
    -> BoxFuture<'_, Result<T, JournalError>>;

    /// Appends events if the lease row is as expected.
    fn append(&self, append: Arc<Append>) -> BoxFuture<'_, Result<AppendOutcome, JournalError>>;

    /// Renews leases, given by journal and token, for so many milliseconds; returns the journals
    /// whose token is that one.
    fn renew(
        &self,
        leases: Vec<(i64, Token)>,
        ttl: i64,
    ) -> BoxFuture<'_, Result<HashSet<i64>, JournalError>>;

    /// Runs a transaction in the background. Returns the task, unless the database does what it
    /// is asked in order anyway.
    fn spawn_write(&self, work: TxWork<()>) -> Option<tokio::task::JoinHandle<()>>;

    /// What the database says from now on about journals that grew.
    fn growth_hints(&self) -> GrowthHints;

    /// The database, for people.
    fn place(&self) -> String;
}

/// What a database says about journals that grew. It may say too little, so those who wait look
/// now and then.
struct GrowthHints(Option<tokio::sync::broadcast::Receiver<Arc<str>>>);

impl GrowthHints {
    /// Returns when a journal may have grown.
    async fn wait_for(&mut self, journal: i64) {
        let Some(hints) = &mut self.0 else { return std::future::pending().await };
        let journal = journal.to_string();
        loop {
            match hints.recv().await {
                Ok(grown) if grown.split(',').all(|grown| grown != journal && grown != "*") => {}
                Err(tokio::sync::broadcast::error::RecvError::Closed) => {
                    return std::future::pending().await;
                }
                _ => return,
            }
        }
    }
}

impl Value {
    fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    fn opt_text(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.into()))
    }

    fn seq(seq: u64) -> Self {
        Self::Int(int(seq))
    }

    fn opt_int(value: Option<i64>) -> Self {
        value.map_or(Self::Null, Self::Int)
    }
}

/// A sequence number as the database has it.
fn int(seq: u64) -> i64 {
    // Sequence numbers end where JSON's do, far below.
    i64::try_from(seq).unwrap_or(i64::MAX)
}

/// Takes the columns of a row, in order.
struct Columns(std::vec::IntoIter<Value>);

impl Columns {
    fn of(row: Row) -> Self {
        Self(row.into_iter())
    }

    fn opt_int(&mut self) -> Result<Option<i64>, JournalError> {
        match self.0.next() {
            Some(Value::Int(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            other => Err(unexpected_column(other.as_ref())),
        }
    }

    fn int(&mut self) -> Result<i64, JournalError> {
        self.opt_int()?.ok_or_else(|| unexpected_column(None))
    }

    fn opt_text(&mut self) -> Result<Option<String>, JournalError> {
        match self.0.next() {
            Some(Value::Text(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            other => Err(unexpected_column(other.as_ref())),
        }
    }

    fn text(&mut self) -> Result<String, JournalError> {
        self.opt_text()?.ok_or_else(|| unexpected_column(None))
    }

    fn bytes(&mut self) -> Result<Vec<u8>, JournalError> {
        match self.0.next() {
            Some(Value::Bytes(value)) => Ok(value),
            other => Err(unexpected_column(other.as_ref())),
        }
    }
}

fn unexpected_column(value: Option<&Value>) -> JournalError {
    let found = match value {
        None => "nothing",
        Some(Value::Null) => "a null",
        Some(Value::Int(_) | Value::Ints(_)) => "a number",
        Some(Value::Text(_)) => "a text",
        Some(Value::Bytes(_)) => "bytes",
    };
    let reason = format!("a column holds {found} where something else is due");
    JournalError::Damaged { place: "the database".to_owned(), reason }
}
