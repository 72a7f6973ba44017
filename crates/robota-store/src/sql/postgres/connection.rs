//! Statements on a connection: in a transaction, or each in its own.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Object, Pool, PoolError};
use robota_core::clock::Clock;
use robota_core::journal::JournalError;
use tokio_postgres::error::Severity;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type};

use super::super::{BlobLock, Long, Query, Row, Tx, TxWork, Value};

/// How long to wait for a connection, and for the answer to a short statement.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait for a statement of a transaction that changes many rows.
// It only has to end at some time: the server may be gone without having closed the connection.
const LONG_TIMEOUT: Duration = Duration::from_secs(3_600);

/// How long storing a blob waits for a sweep to end. Deleting the blobs of a long session takes longer
/// than a lock on a row is held.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a statement waits for a row that another client has locked.
const ROW_LOCK_TIMEOUT: &str = "5s";

/// How long a transaction waits for the next statement of its client. Then the server closes the
/// connection: the client is gone without having closed it, and nothing may wait for its locks.
// Longer than the client waits for the answer to a short statement, and shorter than most leases: the
// renewal of all leases of a store waits for a row that is locked.
const IDLE_TIMEOUT: &str = "15s";

/// What replaces [`IDLE_TIMEOUT`] for a client that sends a large value: while the server receives it, the
/// transaction counts as idle. That the client is gone is noticed by the keepalives, within a minute.
const LARGE_VALUE: &str = "SET LOCAL idle_in_transaction_session_timeout = '1h'; \
                           SET LOCAL tcp_keepalives_idle = 30; \
                           SET LOCAL tcp_keepalives_interval = 10; \
                           SET LOCAL tcp_keepalives_count = 3";

/// The server's time in milliseconds: at the moment of the call, not at the start of the
/// transaction.
macro_rules! now {
    () => {
        "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
    };
}
pub(super) use now;

/// The advisory lock for storing and sweeping blobs.
const BLOBS_LOCK: i64 = 0x726f_626f_7461_0002;

/// Describes an error, with the server's message.
pub(super) fn describe(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(reported), _) => reported.message().to_owned(),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}

pub(super) fn failed(
    action: &'static str,
    place: &str,
    error: &tokio_postgres::Error,
) -> JournalError {
    JournalError::io(action, place, describe(error))
}

/// Why a statement failed.
pub(super) enum Failure {
    /// The connection failed: the statement may have run or not.
    Connection(JournalError),
    /// The server refused it: nothing was changed.
    Refused(JournalError),
}

impl Failure {
    pub(super) fn error(self) -> JournalError {
        match self {
            Self::Connection(error) | Self::Refused(error) => error,
        }
    }
}

#[derive(Clone)]
pub(super) struct Connections {
    pub(super) pool: Pool,
    pub(super) place: Arc<str>,
    /// The clock for leases; the server's if none.
    pub(super) time: Option<Arc<dyn Clock>>,
}

impl Connections {
    pub(super) async fn get(&self) -> Result<Object, JournalError> {
        self.pool.get().await.map_err(|error| match &error {
            PoolError::Backend(error) => failed("connect to", &self.place, error),
            other => JournalError::io("connect to", &*self.place, other),
        })
    }

    /// Closes a connection that failed, and all idle ones of the pool: they lead to the same
    /// server.
    pub(super) fn discard(&self, client: Object) {
        drop(Object::take(client));
        drop(self.pool.retain(|_, _| false));
    }

    /// Waits for the answer to a short statement.
    pub(super) async fn with_timeout<T>(
        &self,
        action: &'static str,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failure> {
        self.within(TIMEOUT, action, answer).await
    }

    async fn within<T>(
        &self,
        limit: Duration,
        action: &'static str,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failure> {
        match tokio::time::timeout(limit, answer).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => Err(self.failure(action, &error)),
            Err(_) => {
                let reason = format!("no answer within {} s", limit.as_secs());
                Err(Failure::Connection(JournalError::io(action, &*self.place, reason)))
            }
        }
    }

    fn failure(&self, action: &'static str, error: &tokio_postgres::Error) -> Failure {
        let kind = if is_broken(error) { Failure::Connection } else { Failure::Refused };
        kind(failed(action, &self.place, error))
    }
}

