//! When a failed model call is retried.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{FailureReason, ProviderError};
use crate::backoff::Backoff;
use crate::error::Diagnose as _;

/// A name that does not exist is mostly mistyped, so it is not tried for the whole budget.
const UNKNOWN_HOST_RETRIES: u32 = 3;

/// How failed model calls are retried: limited by elapsed time, and by number if that is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// The maximum duration of a series of failures; a retry that would exceed it is not made.
    pub budget: Duration,
    /// The first delay. Each further delay is twice as long.
    pub base: Duration,
    /// The maximum delay, unless the service asks for a longer one.
    pub cap: Duration,
    /// The maximum number of retries after one call; none has no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            budget: Duration::from_secs(300),
            base: Duration::from_millis(500),
            cap: Duration::from_secs(30),
            max_retries: None,
        }
    }
}

impl RetryPolicy {
    /// Returns how long to wait before the next attempt, or `None` if a retry does not help or
    /// would exceed the budget. `failures` is the number of consecutive failures including this
    /// one, `spent` is the time since the first of them, and `seed` varies the delays of different
    /// callers.
    #[must_use]
    pub fn delay(
        &self,
        error: &ProviderError,
        failures: u32,
        spent: Duration,
        seed: impl std::hash::Hash,
    ) -> Option<Duration> {
        let of_reason = match error.reason {
            Some(FailureReason::UnknownHost) => Some(UNKNOWN_HOST_RETRIES),
            _ => None,
        };
        let used_up =
            [self.max_retries, of_reason].into_iter().flatten().any(|most| failures > most);
        if !error.retryable() || self.budget.is_zero() || used_up {
            return None;
        }
        // A `Retry-After` of zero is ignored: it would flood a service that is down with requests.
        let asked = error.retry_after.filter(|delay| !delay.is_zero());
        let delay = asked.unwrap_or_else(|| self.backoff(failures, seed));
        // A wait that would end after the budget is not begun: the caller learns of the failure
        // now.
        (spent.saturating_add(delay) <= self.budget).then_some(delay)
    }

    /// Doubles with each failure up to the cap, and varies so that many clients do not retry at the
    /// same moment. The variation depends only on the seed, so that a run can be repeated exactly.
    fn backoff(&self, failures: u32, seed: impl std::hash::Hash) -> Duration {
        let full = Backoff::new(self.base, self.cap).after(failures);
        let mut hasher = DefaultHasher::new();
        (seed, failures).hash(&mut hasher);
        // Between half and all of the delay, so that many sessions that failed together do not
        // return together.
        let spread = (hasher.finish() % 1000) as u32;
        full / 2 + full.saturating_mul(spread) / 2000
    }

    /// Creates a policy that never retries.
    #[must_use]
    pub fn never() -> Self {
        Self {
            budget: Duration::ZERO,
            base: Duration::from_millis(1),
            cap: Duration::ZERO,
            max_retries: None,
        }
    }
}
