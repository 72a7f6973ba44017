//! Wall time, injected. Durations (timeouts, back-off) use tokio's clock, which tests pause;
//! this one only dates events.

use jiff::Timestamp;

/// Tells the time of day.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the real clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
