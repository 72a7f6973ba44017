//! A connection of the store outside its pool. It renews leases, so that a busy pool cannot delay
//! renewals, and sends and receives notifications.
//!
//! A notification is a hint for readers that wait for events of a session. It is sent after the
//! commit, in its own statement and for many appends together: inside the transaction of an append
//! it would make all commits of the server wait for each other.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use robota_core::clock::Clock;
use robota_core::journal::JournalError;
use tokio::sync::broadcast;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{AsyncMessage, Client, Config, Socket, Statement};

use super::super::GrowthHints;
use super::super::ended_leases::Token;
use super::super::lease::{Refused, owner_of};
use super::connection::{failed, now};

/// At most 20 notifications a second.
const NOTIFY_INTERVAL: Duration = Duration::from_millis(50);

/// How long sending a notification may take.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest payload; the server allows a little more. If the journals do not fit, `*` means
/// all.
const MAX_PAYLOAD: usize = 7_000;

/// Renews leases, given by journal and token. Returns those whose row has another token, and the owner of
/// the lease there.
// The rows are read as they were when the statement began. If one of them changed since, the update has
// noticed it, but the row still names this writer, so the owner is not known.
const RENEW: &str = concat!(
    "WITH mine AS (SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[]) AS mine (journal, token)), \
     renewed AS (UPDATE robota_leases l SET expires = COALESCE($3::BIGINT, ",
    now!(),
    ") + $4::BIGINT FROM mine \
        WHERE l.journal = mine.journal AND l.token = mine.token RETURNING l.token) \
     SELECT mine.token, s.session IS NOT NULL, \
            CASE WHEN l.token <> mine.token THEN s.lease END, s.lease_process \
     FROM mine LEFT JOIN robota_sessions s ON s.journal = mine.journal \
          LEFT JOIN robota_leases l ON l.journal = mine.journal \
     WHERE mine.token NOT IN (SELECT token FROM renewed)"
);

/// The notification channel that all stores of a database share.
const CHANNEL: &str = "robota_events";

type Connect =
    Box<dyn Fn() -> BoxFuture<'static, Result<Client, tokio_postgres::Error>> + Send + Sync>;

/// The connection, which is opened when it is needed and opened again after a failure.
pub(super) struct SideConnection {
    connect: Connect,
    place: String,
    time: Option<Arc<dyn Clock>>,
    open: tokio::sync::Mutex<Option<OpenConnection>>,
    /// Whether notifications are sent and received.
    notify: bool,
    listening: AtomicBool,
    notifications: broadcast::Sender<Arc<str>>,
    /// The journals that grew since the last notification; none if no task is sending.
    grown: Mutex<Option<BTreeSet<i64>>>,
}

struct OpenConnection {
    client: Client,
    renew: Statement,
    listens: bool,
}

