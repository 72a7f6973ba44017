//! SQLite: one thread writes, others read at the same time, thanks to the write-ahead log.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use robota_core::clock::{Clock, SystemClock};
use robota_core::journal::JournalError;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::oneshot;

use super::append::{Append, AppendOutcome};
use super::ended_leases::Token;
use super::lease::{Refused, owner_of};
use super::store::SqlStore;
use super::{
    BlobLock, Database, GrowthHints, Long, Query, ReadWork, Row, SqlOptions, Tx, TxWork, Value,
    schema,
};
use crate::disk::{Disk as _, RealDisk};
use crate::io;

/// How long to wait for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Older versions can lose committed pages when the write-ahead log is reset.
const MIN_SQLITE_VERSION: i32 = 3_051_003;

/// Stores sessions in a SQLite database.
///
/// Several processes may use one database; one writes at a time. A session has one writer, which
/// holds a lease (see [`SqlOptions::lease`]).
pub type SqliteStore = SqlStore<Sqlite>;

impl SqliteStore {
    /// Opens the store in that file, which is created if it is missing.
    ///
    /// # Errors
    /// If the file is not a database, a newer version created it, or it cannot be written.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self, JournalError> {
        Self::open_with(path, SqlOptions::default()).await
    }

    /// Opens the store with other options.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub async fn open_with(
        path: impl Into<PathBuf>,
        options: SqlOptions,
    ) -> Result<Self, JournalError> {
        let path = path.into();
        let clock = options.clock.unwrap_or_else(|| Arc::new(SystemClock));
        let database = Sqlite::open(path, Arc::clone(&clock)).await?;
        Ok(Self::new(database, options.level, options.lease, clock))
    }
}

/// Work for the writing thread.
type Job = Box<dyn FnOnce(&mut Writer) + Send>;

/// Runs statements in a SQLite database.
pub struct Sqlite {
    path: PathBuf,
    jobs: mpsc::Sender<Job>,
    readers: Arc<Mutex<Vec<Connection>>>,
    clock: Arc<dyn Clock>,
}

/// The state of the writing thread.
struct Writer {
    connection: Connection,
    /// Whether the connection's commits wait for the disk; none until it is set.
    durable: Option<bool>,
}

impl Sqlite {
    async fn open(path: PathBuf, clock: Arc<dyn Clock>) -> Result<Self, JournalError> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let (ready, opened) = oneshot::channel();
        let (file, time) = (path.clone(), Arc::clone(&clock));
        let thread =
            std::thread::Builder::new().name("robota-sqlite".to_owned()).spawn(move || {
                let mut writer = match Writer::open(&file, &*time) {
                    Ok(writer) => writer,
                    Err(error) => {
                        let _ = ready.send(Err(error));
                        return;
                    }
                };
                let _ = ready.send(Ok(()));
                // Ends when all senders are dropped.
                for job in queue {
                    job(&mut writer);
                }
            });
        thread.map_err(|error| io("start a thread for", &path, &error))?;
        opened.await.map_err(|_| writer_ended(&path))??;
        Ok(Self { path, jobs, readers: Arc::default(), clock })
    }

    fn submit<T: Send + 'static>(
        &self,
        durable: bool,
        work: TxWork<T>,
    ) -> oneshot::Receiver<Result<T, JournalError>> {
        let (answer, receiver) = oneshot::channel();
        let (path, clock) = (self.path.clone(), Arc::clone(&self.clock));
        let job: Job = Box::new(move |writer| {
            let _ = answer.send(writer.transact(&path, &*clock, durable, work));
        });
        // If the thread has ended, dropping the job drops the sender of its answer too.
        let _ = self.jobs.send(job);
        receiver
    }
}

fn writer_ended(path: &Path) -> JournalError {
    io("use", path, "its writing thread ended")
}

impl Writer {
    fn open(path: &Path, clock: &dyn Clock) -> Result<Self, JournalError> {
        if rusqlite::version_number() < MIN_SQLITE_VERSION {
            return Err(unsuitable(path, format!("SQLite {} is too old", rusqlite::version())));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        if let Ok(Some(network)) = RealDisk.network_file_system(folder) {
            return Err(unsuitable(
                path,
                format!("it is on a network file system ({network}), where locks are not reliable"),
            ));
        }
        // Only the owner may read it. SQLite gives the files it creates next to it the same mode.
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)
            .map_err(|error| io("open", path, &error))?;
        let fail = |error: &rusqlite::Error| io("open", path, error);
        // No mutex: only one thread uses the connection. No CREATE: the file exists, with the mode
        // set above.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|error| fail(&error))?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(|error| fail(&error))?;
        let mode: String = connection
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
            .map_err(|error| fail(&error))?;
        if mode != "wal" {
            return Err(unsuitable(
                path,
                format!("it does not support a write-ahead log ({mode})"),
            ));
        }
        let mut writer = Self { connection, durable: None };
        let place = path.display().to_string();
        let migrate: TxWork<()> =
            Box::new(move |tx| Box::pin(async move { schema::migrate(tx, &place).await }));
        writer.transact(path, clock, true, migrate)?;
        Ok(writer)
    }