/// Returns whether the connection failed, not just the statement.
fn is_broken(error: &tokio_postgres::Error) -> bool {
    let io = || std::error::Error::source(error).is_some_and(|cause| cause.is::<std::io::Error>());
    match error.as_db_error() {
        Some(reported) => {
            matches!(reported.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
        }
        None => error.is_closed() || io(),
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut tokio_postgres::types::private::BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(value) => value.to_sql(kind, out),
            Self::Ints(values) => values.to_sql(kind, out),
            Self::Text(value) => value.to_sql(kind, out),
            Self::Bytes(value) => value.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::INT8_ARRAY, Type::TEXT, Type::BYTEA].contains(kind)
    }

    tokio_postgres::types::to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(
        kind: &Type,
        raw: &'a [u8],
    ) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match *kind {
            Type::INT8 => Self::Int(i64::from_sql(kind, raw)?),
            Type::INT4 => Self::Int(i32::from_sql(kind, raw)?.into()),
            Type::BYTEA => Self::Bytes(Vec::from_sql(kind, raw)?),
            _ => Self::Text(String::from_sql(kind, raw)?),
        })
    }

    fn from_sql_null(_kind: &Type) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::BYTEA, Type::TEXT].contains(kind)
    }
}

fn parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

fn values(rows: &[tokio_postgres::Row]) -> Result<Vec<Row>, tokio_postgres::Error> {
    rows.iter().map(|row| (0..row.len()).map(|column| row.try_get(column)).collect()).collect()
}

/// A connection with an open transaction. Dropping it closes the connection, and the server rolls
/// back.
struct OpenTransaction(Option<Object>);

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        drop(self.0.take().map(Object::take));
    }
}

impl Connections {
    /// Begins a transaction. A broken connection shows here, before anything was done: then another
    /// one is used.
    async fn begin(&self, durable: bool) -> Result<Object, JournalError> {
        // A row can be locked by a client that no longer exists. The lock timeout is shorter than the
        // limit of a statement, so that the server reports it and the connection remains usable.
        let unsynced = if durable { "" } else { "; SET LOCAL synchronous_commit = off" };
        let sql = format!(
            "BEGIN; SET LOCAL lock_timeout = '{ROW_LOCK_TIMEOUT}'; \
             SET LOCAL idle_in_transaction_session_timeout = '{IDLE_TIMEOUT}'{unsynced}"
        );
        for _ in 0..2 {
            let mut transaction = OpenTransaction(Some(self.get().await?));
            let Some(client) = &transaction.0 else { continue };
            match self.with_timeout("write", client.batch_execute(&sql)).await {
                Ok(()) => return transaction.0.take().ok_or_else(|| self.unreachable()),
                Err(Failure::Refused(error)) => return Err(error),
                // The idle connections are to the same server, which has probably restarted.
                Err(Failure::Connection(_)) => drop(self.pool.retain(|_, _| false)),
            }
        }
        Err(self.unreachable())
    }

    fn unreachable(&self) -> JournalError {
        let reason = "its connections are closed as soon as they are opened";
        JournalError::io("write", &*self.place, reason)
    }

    /// Runs a transaction; with `durable` it survives a power failure when this returns.
    pub(super) async fn transact<T>(
        &self,
        durable: bool,
        work: TxWork<T>,
    ) -> Result<T, JournalError> {
        let mut transaction = OpenTransaction(Some(self.begin(durable).await?));
        let Some(client) = &transaction.0 else { return Err(self.unreachable()) };
        let mut tx = PostgresTx { client, connections: self, limit: TIMEOUT, broken: false };
        let done = work(&mut tx).await;
        let ended = if tx.broken {
            // The server rolls back when the connection is closed.
            Ok(())
        } else {
            // Also after an error: a connection with an open transaction must not return to the pool.
            let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
            tx.statement("write", client.batch_execute(end)).await
        };
        if tx.broken {
            // The idle connections are to the same server.
            drop(self.pool.retain(|_, _| false));
        } else if ended.is_ok() {
            // Return the connection to the pool.
            drop(transaction.0.take());
        }
        let done = done?;
        ended?;
        Ok(done)
    }
}

struct PostgresTx<'t> {
    client: &'t Object,
    connections: &'t Connections,
    /// How long one statement may take.
    limit: Duration,
    /// Whether the connection failed or did not answer.
    broken: bool,
}

/// Runs a statement and returns the rows.
async fn rows(
    client: &Object,
    sql: &str,
    arguments: &[Value],
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let statement = client.prepare_cached(sql).await?;
    values(&client.query(&statement, &parameters(arguments)).await?)
}

