//! Renews the leases of all writers of a store: one task, one statement for all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use robota_core::journal::{JournalError, LostReason};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Database;
use super::ended_leases::Token;
use super::lease::{Lease, Refused};

/// The shortest interval between renewals, however short a lease is.
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// How long the renewal of a lease that has expired may take at most.
const OVERDUE_TIMEOUT: Duration = Duration::from_secs(5);

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
        // So that there is time for more attempts within the duration of a lease.
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

    /// Renews all leases once. `planned` is when this should have started. Returns when to do so
    /// again at the latest.
    async fn renew(&self, leases: &[Arc<Lease>], planned: Instant) -> Instant {
        let sent_at = Instant::now();
        let next = sent_at + self.interval();
        // A process that did not run for longer than a lease may still have it: whether another
        // writer came meanwhile, only the database knows, so it gets the time to answer. If this
        // process did run, the database had its time and did not answer.
        let was_stopped = sent_at.saturating_duration_since(planned) >= self.interval();
        let leases = match was_stopped {
            true => leases.to_vec(),
            false => self.lose_expired(leases, sent_at),
        };
        if leases.is_empty() {
            return next;
        }
        // A database that does not answer must not delay noticing that a lease is over.
        let deadline = leases.iter().map(|lease| lease.last_renewed() + self.ttl).min();
        let deadline = deadline.filter(|_| D::SHARED);
        let overdue = deadline.is_some_and(|deadline| deadline <= sent_at);
        let until = match deadline {
            Some(_) if overdue => sent_at + self.interval().min(OVERDUE_TIMEOUT),
            Some(deadline) => deadline.min(next),
            None => sent_at + Duration::from_secs(3_600),
        };
        let answer = tokio::time::timeout_at(until, self.ask(&leases, overdue)).await;
        if let Ok(Ok(refused)) = answer {
            let mut reasons: HashMap<Token, LostReason> =
                refused.into_iter().map(|refused| (refused.token, refused.reason)).collect();
            for lease in leases {
                match reasons.remove(&lease.token) {
                    Some(reason) => lease.lose(reason),
                    None => lease.renewed(sent_at),
                }
            }
            return next;
        }
        if !D::SHARED {
            // No other machine can have taken them, so renewing later is enough.
            return next;
        }
        let now = Instant::now();
        // After an answer that is an error, the database is given a moment; without an answer it had
        // its time.
        let again = if answer.is_ok() { now + self.pause_after_error() } else { now };
        let left = self.lose_expired(&leases, now);
        let deadlines = left.iter().map(|lease| lease.last_renewed() + self.ttl);
        deadlines.fold(again, Instant::min)
    }

    /// Marks the leases that are over as lost, and returns the others.
    fn lose_expired(&self, leases: &[Arc<Lease>], now: Instant) -> Vec<Arc<Lease>> {
        let is_over = |lease: &Arc<Lease>| {
            let elapsed = now.saturating_duration_since(lease.last_renewed());
            let is_over = D::SHARED && elapsed >= self.ttl;
            if is_over {
                lease.lose(LostReason::NotRenewed { elapsed });
            }
            is_over
        };
        leases.iter().filter(|lease| !is_over(lease)).cloned().collect()
    }

    /// Returns the time to wait after a renewal that failed at once.
    fn pause_after_error(&self) -> Duration {
        (self.interval() / 10).max(MIN_INTERVAL)
    }

    /// Sends the renewal. If a lease has expired, a failure is no answer: the connection may have
    /// been closed while this process did not run, so the renewal is sent again.
    async fn ask(
        &self,
        leases: &[Arc<Lease>],
        overdue: bool,
    ) -> Result<Vec<Refused>, JournalError> {
        let ttl = i64::try_from(self.ttl.as_millis()).unwrap_or(i64::MAX / 2);
        loop {
            let keys = leases.iter().map(|lease| (lease.journal, lease.token)).collect();
            match self.database.renew(keys, ttl).await {
                Err(_) if overdue => tokio::time::sleep(MIN_INTERVAL).await,
                answer => return answer,
            }
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
        next = renewals.renew(&live, next).await;
    }
}

#[cfg(test)]
mod tests;
