//! What the status line reports and no other part of the terminal counts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use robota_core::event::{Envelope, Event};
use robota_core::usage::Usage;
use robota_sdk::{Costs, DiffLine};

/// Counts of a session. Clones are the same counts.
#[derive(Clone)]
pub(crate) struct Measures(Arc<Mutex<Counts>>);

struct Counts {
    started: Instant,
    requested: Option<Timestamp>,
    api: Duration,
    added: u64,
    removed: u64,
    last: Option<Usage>,
    costs: Costs,
}

/// The counts at one time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    /// The time since the program opened the session.
    pub(crate) elapsed: Duration,
    /// The time in which model calls ran.
    pub(crate) api: Duration,
    /// Lines that calls added to files.
    pub(crate) added: u64,
    /// Lines that calls removed from files.
    pub(crate) removed: u64,
    /// What the last model call used.
    pub(crate) last: Option<Usage>,
    /// What all calls of the session used.
    pub(crate) costs: Costs,
}

impl Default for Measures {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Counts {
            started: Instant::now(),
            requested: None,
            api: Duration::ZERO,
            added: 0,
            removed: 0,
            last: None,
            costs: Costs::default(),
        })))
    }
}

impl Measures {
    /// Takes an event of the session.
    pub(super) fn observe(&self, envelope: &Envelope) {
        let mut counts = self.lock();
        match &envelope.event {
            Event::ModelRequested(_) => counts.requested = Some(envelope.ts),
            Event::ModelResponded(data) => {
                // Not every service reports tokens; the last known ones stay.
                counts.last = data.usage.or(counts.last);
                counts.end_call(envelope.ts);
            }
            Event::ModelFailed(_) | Event::ModelRetry(_) => counts.end_call(envelope.ts),
            _ => {}
        }
    }

    /// Counts the changed lines of a call.
    pub(super) fn count_lines(&self, diff: &[DiffLine]) {
        let (added, removed) = crate::terminal::diff::counts(diff);
        let mut counts = self.lock();
        counts.added += added as u64;
        counts.removed += removed as u64;
    }

    /// Takes what all calls of the session used.
    pub(crate) fn set_costs(&self, costs: Costs) {
        self.lock().costs = costs;
    }

    /// Returns the counts now.
    pub(super) fn snapshot(&self) -> Measured {
        let counts = self.lock();
        Measured {
            elapsed: counts.started.elapsed(),
            api: counts.api,
            added: counts.added,
            removed: counts.removed,
            last: counts.last,
            costs: counts.costs.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn end_call(&mut self, now: Timestamp) {
        if let Some(requested) = self.requested.take() {
            self.api += Duration::try_from(now.duration_since(requested)).unwrap_or_default();
        }
    }
}
