//! The task that fires the schedules of an open session.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use robota_core::clock::Clock;
use robota_session::{Session, SessionError, WeakSession};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::fire::fire;

/// The task looks at the clock at least this often while something is due later: the machine may
/// sleep, and its clock may be set.
pub(crate) const LOOK_AT_CLOCK: Duration = Duration::from_secs(60);

/// How long the task waits after a failure.
const RETRY: SignedDuration = SignedDuration::from_secs(5);

/// The task that fires the schedules of an open session. It ends with the session, or when
/// [`ScheduleDriver::stop`] is called; dropping this handle does not end it.
#[derive(Debug, Clone)]
pub struct ScheduleDriver {
    stop: CancellationToken,
}

impl ScheduleDriver {
    pub(crate) fn start(session: &Session) -> Self {
        let stop = CancellationToken::new();
        let (weak, clock) = (WeakSession::from(session), session.config().clock());
        let changes = session.journal().schedule_events();
        drop(tokio::spawn(stop.clone().run_until_cancelled_owned(drive(weak, clock, changes))));
        Self { stop }
    }

    /// Ends the task; inputs that it has accepted stay.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

async fn drive(session: WeakSession, clock: Arc<dyn Clock>, mut changes: watch::Receiver<u64>) {
    let mut due: Option<Timestamp> = None;
    loop {
        let now = clock.now();
        if let Some(due) = due
            && now < due
            && !changes.has_changed().unwrap_or(true)
        {
            // The task only looked at the clock.
            tokio::select! {
                () = session.ended() => return,
                _ = changes.changed() => changes.mark_changed(),
                () = tokio::time::sleep(until(due, now).min(LOOK_AT_CLOCK)) => {}
            }
            continue;
        }
        changes.mark_unchanged();
        let Some(open) = session.upgrade() else { return };
        let fired = open.journal().append_with(move |state, ids| fire(state, ids, now)).await;
        drop(open);
        due = match fired {
            Ok(Some(next)) => Some(next),
            Ok(None) => {
                // Nothing is due by time: only an event can change that.
                tokio::select! {
                    () = session.ended() => return,
                    changed = changes.changed() => {
                        if changed.is_err() {
                            return;
                        }
                    }
                }
                None
            }
            Err(SessionError::Closed { .. }) => return,
            Err(error) => {
                tracing::warn!(%error, "the schedules could not fire");
                clock.now().checked_add(RETRY).ok()
            }
        };
    }
}

/// Returns the time until then; at least a millisecond, so that a task never spins.
pub(crate) fn until(then: Timestamp, now: Timestamp) -> Duration {
    let wait = Duration::try_from(then.duration_since(now)).unwrap_or_default();
    wait.max(Duration::from_millis(1))
}
