//! PostgreSQL: connections from a pool; whoever needs one waits for one.

use std::str::FromStr as _;
use std::sync::{Arc, Mutex, PoisonError};

use deadpool_postgres::{
    Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime, Transaction,
};
use futures::future::BoxFuture;
use robota_core::blob::Blobs;
use robota_core::clock::{Clock, SystemClock};
use robota_core::event::{Cursor, Envelope};
use robota_core::ids::SessionId;
use robota_core::journal::{Journal, JournalError, SessionFilter, SessionHead, SessionPage};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type};
use tokio_postgres::{Config, NoTls, Socket};

use super::store::{SqlStore, delegate};
use super::{Database, Exclude, Row, SqlOptions, Tx, Value, Work, schema};

/// So many connections at most.
const CONNECTIONS: usize = 16;

/// How long to wait for a connection, and for a sign of life from one.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Those who bring the tables up to date exclude each other by this number.
const MIGRATING: i64 = 0x726f_626f_7461_0001;

/// Those who keep and sweep blobs, by this one.
const BLOBS: i64 = 0x726f_626f_7461_0002;

/// Keeps sessions in a PostgreSQL database.
///
/// Any number of machines may use one database. A session has one writer, by a lease that is
/// measured by the database's clock (see [`SqlOptions::lease`]).
#[derive(Clone)]
pub struct PostgresStore {
    store: SqlStore<Postgres>,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").field("place", &self.store.database.place).finish()
    }
}

impl PostgresStore {
    /// The store in the database of that address (`postgres://user@host/database`), without
    /// encryption: for a local server, or a network that is trusted. An address that asks for
    /// encryption is refused.
    ///
    /// # Errors
    /// When the address is none, the server cannot be reached, or a newer version made its tables.
    pub async fn connect(address: &str) -> Result<Self, JournalError> {
        Self::connect_at(address, SqlOptions::default()).await
    }

    /// The same with other options.
    ///
    /// # Errors
    /// As [`PostgresStore::connect`].
    pub async fn connect_at(address: &str, options: SqlOptions) -> Result<Self, JournalError> {
        Self::connect_with(address, NoTls, options).await
    }

    /// The same with other options, and with the encryption that the caller brings.
    ///
    /// # Errors
    /// As [`PostgresStore::connect`].
    pub async fn connect_with<T>(
        address: &str,
        tls: T,
        options: SqlOptions,
    ) -> Result<Self, JournalError>
    where
        T: MakeTlsConnect<Socket> + Clone + Sync + Send + 'static,
        T::Stream: Sync + Send,
        T::TlsConnect: Sync + Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let mut config = Config::from_str(address).map_err(|error| JournalError::Unsuitable {
            // Not the address itself: it may hold a password.
            place: "the PostgreSQL address".to_owned(),
            reason: describe(&error),
        })?;
        // A machine that is gone closes nothing; an address may say otherwise.
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(PATIENCE);
        }
        let place = place(&config);
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config, tls, manager);
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(PATIENCE))
            .create_timeout(Some(PATIENCE))
            .recycle_timeout(Some(PATIENCE))
            .build()
            .map_err(|error| JournalError::Unsuitable {
                place: place.clone(),
                reason: error.to_string(),
            })?;
        let clock = options.clock.clone().unwrap_or_else(|| Arc::new(SystemClock));
        let time = options.clock;
        let database = Postgres { pool, place, time, releasing: Mutex::default() };
        database.migrate().await?;
        Ok(Self { store: SqlStore::new(database, options.level, options.lease, clock) })
    }
}

delegate!(PostgresStore);

struct Postgres {
    pool: Pool,
    place: String,
    /// Whose time it is; the server's when there is none.
    time: Option<Arc<dyn Clock>>,
    /// Leases that are being given back: whoever asks next waits for that.
    releasing: Mutex<Vec<tokio::task::JoinHandle<()>>>,
}

