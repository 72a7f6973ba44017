//! Decides when a frame is drawn: keys are shown at once, and what happens in the session at most 60
//! times a second.

use std::time::Duration;

/// The time between two frames that the session causes.
const FRAME: Duration = Duration::from_micros(16_667);

/// What was drawn, and what waits to be.
pub(super) struct Pace {
    last: Duration,
    waits: Waits,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Waits {
    Nothing,
    /// Something happened in the session, or time passed.
    Change,
    /// The user typed something.
    Key,
}

impl Pace {
    /// Begins after the first frame.
    pub(super) fn new(now: Duration) -> Self {
        Self { last: now, waits: Waits::Nothing }
    }

    /// Notes that something changed.
    pub(super) fn changed(&mut self) {
        self.waits = self.waits.max(Waits::Change);
    }

    /// Notes that the user typed something.
    pub(super) fn typed(&mut self) {
        self.waits = Waits::Key;
    }

    /// Returns the time of the next frame; none while nothing waits.
    pub(super) fn next_frame(&self) -> Option<Duration> {
        match self.waits {
            Waits::Nothing => None,
            Waits::Change => Some(self.last + FRAME),
            Waits::Key => Some(self.last),
        }
    }

    /// Returns whether a frame is drawn now.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.next_frame().is_some_and(|at| at <= now)
    }

    /// Notes that a frame was drawn, or will never be.
    pub(super) fn drawn(&mut self, now: Duration) {
        *self = Self::new(now);
    }
}

#[cfg(test)]
mod tests;