impl SideConnection {
    pub(super) fn new<T>(
        config: Config,
        tls: T,
        place: String,
        time: Option<Arc<dyn Clock>>,
        notify: bool,
    ) -> Arc<Self>
    where
        T: MakeTlsConnect<Socket> + Clone + Sync + Send + 'static,
        T::Stream: Sync + Send,
        T::TlsConnect: Sync + Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let notifications = broadcast::Sender::new(256);
        let listeners = notifications.clone();
        let connect: Connect = Box::new(move || {
            let (config, tls, listeners) = (config.clone(), tls.clone(), listeners.clone());
            Box::pin(async move {
                let (client, mut connection) = config.connect(tls).await?;
                // Ends with the client.
                tokio::spawn(async move {
                    let mut messages =
                        futures::stream::poll_fn(move |cx| connection.poll_message(cx));
                    while let Some(Ok(message)) = messages.next().await {
                        if let AsyncMessage::Notification(notification) = message {
                            let _ = listeners.send(notification.payload().into());
                        }
                    }
                });
                Ok(client)
            })
        });
        Arc::new(Self {
            connect,
            place,
            time,
            open: tokio::sync::Mutex::default(),
            notify,
            listening: AtomicBool::new(false),
            notifications,
            grown: Mutex::default(),
        })
    }

    /// Runs something on the connection. After a failure the next call opens a new connection.
    async fn with<T>(
        &self,
        run: impl AsyncFnOnce(&mut OpenConnection) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, JournalError> {
        // Held during the statement: the connection runs one at a time, and renewals wait for it.
        let mut slot = self.open.lock().await;
        // Taken out, so that the connection is closed if this future is dropped half way.
        let open = slot.take().filter(|open| !open.client.is_closed());
        let done: Result<(OpenConnection, T), tokio_postgres::Error> = async {
            let mut open = match open {
                Some(open) => open,
                None => self.connect().await?,
            };
            if self.listening.load(Ordering::SeqCst) && !open.listens {
                open.client.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
                open.listens = true;
            }
            let done = run(&mut open).await?;
            Ok((open, done))
        }
        .await;
        let (open, done) = done.map_err(|error| failed("write", &self.place, &error))?;
        *slot = Some(open);
        Ok(done)
    }

    async fn connect(&self) -> Result<OpenConnection, tokio_postgres::Error> {
        let client = (self.connect)().await?;
        // Neither a renewal nor a notification needs to wait for the server's disk.
        client.batch_execute("SET synchronous_commit = off").await?;
        let renew = client.prepare(RENEW).await?;
        Ok(OpenConnection { client, renew, listens: false })
    }

    /// Renews leases, and returns those that were refused.
    pub(super) async fn renew(
        &self,
        leases: Vec<(i64, Token)>,
        ttl: i64,
    ) -> Result<Vec<Refused>, JournalError> {
        let (journals, tokens): (Vec<i64>, Vec<Token>) = leases.into_iter().unzip();
        let now = self.time.as_ref().map(|clock| clock.now().as_millisecond());
        self.with(async |open| {
            let rows = open.client.query(&open.renew, &[&journals, &tokens, &now, &ttl]).await?;
            let refused = rows.iter().map(|row| {
                let owner = owner_of(row.try_get(2)?, row.try_get(3)?);
                Ok(Refused::new(row.try_get(0)?, row.try_get(1)?, owner))
            });
            refused.collect()
        })
        .await
    }

    /// Notifies other stores, within about 50 ms, that a journal grew.
    pub(super) fn notify_growth(self: &Arc<Self>, journal: i64) {
        if !self.notify {
            return;
        }
        let mut grown = self.grown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(grown) = &mut *grown {
            grown.insert(journal);
            return;
        }
        *grown = Some(BTreeSet::from([journal]));
        tokio::spawn(Arc::clone(self).send_notifications());
    }

    /// Sends notifications until none is due.
    async fn send_notifications(self: Arc<Self>) {
        loop {
            let journals = {
                let mut grown = self.grown.lock().unwrap_or_else(PoisonError::into_inner);
                match grown.take().filter(|journals| !journals.is_empty()) {
                    Some(journals) => {
                        *grown = Some(BTreeSet::new());
                        journals
                    }
                    None => return,
                }
            };
            let mut payload = String::new();
            for journal in journals {
                if payload.len() > MAX_PAYLOAD {
                    "*".clone_into(&mut payload);
                    break;
                }
                if !payload.is_empty() {
                    payload.push(',');
                }
                payload.push_str(&journal.to_string());
            }
            // Renewals wait for this connection, so a notification must not take long.
            let notify = self.with(async |open| {
                open.client.execute("SELECT pg_notify($1, $2)", &[&CHANNEL, &payload]).await
            });
            let _ = tokio::time::timeout(NOTIFY_TIMEOUT, notify).await;
            tokio::time::sleep(NOTIFY_INTERVAL).await;
        }
    }

    /// Returns the notifications from now on.
    pub(super) fn growth_hints(self: &Arc<Self>) -> GrowthHints {
        if !self.notify {
            return GrowthHints(None);
        }
        let notifications = self.notifications.subscribe();
        if !self.listening.swap(true, Ordering::SeqCst) {
            let this = Arc::clone(self);
            tokio::spawn(async move {
                let _ = tokio::time::timeout(NOTIFY_TIMEOUT, this.with(async |_| Ok(()))).await;
            });
        }
        GrowthHints(Some(notifications))
    }
}
