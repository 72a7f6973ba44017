//! The task of a pool: wakes sessions whose schedules are due, and makes idle ones passive.

use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::SignedDuration;
use robota_core::ids::SessionId;

use super::Inner;
use crate::schedule::{LOOK_AT_CLOCK, until};

/// When a session that could not be woken is tried again.
const RETRY: SignedDuration = SignedDuration::from_secs(5);

/// Runs until the pool is dropped.
pub(super) async fn run(pool: Weak<Inner>) {
    loop {
        let Some(inner) = pool.upgrade() else { return };
        let wait = wake_due(&inner);
        let wait = [wait, close_idle(&inner).await].into_iter().flatten().min();
        let changed = Arc::clone(&inner.changed);
        drop(inner);
        match wait {
            Some(wait) => {
                let _ = tokio::time::timeout(wait, changed.notified()).await;
            }
            // Nothing is live and nothing is due.
            None => changed.notified().await,
        }
    }
}

/// Wakes the sessions that are due; returns how long to wait for the next one.
fn wake_due(inner: &Arc<Inner>) -> Option<Duration> {
    let now = inner.clock.now();
    let (due, next) = inner.registry().due_at(now);
    for id in due {
        // Set a later due time first: if waking fails, the session is tried again.
        let later = now.checked_add(RETRY).unwrap_or(now);
        let mut registry = inner.registry();
        if let Some(entry) = registry.get(&id) {
            registry.set_due(&id, &entry, Some(later));
        }
        drop(registry);
        drop(tokio::spawn(wake(Arc::clone(inner), id)));
    }
    next.map(|next| until(next, now).min(LOOK_AT_CLOCK))
}

async fn wake(inner: Arc<Inner>, id: SessionId) {
    // The task of the schedules, which starts with the session, fires them.
    if let Err(error) = inner.pin(&id).await {
        tracing::warn!(session = %id, %error, "a session with a due schedule could not be opened");
    }
}

/// Makes sessions passive that were idle for long enough; returns how long to wait.
async fn close_idle(inner: &Arc<Inner>) -> Option<Duration> {
    let idle_after = inner.limits.idle_after;
    let mut wait = None::<Duration>;
    let live = inner.registry().live_entries();
    for (id, entry) in live {
        let unused = inner.unused_for(&entry);
        let closed = unused >= idle_after && inner.passivate(&id, &entry).await;
        if !closed {
            // A session that is busy or in use is checked again after half the time.
            let left = match idle_after.saturating_sub(unused) {
                Duration::ZERO => idle_after / 2,
                left => left,
            };
            let left = left.max(Duration::from_millis(100));
            wait = Some(wait.map_or(left, |wait| wait.min(left)));
        }
    }
    wait
}
