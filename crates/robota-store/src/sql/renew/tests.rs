use std::sync::OnceLock;

use futures::future::BoxFuture;
use robota_core::ids::SessionId;
use tokio_util::sync::CancellationToken;

use super::super::append::{Append, AppendOutcome};
use super::super::ended_leases::EndedLeases;
use super::super::{GrowthHints, ReadWork, TxWork};
use super::*;

const TTL: Duration = Duration::from_secs(30);

/// How a database answers renewals.
enum Answers {
    Never,
    /// After this time.
    After(Duration),
    /// With an error until then.
    RefusesUntil(Instant),
    /// Not until then.
    SilentUntil(Instant),
}

impl Database for Answers {
    const SHARED: bool = true;
    const POLL: Duration = Duration::from_secs(1);

    fn write<T: Send + 'static>(
        &self,
        _: bool,
        _: TxWork<T>,
    ) -> BoxFuture<'_, Result<T, JournalError>> {
        Box::pin(std::future::pending())
    }

    fn read<T: Send + 'static>(&self, _: ReadWork<T>) -> BoxFuture<'_, Result<T, JournalError>> {
        Box::pin(std::future::pending())
    }

    fn append(&self, _: Arc<Append>) -> BoxFuture<'_, Result<AppendOutcome, JournalError>> {
        Box::pin(std::future::pending())
    }

    fn renew(
        &self,
        _: Vec<(i64, Token)>,
        _: i64,
    ) -> BoxFuture<'_, Result<Vec<Refused>, JournalError>> {
        Box::pin(async move {
            match self {
                Self::Never => return std::future::pending().await,
                Self::After(delay) => tokio::time::sleep(*delay).await,
                Self::RefusesUntil(end) if Instant::now() < *end => {
                    return Err(JournalError::io("renew", "nowhere", "connection refused"));
                }
                Self::SilentUntil(end) if Instant::now() < *end => {
                    return std::future::pending().await;
                }
                Self::RefusesUntil(_) | Self::SilentUntil(_) => {}
            }
            Ok(Vec::new())
        })
    }

    fn spawn_write(&self, _: TxWork<()>) -> Option<JoinHandle<()>> {
        None
    }

    fn growth_hints(&self) -> GrowthHints {
        GrowthHints(None)
    }

    fn place(&self) -> String {
        "nowhere".to_owned()
    }
}

fn lease() -> Arc<Lease> {
    lease_of(1)
}

fn lease_of(journal: i64) -> Arc<Lease> {
    Arc::new(Lease {
        session: SessionId::from("s"),
        journal,
        token: journal,
        ttl: 30_000,
        renewed: Mutex::new(Instant::now()),
        lost: CancellationToken::new(),
        reason: OnceLock::new(),
        ended: Arc::new(EndedLeases::new(TTL)),
    })
}

#[tokio::test(start_paused = true)]
async fn a_lease_ends_at_its_deadline_when_the_database_is_silent() {
    let (renewals, lease) = (Renewals::new(Arc::new(Answers::Never), TTL), lease());
    let start = Instant::now();
    renewals.add(&lease);
    lease.lost().cancelled().await;
    assert_eq!(start.elapsed(), TTL, "neither earlier nor later");
    let lost = lease.lost_error().unwrap().to_string();
    assert!(lost.contains("could not renew its lease for 30 s"), "{lost}");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_stopped_asks_the_database_whether_it_has_its_lease() {
    let database = Answers::After(Duration::from_secs(1));
    let (renewals, lease) = (Renewals::new(Arc::new(database), TTL), lease());
    let planned = Instant::now() + renewals.interval();
    tokio::time::advance(TTL * 2).await;
    renewals.renew(&[Arc::clone(&lease)], planned).await;
    assert!(lease.lost_error().is_none());
    assert_eq!(lease.last_renewed(), planned - renewals.interval() + TTL * 2);
}

/// Two leases, the second granted ten seconds after the first.
async fn two_leases(renewals: &Arc<Renewals<Answers>>) -> (Arc<Lease>, Arc<Lease>) {
    let first = lease_of(1);
    renewals.add(&first);
    tokio::time::sleep(Duration::from_millis(9_900)).await;
    let second = lease_of(2);
    renewals.add(&second);
    (first, second)
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_connections_for_a_while_costs_no_lease() {
    let end = Instant::now() + Duration::from_secs(29);
    let renewals = Renewals::new(Arc::new(Answers::RefusesUntil(end)), TTL);
    let (first, second) = two_leases(&renewals).await;
    tokio::time::sleep(TTL * 3).await;
    assert!(first.lost_error().is_none() && second.lost_error().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_over_takes_no_time_from_the_others() {
    let start = Instant::now();
    let end = start + Duration::from_secs(29);
    let renewals = Renewals::new(Arc::new(Answers::SilentUntil(end)), TTL);
    let (first, second) = two_leases(&renewals).await;
    first.lost().cancelled().await;
    assert_eq!(start.elapsed(), TTL);
    tokio::time::sleep(TTL * 3).await;
    assert!(second.lost_error().is_none(), "it is renewed when the database answers again");
}
