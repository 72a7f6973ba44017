//! Wall-clock time, injected. Durations (timeouts, retries) use tokio's clock, which tests can
//! pause; this clock only sets the time of events.

use jiff::Timestamp;

/// Gives the time of day to everything that dates events; tests pass a clock of their own.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// Reads the system's clock. Sessions use it unless their builder gets another clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the real clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
