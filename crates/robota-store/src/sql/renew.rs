//! Renews the leases of all writers of a store: one task, one statement for all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use robota_core::journal::{JournalError, LostReason};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::ended_leases::Token;
use super::lease::{Lease, lock_session_row};
use super::{Database, work};

/// The shortest interval between renewals, however short a lease is.
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// The leases of the writers of one store.
pub(super) struct Renewals<D> {
    database: Arc<D>,
    ttl: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    leases: HashMap<Token, Weak<Lease>>,
    task: Option<JoinHandle<()>>,
}

impl<D: Database> Renewals<D> {
    pub(super) fn new(database: Arc<D>, ttl: Duration) -> Arc<Self> {
        Arc::new(Self { database, ttl, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews a lease until its writer is dropped.
    pub(super) fn add(self: &Arc<Self>, lease: &Arc<Lease>) {
        let mut state = self.state();
        state.leases.insert(lease.token, Arc::downgrade(lease));
        if state.task.as_ref().is_none_or(JoinHandle::is_finished) {
            state.task = Some(tokio::spawn(run(Arc::downgrade(self), self.interval())));
        }
    }

    /// Returns the time between two renewals: a third of the duration of a lease.
    fn interval(&self) -> Duration {
        // Three attempts within the duration of a lease, so that one lost renewal does not lose it.
        (self.ttl / 3).max(MIN_INTERVAL)
    }

    /// Returns the leases that have a writer; none if the task may end.
    fn live(&self) -> Option<Vec<Arc<Lease>>> {
        let mut state = self.state();
        state.leases.retain(|_, lease| lease.strong_count() > 0);
        let live: Vec<_> = state.leases.values().filter_map(Weak::upgrade).collect();
        if live.is_empty() {
            state.task = None;
            return None;
        }
        Some(live.into_iter().filter(|lease| lease.lost_error().is_none()).collect())
    }

    /// Renews all leases once. Returns when to do so again at the latest.
    async fn renew(&self, leases: &[Arc<Lease>]) -> Instant {
        let sent_at = Instant::now();
        let next = sent_at + self.interval();
        let keys = leases.iter().map(|lease| (lease.journal, lease.token)).collect();
        // A database that does not answer must not delay noticing that a lease is over.
        let deadline = leases.iter().map(|lease| lease.last_renewed() + self.ttl).min();
        let until = match deadline.filter(|_| D::SHARED) {
            Some(deadline) => deadline.min(next),
            None => sent_at + Duration::from_secs(3_600),
        };
        let ttl = i64::try_from(self.ttl.as_millis()).unwrap_or(i64::MAX / 2);
        let answer = tokio::time::timeout_at(until, self.database.renew(keys, ttl)).await;
        if let Ok(Ok(renewed)) = answer {
            for lease in leases {
                if renewed.contains(&lease.journal) {
                    lease.renewed(sent_at);
                } else {
                    self.find_loss_reason(lease).await;
                }
            }
            return next;
        }
        if !D::SHARED {
            // No other machine can have taken them, so renewing later is enough.
            return next;
        }
        let now = Instant::now();
        let mut soonest = next;
        for lease in leases {
            let elapsed = now.saturating_duration_since(lease.last_renewed());
            if elapsed >= self.ttl {
                lease.lose(LostReason::NotRenewed { elapsed });
            } else {
                soonest = soonest.min(lease.last_renewed() + self.ttl);
            }
        }
        soonest
    }

    /// Finds out why a lease could not be renewed.
    async fn find_loss_reason(&self, lease: &Arc<Lease>) {
        let mine = Arc::clone(lease);
        let check = work(move |tx| {
            Box::pin(async move {
                let row = lock_session_row(tx, &mine.session).await?;
                mine.check(row).map(|_| ())
            })
        });
        if let Err(JournalError::Lost { reason, .. }) = self.database.write(false, check).await {
            lease.lose(reason);
        }
    }
}

impl<D> Drop for Renewals<D> {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = state.task.take() {
            task.abort();
        }
    }
}

async fn run<D: Database>(renewals: Weak<Renewals<D>>, every: Duration) {
    let mut next = Instant::now() + every;
    loop {
        tokio::time::sleep_until(next).await;
        let Some(renewals) = renewals.upgrade() else { return };
        let Some(live) = renewals.live() else { return };
        next = renewals.renew(&live).await;
    }
}
