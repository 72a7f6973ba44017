//! A clock that tests turn.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use robota_core::clock::Clock;

use crate::lock;

/// A clock that stands still, or goes on by the same step at each reading. Clones are the same
/// clock.
#[derive(Debug, Clone)]
pub struct FakeClock {
    hands: Arc<Mutex<Hands>>,
}

#[derive(Debug)]
struct Hands {
    now: Timestamp,
    step: Duration,
}

impl FakeClock {
    /// Where every clock of this kind begins: 2026-01-01T00:00:00Z.
    pub const START: Timestamp = Timestamp::constant(1_767_225_600, 0);

    /// A clock that stands still.
    #[must_use]
    pub fn fixed() -> Self {
        Self::stepping(Duration::ZERO)
    }

    /// A clock that goes on by `step` after each reading, the first of which is
    /// [`FakeClock::START`].
    #[must_use]
    pub fn stepping(step: Duration) -> Self {
        Self { hands: Arc::new(Mutex::new(Hands { now: Self::START, step })) }
    }

    /// Sets the time, forwards or backwards.
    pub fn set(&self, now: Timestamp) {
        lock(&self.hands).now = now;
    }

    /// Goes on by that much.
    pub fn advance(&self, by: Duration) {
        let mut hands = lock(&self.hands);
        hands.now = later(hands.now, by);
    }
}

impl Default for FakeClock {
    fn default() -> Self {
        Self::fixed()
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        let mut hands = lock(&self.hands);
        let now = hands.now;
        hands.now = later(now, hands.step);
        now
    }
}

/// The end of time is the end of it.
fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