    fn transact<T>(
        &mut self,
        path: &Path,
        clock: &dyn Clock,
        durable: bool,
        work: TxWork<T>,
    ) -> Result<T, JournalError> {
        if self.durable != Some(durable) {
            // `FULL` waits for the write-ahead log at each commit, `NORMAL` does not.
            let level = if durable { "FULL" } else { "NORMAL" };
            self.connection
                .pragma_update(None, "synchronous", level)
                .map_err(|error| io("set up", path, &error))?;
            self.durable = Some(durable);
        }
        // IMMEDIATE takes the write lock at once. A transaction that reads first and asks for it
        // later fails if another process wrote in between, without waiting for the busy timeout.
        transact(&mut self.connection, path, clock, "BEGIN IMMEDIATE", work)
    }
}

fn unsuitable(path: &Path, reason: String) -> JournalError {
    JournalError::Unsuitable { place: path.display().to_string(), reason }
}

/// Runs work in a transaction. The work never waits, because all statements here are blocking.
fn transact<T>(
    connection: &mut Connection,
    path: &Path,
    clock: &dyn Clock,
    begin: &str,
    work: TxWork<T>,
) -> Result<T, JournalError> {
    let fail = |error: &rusqlite::Error| io("use", path, error);
    if !connection.is_autocommit() {
        // Earlier work panicked and left its transaction open.
        connection.execute_batch("ROLLBACK").map_err(|error| fail(&error))?;
    }
    connection.execute_batch(begin).map_err(|error| fail(&error))?;
    let mut tx = SqliteTx { connection, path, clock };
    // The work is async only because PostgreSQL shares it.
    let done = work(&mut tx).now_or_never().unwrap_or_else(|| Err(writer_ended(path)));
    let done = done.and_then(|done| {
        connection.execute_batch("COMMIT").map_err(|error| fail(&error))?;
        Ok(done)
    });
    if done.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK").map_err(|error| fail(&error))?;
    }
    done
}

impl Database for Sqlite {
    // One machine only: exited processes are noticed, and while the machine is suspended no other
    // process can take a lease.
    const SHARED: bool = false;
    const POLL: Duration = Duration::from_millis(100);

    fn write<T: Send + 'static>(
        &self,
        durable: bool,
        work: TxWork<T>,
    ) -> BoxFuture<'_, Result<T, JournalError>> {
        // Submitted before the future is polled, so that calls run in order.
        let answer = self.submit(durable, work);
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(writer_ended(&self.path))) })
    }

    fn read<T: Send + 'static>(
        &self,
        query: ReadWork<T>,
    ) -> BoxFuture<'_, Result<T, JournalError>> {
        let work: TxWork<T> = Box::new(move |tx| query(tx));
        let (path, clock) = (self.path.clone(), Arc::clone(&self.clock));
        let readers = Arc::clone(&self.readers);
        let read = tokio::task::spawn_blocking(move || {
            let idle = readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut connection = match idle {
                Some(connection) => connection,
                None => reader(&path)?,
            };
            let done = transact(&mut connection, &path, &*clock, "BEGIN", work);
            // Kept for the next read. There are never more than reads that ran at the same time.
            readers.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            done
        });
        Box::pin(async move { read.await.unwrap_or_else(|_| Err(writer_ended(&self.path))) })
    }

    fn append(&self, append: Arc<Append>) -> BoxFuture<'_, Result<AppendOutcome, JournalError>> {
        let durable = append.durable;
        let run = super::work(move |tx| Box::pin(async move { append.run(tx).await }));
        let written = self.write(durable, run);
        Box::pin(async move {
            // The outcome of a commit is always known here: there is no connection that could fail.
            Ok(if written.await? { AppendOutcome::Done } else { AppendOutcome::Refused })
        })
    }

    fn renew(
        &self,
        leases: Vec<(i64, Token)>,
        ttl: i64,
    ) -> BoxFuture<'_, Result<Vec<Refused>, JournalError>> {
        let sql = "UPDATE robota_leases SET expires = $3 WHERE journal = $1 AND token = $2";
        let owner = "SELECT lease, lease_process FROM robota_sessions WHERE journal = $1";
        let renew = super::work(move |tx| {
            Box::pin(async move {
                let expires = tx.now().await? + ttl;
                let mut refused = Vec::new();
                for (journal, token) in leases {
                    let values = [journal, token, expires].map(Value::Int).to_vec();
                    if tx.execute(sql, values).await? > 0 {
                        continue;
                    }
                    let row = tx.first(owner, vec![Value::Int(journal)]).await?;
                    let is_stored = row.is_some();
                    let owner = match row {
                        Some(mut row) => owner_of(row.opt_text()?.as_deref(), row.opt_text()?),
                        None => None,
                    };
                    refused.push(Refused::new(token, is_stored, owner));
                }
                Ok(refused)
            })
        });
        self.write(false, renew)
    }

    fn spawn_write(&self, work: TxWork<()>) -> Option<tokio::task::JoinHandle<()>> {
        // Runs before anything that is submitted later.
        drop(self.submit(false, work));
        None
    }

    fn growth_hints(&self) -> GrowthHints {
        GrowthHints(None)
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }
}