impl PostgresTx<'_> {
    async fn statement<T>(
        &mut self,
        action: &'static str,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, JournalError> {
        let done = self.connections.within(self.limit, action, answer).await;
        self.broken |= matches!(done, Err(Failure::Connection(_)));
        done.map_err(Failure::error)
    }

    async fn number(&mut self, sql: &str) -> Result<i64, JournalError> {
        self.first(sql, vec![]).await?.ok_or_else(|| super::super::unexpected_column(None))?.int()
    }
}

#[async_trait::async_trait]
impl Query for PostgresTx<'_> {
    async fn query(&mut self, sql: &str, values: Vec<Value>) -> Result<Vec<Row>, JournalError> {
        self.statement("read", rows(self.client, sql, &values)).await
    }
}

#[async_trait::async_trait]
impl Tx for PostgresTx<'_> {
    async fn execute(&mut self, sql: &str, values: Vec<Value>) -> Result<u64, JournalError> {
        let client = self.client;
        let changed = async {
            let statement = client.prepare_cached(sql).await?;
            client.execute(&statement, &parameters(&values)).await
        };
        self.statement("write", changed).await
    }

    async fn now(&mut self) -> Result<i64, JournalError> {
        match &self.connections.time {
            Some(clock) => Ok(clock.now().as_millisecond()),
            None => self.number(concat!("SELECT ", now!())).await,
        }
    }

    async fn new_journal_id(&mut self) -> Result<i64, JournalError> {
        self.number("SELECT nextval('robota_journal_ids')").await
    }

    async fn lock_blobs(&mut self, what: BlobLock) -> Result<(), JournalError> {
        let sql = match what {
            // One round trip: the wait for this lock is longer than that for a row.
            BlobLock::Refer => format!(
                "SET LOCAL lock_timeout = '{}s'; \
                 SELECT pg_advisory_xact_lock_shared({BLOBS_LOCK}); \
                 SET LOCAL lock_timeout = '{ROW_LOCK_TIMEOUT}'",
                SWEEP_TIMEOUT.as_secs()
            ),
            BlobLock::Sweep => format!("SELECT pg_advisory_xact_lock({BLOBS_LOCK})"),
        };
        let limit = self.limit;
        self.limit = limit.max(SWEEP_TIMEOUT + TIMEOUT);
        let client = self.client;
        let locked = self.statement("write", client.batch_execute(&sql)).await;
        self.limit = limit;
        locked
    }

    async fn allow_long_statements(&mut self, because: Long) -> Result<(), JournalError> {
        let client = self.client;
        let large = if because == Long::LargeValue { LARGE_VALUE } else { "" };
        let sql = format!("SET LOCAL lock_timeout = 0; {large}");
        self.statement("write", client.batch_execute(&sql)).await?;
        self.limit = LONG_TIMEOUT;
        Ok(())
    }
}

/// Runs read-only statements, each in its own transaction. If the connection fails, the statement
/// is repeated on another one.
pub(super) struct PostgresReader<'t> {
    pub(super) connections: &'t Connections,
    pub(super) client: Option<Object>,
    /// Whether the connection has answered already: then a longer answer has no timeout.
    pub(super) answered: bool,
}

impl PostgresReader<'_> {
    async fn rows(&mut self, sql: &str, arguments: &[Value]) -> Result<Vec<Row>, Failure> {
        let client = match self.client.take() {
            Some(client) => client,
            None => self.connections.get().await.map_err(Failure::Refused)?,
        };
        let answer = rows(&client, sql, arguments);
        let rows = if self.answered {
            answer.await.map_err(|error| self.connections.failure("read", &error))
        } else {
            self.connections.with_timeout("read", answer).await
        };
        if matches!(rows, Err(Failure::Connection(_))) {
            self.answered = false;
            self.connections.discard(client);
        } else {
            self.answered = true;
            self.client = Some(client);
        }
        rows
    }
}

#[async_trait::async_trait]
impl Query for PostgresReader<'_> {
    async fn query(&mut self, sql: &str, values: Vec<Value>) -> Result<Vec<Row>, JournalError> {
        match self.rows(sql, &values).await {
            // Repeating is safe because the statement only reads.
            Err(Failure::Connection(_)) => self.rows(sql, &values).await,
            rows => rows,
        }
        .map_err(Failure::error)
    }
}