/// Where a server is, without passwords.
fn place(config: &Config) -> String {
    use tokio_postgres::config::Host;
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        Some(Host::Unix(path)) => path.display().to_string(),
        None => "localhost".to_owned(),
    };
    format!("PostgreSQL at {host}, database {}", config.get_dbname().unwrap_or("of the user"))
}

/// What went wrong, with what the server says.
fn describe(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(said), _) => said.message().to_owned(),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}

fn failed(action: &'static str, place: &str, error: &tokio_postgres::Error) -> JournalError {
    JournalError::Io { action, place: place.to_owned(), reason: describe(error) }
}

impl Postgres {
    async fn client(&self) -> Result<deadpool_postgres::Object, JournalError> {
        self.pool.get().await.map_err(|error| JournalError::Io {
            action: "connect to",
            place: self.place.clone(),
            reason: match &error {
                PoolError::Backend(error) => describe(error),
                other => other.to_string(),
            },
        })
    }

    /// A connection whose server is there: those of one that was started anew are closed, which
    /// shows when they are used.
    async fn living(&self) -> Result<deadpool_postgres::Object, JournalError> {
        let mut client = self.client().await?;
        // Others may put back what was closed under them.
        for _ in 0..CONNECTIONS {
            // Costs nothing where the server is near, and an append waits for its disk anyway.
            let alive = tokio::time::timeout(PATIENCE, client.batch_execute("")).await;
            if matches!(alive, Ok(Ok(()))) {
                break;
            }
            // Closed, reset, silent, or told that its server ends: whatever it is, it is no use,
            // and those that wait beside it are of the same server.
            drop(deadpool_postgres::Object::take(client));
            drop(self.pool.retain(|_, _| false));
            client = self.client().await?;
        }
        Ok(client)
    }

    async fn migrate(&self) -> Result<(), JournalError> {
        let place = self.place.clone();
        let work: Work<()> = Box::new(move |tx| {
            Box::pin(async move {
                let sql = "SELECT pg_advisory_xact_lock($1::BIGINT)::TEXT";
                tx.query(sql, vec![Value::Int(MIGRATING)]).await?;
                let sequence = "CREATE SEQUENCE IF NOT EXISTS robota_journal_ids";
                tx.execute(sequence, vec![]).await?;
                schema::migrate(tx, &place).await
            })
        });
        self.transact(true, work).await
    }

    async fn transact<T>(&self, durable: bool, work: Work<T>) -> Result<T, JournalError> {
        let mut client = self.living().await?;
        let fail = |error: &tokio_postgres::Error| failed("write", &self.place, error);
        let transaction = client.transaction().await.map_err(|error| fail(&error))?;
        if !durable {
            // Written, and safe from our death; the server syncs a moment later.
            let sql = "SET LOCAL synchronous_commit = off";
            transaction.batch_execute(sql).await.map_err(|error| fail(&error))?;
        }
        let mut tx = PostgresTx {
            transaction: &transaction,
            place: &self.place,
            time: self.time.as_deref(),
        };
        let done = work(&mut tx).await?;
        transaction.commit().await.map_err(|error| fail(&error))?;
        Ok(done)
    }

    /// Waits until leases are given back that were dropped here.
    async fn settle(&self) {
        let releasing =
            std::mem::take(&mut *self.releasing.lock().unwrap_or_else(PoisonError::into_inner));
        for release in releasing {
            let _ = release.await;
        }
    }
}