fn reader(path: &Path) -> Result<Connection, JournalError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(connection)
    };
    open().map_err(|error: rusqlite::Error| io("open", path, error))
}

struct SqliteTx<'c> {
    connection: &'c mut Connection,
    path: &'c Path,
    clock: &'c dyn Clock,
}

/// Rewrites what SQLite spells differently.
fn translated(sql: &str) -> String {
    sql.replace('$', "?")
        .replace("::TEXT", "")
        .replace("::BIGINT", "")
        .replace(" COLLATE \"C\"", "")
        .replace(" FOR UPDATE", "")
        .replace(" FOR KEY SHARE", "")
        .replace(" WITH (fillfactor = 70)", "")
        .replace("= ANY(?2)", "IN (SELECT value FROM json_each(?2))")
        .replace("position(?5 IN line)", "instr(line, ?5)")
        .replace("BYTEA", "BLOB")
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(rusqlite::types::ToSqlOutput::Borrowed(match self {
            Self::Ints(values) => {
                return Ok(rusqlite::types::ToSqlOutput::Owned(format!("{values:?}").into()));
            }
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(*value),
            Self::Text(value) => ValueRef::Text(value.as_bytes()),
            Self::Bytes(value) => ValueRef::Blob(value),
        }))
    }
}

fn value(column: ValueRef<'_>) -> Value {
    match column {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        // None of the columns contains one.
        ValueRef::Real(_) => Value::Null,
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    }
}

impl SqliteTx<'_> {
    fn rows(&self, sql: &str, values: &[Value]) -> rusqlite::Result<Vec<Row>> {
        let mut statement = self.connection.prepare_cached(&translated(sql))?;
        let columns = statement.column_count();
        let mut rows = statement.query(rusqlite::params_from_iter(values))?;
        let mut result = Vec::new();
        while let Some(row) = rows.next()? {
            let row: rusqlite::Result<Row> =
                (0..columns).map(|column| row.get_ref(column).map(value)).collect();
            result.push(row?);
        }
        Ok(result)
    }

    fn execute_sql(&self, sql: &str, values: &[Value]) -> rusqlite::Result<usize> {
        self.connection
            .prepare_cached(&translated(sql))?
            .execute(rusqlite::params_from_iter(values))
    }
}

#[async_trait::async_trait]
impl Query for SqliteTx<'_> {
    async fn query(&mut self, sql: &str, values: Vec<Value>) -> Result<Vec<Row>, JournalError> {
        self.rows(sql, &values).map_err(|error| io("read", self.path, &error))
    }
}

#[async_trait::async_trait]
impl Tx for SqliteTx<'_> {
    async fn execute(&mut self, sql: &str, values: Vec<Value>) -> Result<u64, JournalError> {
        let done =
            self.execute_sql(sql, &values).map_err(|error| io("write", self.path, &error))?;
        Ok(done as u64)
    }

    async fn now(&mut self) -> Result<i64, JournalError> {
        Ok(self.clock.now().as_millisecond())
    }

    async fn new_journal_id(&mut self) -> Result<i64, JournalError> {
        let sql = "SELECT COALESCE(MAX(id), 0) + 1 FROM robota_journals";
        let id = self.connection.query_row(sql, [], |row| row.get(0));
        id.map_err(|error| io("read", self.path, &error))
    }

    async fn lock_blobs(&mut self, _what: BlobLock) -> Result<(), JournalError> {
        // SQLite has one writing transaction at a time.
        Ok(())
    }

    async fn allow_long_statements(&mut self, _because: Long) -> Result<(), JournalError> {
        // Statements on a local file have no limit.
        Ok(())
    }
}

#[cfg(test)]
mod tests;
