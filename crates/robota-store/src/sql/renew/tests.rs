use std::sync::OnceLock;

use futures::future::BoxFuture;
use robota_core::ids::SessionId;
use tokio_util::sync::CancellationToken;

use super::super::append::{Append, AppendOutcome};
use super::super::ended_leases::EndedLeases;
use super::super::{GrowthHints, ReadWork, TxWork};
use super::*;

const TTL: Duration = Duration::from_secs(30);

/// A database that never answers, or answers each renewal after this time.
struct Slow(Option<Duration>);

impl Database for Slow {
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
        leases: Vec<(i64, Token)>,
        _: i64,
    ) -> BoxFuture<'_, Result<HashSet<i64>, JournalError>> {
        let delay = self.0;
        Box::pin(async move {
            let Some(delay) = delay else { return std::future::pending().await };
            tokio::time::sleep(delay).await;
            Ok(leases.into_iter().map(|(journal, _)| journal).collect())
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
    Arc::new(Lease {
        session: SessionId::from("s"),
        journal: 1,
        token: 7,
        ttl: 30_000,
        renewed: Mutex::new(Instant::now()),
        lost: CancellationToken::new(),
        reason: OnceLock::new(),
        ended: Arc::new(EndedLeases::new(TTL)),
    })
}

#[tokio::test(start_paused = true)]
async fn a_lease_ends_at_its_deadline_when_the_database_is_silent() {
    let (renewals, lease) = (Renewals::new(Arc::new(Slow(None)), TTL), lease());
    let start = Instant::now();
    renewals.add(&lease);
    lease.lost().cancelled().await;
    assert_eq!(start.elapsed(), TTL, "neither earlier nor later");
    let lost = lease.lost_error().unwrap().to_string();
    assert!(lost.contains("could not renew its lease for 30 s"), "{lost}");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_stopped_asks_the_database_whether_it_has_its_lease() {
    let database = Slow(Some(Duration::from_secs(1)));
    let (renewals, lease) = (Renewals::new(Arc::new(database), TTL), lease());
    let planned = Instant::now() + renewals.interval();
    tokio::time::advance(TTL * 2).await;
    renewals.renew(&[Arc::clone(&lease)], planned).await;
    assert!(lease.lost_error().is_none());
    assert_eq!(lease.last_renewed(), planned - renewals.interval() + TTL * 2);
}
