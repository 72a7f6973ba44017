//! Stops turns that run longer than the budget allows, also in the middle of an answer or a command.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use robota_session::Session;

use super::{BudgetGuard, Guarded};

impl BudgetGuard {
    /// Watches the time of the turns, if it is limited, and interrupts the turns of `sessions`. The
    /// watch ends with the guard.
    pub(crate) fn stop_in_time(&self, sessions: impl Fn() -> Vec<Session> + Send + 'static) {
        self.call_in_time(move |reason| {
            for session in sessions() {
                let reason = reason.clone();
                // A turn that has just ended needs no interruption.
                drop(tokio::spawn(async move { session.interrupt(Some(reason)).await }));
            }
        });
    }

    /// Does the same with a function that receives the reason, for turns in another process.
    pub(crate) fn call_in_time(&self, stop: impl Fn(String) + Send + 'static) {
        let budget = self.0.budget;
        if budget.session.time.is_some() || budget.turn.time.is_some() {
            // Weak, so that the watch ends when the last guard is dropped.
            drop(tokio::spawn(watch(Arc::downgrade(&self.0), self.0.turns.subscribe(), stop)));
        }
    }
}

/// Warns about the time, and waits until it is used up. The wait starts again when a turn begins or
/// ends.
async fn watch(
    guard: Weak<Guarded>,
    mut turns: watch::Receiver<u64>,
    stop: impl Fn(String) + Send,
) {
    loop {
        // Marked as seen before the time is read. A change after this line ends the wait below.
        turns.borrow_and_update();
        let Some(now) = guard.upgrade().map(BudgetGuard) else { return };
        let (begin, warnings, left) = (Instant::now(), now.time_warnings(), now.time_left());
        drop(now);
        let expired = async {
            // A later warning, of another limit, would delay the end of the time.
            let in_time = |after: Duration| left.is_none_or(|left| after < left);
            for (after, warning) in warnings.into_iter().filter(|(after, _)| in_time(*after)) {
                sleep_until(begin + after).await;
                if let Some(guard) = guard.upgrade() {
                    BudgetGuard(guard).warn_once(warning);
                }
            }
            match left {
                Some(left) => sleep_until(begin + left).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = turns.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            () = expired => {
                let Some(guard) = guard.upgrade() else { return };
                stop(BudgetGuard(guard).stop_for_time());
                // The time stays used up, so without this wait the loop would interrupt again and
                // again.
                if turns.changed().await.is_err() {
                    return;
                }
            }
        }
    }
}
