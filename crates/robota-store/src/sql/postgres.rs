//! PostgreSQL: a pool of connections, and one side connection for leases and notifications.

mod connection;
mod side_connection;

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use futures::future::BoxFuture;
use robota_core::clock::SystemClock;
use robota_core::journal::JournalError;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, NoTls, Socket};

use super::append::{Append, AppendOutcome};
use super::ended_leases::Token;
use super::lease::Refused;
use super::store::SqlStore;
use super::{Database, GrowthHints, Long, ReadWork, SqlOptions, TxWork, Value, schema};
use connection::{Connections, Failure, PostgresReader, TIMEOUT, describe, now};
use side_connection::SideConnection;

/// The advisory lock that migrations take.
const MIGRATION_LOCK: i64 = 0x726f_626f_7461_0001;

/// The statement of an append. It returns no row if the lease row is not as expected.
macro_rules! append_statement {
    ($head:literal) => {
        concat!(
            "WITH lease AS (UPDATE robota_leases SET last_seq = $4, last_epoch = $5, \
                expires = COALESCE($6::BIGINT, ",
            now!(),
            " + $7) WHERE journal = $1 AND token = $2 AND last_seq = $3 RETURNING journal), \
             events AS (INSERT INTO robota_events (journal, seq, line) \
                SELECT lease.journal, added.seq, added.line \
                FROM lease, unnest($9::BIGINT[], $10::BYTEA[]) AS added (seq, line))",
            $head,
            " SELECT set_config('synchronous_commit', $8, true) FROM lease"
        )
    };
}

/// Events only: updates the lease row, and no index except that of the events.
const APPEND: &str = append_statement!("");

/// Events, and the head for lists and forks.
const APPEND_WITH_HEAD: &str = append_statement!(
    ", head AS (UPDATE robota_sessions s SET head = $11, updated = $12, cwd = $13, bytes = $14 \
        FROM lease WHERE s.journal = lease.journal), \
     heads AS (INSERT INTO robota_heads (journal, seq, head) \
        SELECT lease.journal, known.seq, known.head \
        FROM lease, unnest($15::BIGINT[], $16::TEXT[]) AS known (seq, head))"
);

/// Stores sessions in a PostgreSQL database.
///
/// Any number of machines may use one database. A session has one writer, which holds a lease that
/// the database's clock measures (see [`SqlOptions::lease`]).
pub type PostgresStore = SqlStore<Postgres>;

impl PostgresStore {
    /// Connects to the database at that address (`postgres://user@host/database`) without
    /// encryption: for a local server or a trusted network. An address that requires encryption is
    /// refused.
    ///
    /// # Errors
    /// If the address is not valid, the server cannot be reached, or a newer version created its
    /// tables.
    pub async fn connect(address: &str) -> Result<Self, JournalError> {
        Self::connect_at(address, SqlOptions::default()).await
    }

    /// Connects with other options.
    ///
    /// # Errors
    /// As [`PostgresStore::connect`].
    pub async fn connect_at(address: &str, options: SqlOptions) -> Result<Self, JournalError> {
        Self::connect_with(address, NoTls, options).await
    }

    /// Connects with other options, and with the caller's encryption.
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
            // Not the address itself: it may contain a password.
            place: "the PostgreSQL address".to_owned(),
            reason: describe(&error),
        })?;
        // A crashed machine does not close its connections, so timeouts are needed unless the
        // address sets them.
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(TIMEOUT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(TIMEOUT);
        }
        let (place, time) = (place(&config), options.clock.clone());
        let side = SideConnection::new(
            config.clone(),
            tls.clone(),
            place.clone(),
            time.clone(),
            options.notify,
        );
        // A broken connection is noticed when it is used.
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool = Pool::builder(Manager::from_config(config, tls, manager))
            .max_size(options.connections.max(1))
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(TIMEOUT))
            .create_timeout(Some(TIMEOUT))
            .recycle_timeout(Some(TIMEOUT))
            .build()
            .map_err(|error| JournalError::Unsuitable {
                place: place.clone(),
                reason: error.to_string(),
            })?;
        let connections = Connections { pool, place: place.into(), time };
        let database = Postgres { connections, side };
        database.migrate().await?;
        let clock = options.clock.unwrap_or_else(|| Arc::new(SystemClock));
        Ok(Self::new(database, options.level, options.lease, clock))
    }
}

/// Runs statements in a PostgreSQL database.
pub struct Postgres {
    connections: Connections,
    side: Arc<SideConnection>,
}