impl Database for Postgres {
    fn write<T: Send + 'static>(
        &self,
        durable: bool,
        work: Work<T>,
    ) -> BoxFuture<'_, Result<T, JournalError>> {
        Box::pin(async move {
            self.settle().await;
            self.transact(durable, work).await
        })
    }

    fn read<T: Send + 'static>(&self, work: Work<T>) -> BoxFuture<'_, Result<T, JournalError>> {
        Box::pin(async move {
            self.settle().await;
            let mut client = self.living().await?;
            let fail = |error: &tokio_postgres::Error| failed("read", &self.place, error);
            // One picture of the database, however many statements look at it.
            let transaction = client
                .build_transaction()
                .read_only(true)
                .isolation_level(tokio_postgres::IsolationLevel::RepeatableRead)
                .start()
                .await
                .map_err(|error| fail(&error))?;
            let time = self.time.as_deref();
            let mut tx = PostgresTx { transaction: &transaction, place: &self.place, time };
            let done = work(&mut tx).await?;
            transaction.commit().await.map_err(|error| fail(&error))?;
            Ok(done)
        })
    }

    fn later(&self, work: Work<()>) {
        // Without a runtime nothing can be done: for others the lease runs out.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (pool, place, time) = (self.pool.clone(), self.place.clone(), self.time.clone());
        let release = runtime.spawn(async move {
            let database = Self { pool, place, time, releasing: Mutex::default() };
            // One that fails is made up for: the store knows whose leases are over.
            let _ = tokio::time::timeout(PATIENCE, database.transact(false, work)).await;
        });
        let mut releasing = self.releasing.lock().unwrap_or_else(PoisonError::into_inner);
        releasing.retain(|release| !release.is_finished());
        releasing.push(release);
    }

    fn place(&self) -> String {
        self.place.clone()
    }
}

struct PostgresTx<'t> {
    transaction: &'t Transaction<'t>,
    place: &'t str,
    time: Option<&'t dyn Clock>,
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
            Self::Text(value) => value.to_sql(kind, out),
            Self::Bytes(value) => value.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::TEXT, Type::BYTEA].contains(kind)
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

impl PostgresTx<'_> {
    async fn rows(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, tokio_postgres::Error> {
        let statement = self.transaction.prepare_cached(sql).await?;
        let values: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = self.transaction.query(&statement, &values).await?;
        rows.iter().map(|row| (0..row.len()).map(|column| row.try_get(column)).collect()).collect()
    }

    async fn change(&self, sql: &str, values: &[Value]) -> Result<u64, tokio_postgres::Error> {
        let statement = self.transaction.prepare_cached(sql).await?;
        let values: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        self.transaction.execute(&statement, &values).await
    }
}

impl Tx for PostgresTx<'_> {
    fn query<'a>(
        &'a mut self,
        sql: &'a str,
        values: Vec<Value>,
    ) -> BoxFuture<'a, Result<Vec<Row>, JournalError>> {
        Box::pin(async move {
            self.rows(sql, &values).await.map_err(|error| failed("read", self.place, &error))
        })
    }

    fn execute<'a>(
        &'a mut self,
        sql: &'a str,
        values: Vec<Value>,
    ) -> BoxFuture<'a, Result<u64, JournalError>> {
        Box::pin(async move {
            self.change(sql, &values).await.map_err(|error| failed("write", self.place, &error))
        })
    }

    fn now(&mut self) -> BoxFuture<'_, Result<i64, JournalError>> {
        Box::pin(async move {
            if let Some(clock) = self.time {
                return Ok(clock.now().as_millisecond());
            }
            let sql = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
            let rows = self.query(sql, vec![]).await?;
            rows.into_iter()
                .next()
                .map_or_else(|| Err(super::odd(None)), |row| super::Columns::of(row).int())
        })
    }

    fn fresh_journal(&mut self) -> BoxFuture<'_, Result<i64, JournalError>> {
        Box::pin(async move {
            let rows = self.query("SELECT nextval('robota_journal_ids')", vec![]).await?;
            rows.into_iter()
                .next()
                .map_or_else(|| Err(super::odd(None)), |row| super::Columns::of(row).int())
        })
    }

    fn exclude(&mut self, what: Exclude) -> BoxFuture<'_, Result<(), JournalError>> {
        let sql = match what {
            Exclude::Keeping => "SELECT pg_advisory_xact_lock_shared($1::BIGINT)::TEXT",
            Exclude::Sweeping => "SELECT pg_advisory_xact_lock($1::BIGINT)::TEXT",
        };
        Box::pin(async move { self.query(sql, vec![Value::Int(BLOBS)]).await.map(|_| ()) })
    }
}
