//! A clock that tests control.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use robota_core::clock::Clock;

use crate::lock;

/// A clock that does not advance, or advances by a fixed step at each reading. Clones share the
/// time.
#[derive(Debug, Clone)]
pub struct FakeClock {
    state: Arc<Mutex<ClockState>>,
}

#[derive(Debug)]
struct ClockState {
    now: Timestamp,
    step: Duration,
}

impl FakeClock {
    /// The initial time of every fake clock: 2026-01-01T00:00:00Z.
    pub const START: Timestamp = Timestamp::constant(1_767_225_600, 0);

    /// Creates a clock that does not advance.
    #[must_use]
    pub fn fixed() -> Self {
        Self::stepping(Duration::ZERO)
    }

    /// Creates a clock that advances by `step` after each reading. The first reading is
    /// [`FakeClock::START`].
    #[must_use]
    pub fn stepping(step: Duration) -> Self {
        Self { state: Arc::new(Mutex::new(ClockState { now: Self::START, step })) }
    }

    /// Sets the time, forwards or backwards.
    pub fn set(&self, now: Timestamp) {
        lock(&self.state).now = now;
    }

    /// Advances the time that the clock shows.
    pub fn advance(&self, by: Duration) {
        let mut state = lock(&self.state);
        state.now = add_saturating(state.now, by);
    }
}

impl Default for FakeClock {
    fn default() -> Self {
        Self::fixed()
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        let mut state = lock(&self.state);
        let now = state.now;
        state.now = add_saturating(now, state.step);
        now
    }
}

/// Adds a duration, limited to the largest timestamp.
fn add_saturating(now: Timestamp, by: Duration) -> Timestamp {
    // A test that advances too far should see the last moment, not a panic in the clock.
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
