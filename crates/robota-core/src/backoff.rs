//! How long to wait before a failed operation is tried again.

use std::time::Duration;

/// Computes growing waits: each is twice as long as the one before, up to a limit.
///
/// ```
/// use std::time::Duration;
/// use robota_core::backoff::Backoff;
///
/// let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
/// let waits = (1..=4).map(|failures| backoff.after(failures).as_secs());
/// assert_eq!(waits.collect::<Vec<_>>(), [1, 2, 4, 5]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
}

impl Backoff {
    /// Creates a backoff with the wait after the first failure and the longest wait. A longest wait
    /// below the first one counts as the first one.
    #[must_use]
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// Returns the wait after this number of failures in a row; none after no failure.
    #[must_use]
    pub fn after(&self, failures: u32) -> Duration {
        let Some(doublings) = failures.checked_sub(1) else { return Duration::ZERO };
        // Bounded, because a shift by more than 31 bits would overflow; any limit is reached long before.
        self.first.saturating_mul(1 << doublings.min(31)).min(self.longest.max(self.first))
    }
}

#[cfg(test)]
mod tests;