/// Describes where a server is, without passwords.
fn place(config: &Config) -> String {
    use tokio_postgres::config::Host;
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        Some(Host::Unix(path)) => path.display().to_string(),
        None => "localhost".to_owned(),
    };
    format!("PostgreSQL at {host}, database {}", config.get_dbname().unwrap_or("of the user"))
}

impl Postgres {
    async fn migrate(&self) -> Result<(), JournalError> {
        let place = self.place();
        let migrate = super::work(move |tx| {
            Box::pin(async move {
                // Another process may be in a long migration.
                tx.allow_long_statements(Long::ManyRows).await?;
                let sql = "SELECT pg_advisory_xact_lock($1::BIGINT)::TEXT";
                tx.query(sql, vec![Value::Int(MIGRATION_LOCK)]).await?;
                let sequence = "CREATE SEQUENCE IF NOT EXISTS robota_journal_ids";
                tx.execute(sequence, vec![]).await?;
                schema::migrate(tx, &place).await
            })
        });
        self.connections.transact(true, migrate).await
    }

    /// Appends with one statement, and so one round trip: the statement is its own transaction, and
    /// also sets whether the commit waits for the disk.
    async fn append_once(&self, append: &Append) -> Result<bool, Failure> {
        let now = self.connections.time.as_ref().map(|clock| clock.now().as_millisecond());
        let expires = now.map(|now| now + append.ttl);
        let commit = if append.durable { "on" } else { "off" };
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![
            &append.journal,
            &append.token,
            &append.expected,
            &append.last_seq,
            &append.last_epoch,
            &expires,
            &append.ttl,
            &commit,
        ];
        values.extend([&append.seqs as &(dyn ToSql + Sync), &append.lines]);
        let mut sql = APPEND;
        if let Some(head) = &append.head {
            sql = APPEND_WITH_HEAD;
            values.extend([&head.json as &(dyn ToSql + Sync), &head.updated, &head.cwd]);
            values.extend([&head.bytes as &(dyn ToSql + Sync), &append.head_seqs, &append.heads]);
        }
        let client = self.connections.get().await.map_err(Failure::Refused)?;
        let answer = async {
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, &values).await
        };
        let done = self.connections.with_timeout("write", answer).await;
        if matches!(done, Err(Failure::Connection(_))) {
            self.connections.discard(client);
        }
        Ok(!done?.is_empty())
    }
}

impl Database for Postgres {
    const SHARED: bool = true;
    const POLL: Duration = Duration::from_secs(1);

    fn blob_writes(&self) -> usize {
        (self.connections.pool.status().max_size / 4).max(1)
    }

    fn write<T: Send + 'static>(
        &self,
        durable: bool,
        work: TxWork<T>,
    ) -> BoxFuture<'_, Result<T, JournalError>> {
        Box::pin(self.connections.transact(durable, work))
    }

    fn read<T: Send + 'static>(
        &self,
        query: ReadWork<T>,
    ) -> BoxFuture<'_, Result<T, JournalError>> {
        Box::pin(async move {
            let connections = &self.connections;
            query(&mut PostgresReader { connections, client: None, answered: false }).await
        })
    }

    fn append(&self, append: Arc<Append>) -> BoxFuture<'_, Result<AppendOutcome, JournalError>> {
        Box::pin(async move {
            match self.append_once(&append).await {
                Ok(true) => {
                    self.side.notify_growth(append.journal);
                    Ok(AppendOutcome::Done)
                }
                Ok(false) => Ok(AppendOutcome::Refused),
                Err(Failure::Connection(error)) => Ok(AppendOutcome::CommitUnknown(error)),
                Err(Failure::Refused(error)) => Err(error),
            }
        })
    }

    fn renew(
        &self,
        leases: Vec<(i64, Token)>,
        ttl: i64,
    ) -> BoxFuture<'_, Result<Vec<Refused>, JournalError>> {
        Box::pin(self.side.renew(leases, ttl))
    }

    fn spawn_write(&self, work: TxWork<()>) -> Option<tokio::task::JoinHandle<()>> {
        // Without a runtime the release cannot be sent: other stores wait until the lease expires.
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        let connections = self.connections.clone();
        Some(runtime.spawn(async move {
            // A failure is harmless: the store remembers which of its leases ended.
            let _ = tokio::time::timeout(TIMEOUT, connections.transact(false, work)).await;
        }))
    }

    fn growth_hints(&self) -> GrowthHints {
        self.side.growth_hints()
    }

    fn place(&self) -> String {
        self.connections.place.to_string()
    }
}
