//! Shuts a pool down.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::StreamExt as _;
use robota_core::ids::SessionId;
use robota_session::{EventKind, Session, SessionError, StartAt};
use tokio::time::Instant;

use super::live::Slot;
use super::{Pool, PoolError};

/// How many sessions are closed at the same time.
const CLOSING: usize = 64;

/// How a pool was shut down.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShutdownReport {
    /// Sessions whose work ended in time, or that were idle.
    pub completed: Vec<SessionId>,
    /// Sessions whose turn was interrupted. Inputs that wait are kept for the next resume.
    pub interrupted: Vec<SessionId>,
    /// Sessions whose end could not be written.
    pub failed: Vec<(SessionId, PoolError)>,
}

impl Pool {
    /// Shuts the pool down: accepts nothing more, gives running turns the `grace` to end, interrupts
    /// those that run longer, and closes all sessions.
    pub async fn shutdown(&self, grace: Duration) -> ShutdownReport {
        let inner = self.inner();
        inner.closing.store(true, Ordering::Release);
        // Nothing is woken or made passive any more.
        inner.stop.cancel();
        let deadline = Instant::now() + grace;
        let live = inner.registry().live_entries();
        let closing = futures::stream::iter(live).map(|(id, entry)| async move {
            let mut slot = entry.slot.lock().await;
            let ended = match std::mem::replace(&mut *slot, Slot::Passive) {
                Slot::Live(session) => close(&session, deadline).await,
                Slot::Passive | Slot::Removed => Ok(true),
            };
            inner.registry().set_passive(&id, &entry);
            (id, ended)
        });
        let mut closing = closing.buffer_unordered(CLOSING);
        let mut report = ShutdownReport::default();
        while let Some((id, ended)) = closing.next().await {
            match ended {
                Ok(true) => report.completed.push(id),
                Ok(false) => report.interrupted.push(id),
                Err(error) => report.failed.push((id, error.into())),
            }
        }
        report
    }
}

/// Closes a session; returns whether its work had ended.
async fn close(session: &Session, deadline: Instant) -> Result<bool, SessionError> {
    let mut changes = session.subscribe(StartAt::Now, [EventKind::State]).await.ok();
    loop {
        if session.close_if_idle("the pool shut down").await? {
            return Ok(true);
        }
        let Some(changes) = &mut changes else { break };
        // Between two turns there is no change of the state, so it looks again after a while.
        let next = tokio::time::timeout(Duration::from_millis(200), changes.next());
        if tokio::time::timeout_at(deadline, next).await.is_err() {
            break;
        }
    }
    session.shutdown("the pool shut down").await?;
    Ok(false)
}
