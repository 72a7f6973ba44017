//! Suspends runs after too many failures.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use super::{Plugin, PluginCategory, PluginPriority, RunSummary};
use crate::clock::{Clock, SystemClock};
use crate::hook::PromptDecision;
use crate::into_arc::IntoArc;
use crate::message::Block;

/// Blocks runs for a while after several runs in a row have failed, so that a service that is down
/// is not called again and again. After the pause one run is tried; if it fails, the pause starts
/// again.
///
/// Single model calls are retried by the turn itself
/// ([`TurnRules::retry`](crate::turn::TurnRules::retry)).
///
/// ```
/// use std::time::Duration;
///
/// use robota_core::plugin::CircuitBreaker;
///
/// let breaker = CircuitBreaker::new(3, Duration::from_secs(60));
/// assert!(!breaker.is_open());
/// ```
pub struct CircuitBreaker {
    failures: u32,
    pause: Duration,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The failed runs in a row.
    failed: u32,
    /// When the last one failed.
    since: Option<Timestamp>,
}

impl CircuitBreaker {
    /// Creates a plugin that blocks runs for the time of `pause` after that many failures in a row.
    #[must_use]
    pub fn new(failures: u32, pause: Duration) -> Self {
        let clock = Arc::new(SystemClock);
        Self { failures: failures.max(1), pause, clock, state: Mutex::default() }
    }

    /// Sets the clock by which the waiting time is measured.
    #[must_use]
    pub fn clock(mut self, clock: impl IntoArc<dyn Clock>) -> Self {
        self.clock = clock.into_arc();
        self
    }

    /// Returns whether a run would be blocked now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.left().is_some()
    }

    /// Returns how long runs are still blocked; none if they are not.
    fn left(&self) -> Option<SignedDuration> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // The count stays after the pause: the first run then is a trial, and its failure blocks
        // again at once.
        let since = state.since.filter(|_| state.failed >= self.failures)?;
        let pause = SignedDuration::try_from(self.pause).unwrap_or(SignedDuration::MAX);
        // The time of day may be set back; then runs are blocked for longer, never for shorter.
        let left = pause.saturating_sub(self.clock.now().duration_since(since));
        (left > SignedDuration::ZERO).then_some(left)
    }
}

#[async_trait]
impl Plugin for CircuitBreaker {
    fn name(&self) -> &str {
        "error-handling"
    }

    fn category(&self) -> PluginCategory {
        PluginCategory::ErrorHandling
    }

    fn priority(&self) -> PluginPriority {
        PluginPriority::HIGH
    }

    async fn before_run(&self, _prompt: &[Block]) -> PromptDecision {
        match self.left() {
            None => PromptDecision::Continue { context: None },
            Some(left) => PromptDecision::Block {
                reason: format!(
                    "the last {} runs failed; runs are suspended for {} more seconds",
                    self.failures,
                    left.as_secs().max(1)
                ),
            },
        }
    }

    fn after_run(&self, run: &RunSummary) {
        // A run that was blocked, by this plugin or another hook, called no service.
        if run.rounds == 0 {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if run.error.is_some() {
            state.failed = state.failed.saturating_add(1);
            state.since = Some(self.clock.now());
        } else {
            *state = State::default();
        }
    }
}
