//! When a failed model call is tried again.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ProviderError;
use crate::error::Diagnose as _;

/// How failed model calls are tried again: by elapsed time, not by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Give up when a series of failures would last longer than this.
    pub budget: Duration,
    /// The first delay; each further one is twice as long.
    pub base: Duration,
    /// The longest delay, unless the service asks for a longer one.
    pub cap: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            budget: Duration::from_secs(300),
            base: Duration::from_millis(500),
            cap: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// How long to wait before the next attempt; none when trying again does not help or would
    /// exceed the budget. `failures` counts the failures in a row, this one included, `spent` is
    /// the time since the first of them, and `seed` spreads the delays of different callers.
    #[must_use]
    pub fn delay(
        &self,
        error: &ProviderError,
        failures: u32,
        spent: Duration,
        seed: impl std::hash::Hash,
    ) -> Option<Duration> {
        if !error.retryable() || self.budget.is_zero() {
            return None;
        }
        // A `Retry-After` of zero is not honoured: it would hammer a service that is down.
        let asked = error.retry_after.filter(|delay| !delay.is_zero());
        let delay = asked.unwrap_or_else(|| self.backoff(failures, seed));
        (spent.saturating_add(delay) <= self.budget).then_some(delay)
    }

    /// Doubles with each failure up to the cap, and is spread so that many clients do not come
    /// back at once. The spread follows from the seed, so that a run can be repeated exactly.
    fn backoff(&self, failures: u32, seed: impl std::hash::Hash) -> Duration {
        let doublings = failures.saturating_sub(1).min(16);
        let full = self.base.saturating_mul(1 << doublings).min(self.cap.max(self.base));
        let mut hasher = DefaultHasher::new();
        (seed, failures).hash(&mut hasher);
        let spread = (hasher.finish() % 1000) as u32;
        full / 2 + full.saturating_mul(spread) / 2000
    }

    /// Never tries again.
    #[must_use]
    pub fn never() -> Self {
        Self { budget: Duration::ZERO, base: Duration::from_millis(1), cap: Duration::ZERO }
    }
}
