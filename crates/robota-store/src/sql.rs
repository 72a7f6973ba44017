//! Journals in a database. The logic is here once; each database says how to run a transaction.
//!
//! A *journal* contains events, a *session* is a name for a journal. A fork is a new journal that
//! continues another one from a sequence number: nothing is copied. A journal is deleted when no
//! session and no other journal needs it, so deleting a parent does not affect its forks.
//!
//! A session has one writer: its lease row has a token that no other writer ever gets. An append
//! checks the token, and the last sequence number, in its own statement. So a writer whose session
//! was taken over is refused, even if it has not noticed yet.

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

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use robota_core::clock::Clock;
use robota_core::journal::JournalError;

use append::{Append, AppendOutcome};
use ended_leases::Token;
use lease::Refused;

#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
pub use store::SqlStore;

use crate::DurabilityLevel;

/// Changes how a store uses its database.
#[derive(Clone)]
pub struct SqlOptions {
    /// When appends wait for the disk.
    pub level: DurabilityLevel,
    /// How long a writer that does not renew its lease keeps the session. A writer renews it
    /// after each third of this period, and more often while that fails.
    pub lease: Duration,
    /// The clock that measures leases. Without one, the PostgreSQL store uses the server's clock,
    /// which is the same for all its users.
    pub clock: Option<Arc<dyn Clock>>,
    /// PostgreSQL: maximum number of connections for reads and writes. Each store uses one more for
    /// its leases and notifications.
    pub connections: usize,
    /// PostgreSQL: whether appends send notifications, and waiting readers listen for them
    /// ([`wait_past`](robota_core::journal::JournalStore::wait_past)). Without notifications,
    /// readers poll.
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

/// A column value or a parameter.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Null,
    Int(i64),
    Ints(Vec<i64>),
    Text(String),
    Bytes(Vec<u8>),
}

/// A row of a result: its columns in the order of the statement.
type Row = Vec<Value>;

/// Runs read-only statements. Statements are written for PostgreSQL; SQLite rewrites what
/// differs.
#[async_trait::async_trait]
trait Query: Send {
    /// Runs a statement and returns the rows.
    async fn query(&mut self, sql: &str, values: Vec<Value>) -> Result<Vec<Row>, JournalError>;

    /// Runs a statement and returns the first row.
    async fn first(
        &mut self,
        sql: &str,
        values: Vec<Value>,
    ) -> Result<Option<Columns>, JournalError> {
        Ok(self.query(sql, values).await?.into_iter().next().map(Columns::of))
    }
}

/// A transaction: all statements take effect at its commit, or none.
#[async_trait::async_trait]
trait Tx: Query {
    /// Runs a changing statement and returns the number of affected rows.
    async fn execute(&mut self, sql: &str, values: Vec<Value>) -> Result<u64, JournalError>;

    /// Returns the current time for leases, in milliseconds.
    async fn now(&mut self) -> Result<i64, JournalError>;

    /// Returns the id for a new journal.
    async fn new_journal_id(&mut self) -> Result<i64, JournalError>;

    /// Takes a lock on the blobs until the end of the transaction.
    async fn lock_blobs(&mut self, what: BlobLock) -> Result<(), JournalError>;

    /// Allows the statements that follow to take long.
    async fn allow_long_statements(&mut self, because: Long) -> Result<(), JournalError>;
}

/// Which lock on the blobs a transaction needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlobLock {
    /// Shared: for storing blobs, and for changing which session refers to them. Waits for the end of a
    /// sweep.
    Refer,
    /// Exclusive: for sweeping blobs. While it waits, all others wait too, so it fails after some seconds.
    Sweep,
}

/// Why statements take long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Long {
    /// They change many rows.
    ManyRows,
    /// They send a large value, possibly through a slow network.
    LargeValue,
}

/// What runs in a transaction.
type TxWork<T> =
    Box<dyn for<'a> FnOnce(&'a mut dyn Tx) -> BoxFuture<'a, Result<T, JournalError>> + Send>;

/// Read-only statements, which may run on several connections or outside a transaction.
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

/// What the store needs of a database; SQLite and PostgreSQL implement it.
trait Database: Send + Sync + 'static {
    /// Whether other machines use it too: then a writer that cannot renew its lease in time must
    /// stop, because another machine may have taken its session.
    const SHARED: bool;

    /// How often waiting readers poll, approximately.
    const POLL: Duration;

    /// Runs a changing transaction, all of it or nothing. With `durable` it survives a power
    /// failure when this returns.
    fn write<T: Send + 'static>(
        &self,
        durable: bool,
        work: TxWork<T>,
    ) -> BoxFuture<'_, Result<T, JournalError>>;

    /// Runs read-only statements. They may see commits that happen between two of them.
    fn read<T: Send + 'static>(&self, query: ReadWork<T>)
    -> BoxFuture<'_, Result<T, JournalError>>;

    /// Appends events if the lease row is as expected.
    fn append(&self, append: Arc<Append>) -> BoxFuture<'_, Result<AppendOutcome, JournalError>>;

    /// Renews leases, given by journal and token, for `ttl` milliseconds. Returns those whose row
    /// does not have that token, and why.
    fn renew(
        &self,
        leases: Vec<(i64, Token)>,
        ttl: i64,
    ) -> BoxFuture<'_, Result<Vec<Refused>, JournalError>>;

    /// Runs a transaction in the background. Returns its task, or none if the database runs
    /// transactions in the order of the calls anyway.
    fn spawn_write(&self, work: TxWork<()>) -> Option<tokio::task::JoinHandle<()>>;

    /// Returns hints, from now on, about journals that grew.
    fn growth_hints(&self) -> GrowthHints;

    /// Returns how many blobs may be stored at the same time. Each can wait long for the end of a
    /// deletion, and must leave connections for appends.
    fn blob_writes(&self) -> usize {
        tokio::sync::Semaphore::MAX_PERMITS
    }

    /// Describes the database in error messages, without secrets.
    fn place(&self) -> String;
}

/// Hints about journals that grew. A database may miss some, so readers also poll.
struct GrowthHints(Option<tokio::sync::broadcast::Receiver<Arc<str>>>);

impl GrowthHints {
    /// Waits until a journal may have grown.
    async fn wait_for(&mut self, journal: i64) {
        let Some(hints) = &mut self.0 else { return std::future::pending().await };
        let journal = journal.to_string();
        loop {
            match hints.recv().await {
                Ok(grown) if grown.split(',').all(|grown| grown != journal && grown != "*") => {}
                Err(tokio::sync::broadcast::error::RecvError::Closed) => {
                    return std::future::pending().await;
                }
                // A receiver that lagged has lost hints, so its journal may have grown.
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

/// Converts a sequence number for the database.
fn int(seq: u64) -> i64 {
    // Sequence numbers are limited by JSON's integers, which are far smaller.
    i64::try_from(seq).unwrap_or(i64::MAX)
}

/// Takes the columns of a row in order.
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
    let reason = format!("a column contains {found}, which is not expected there");
    JournalError::Damaged { place: "the database".to_owned(), reason }
}
