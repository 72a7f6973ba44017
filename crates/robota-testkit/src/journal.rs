//! A journal whose n-th append fails.

use std::sync::{Arc, Mutex};

use robota_core::event::{Durability, Envelope};
use robota_core::journal::{Journal, JournalError, MemoryJournal};

use crate::lock;

/// A journal in memory whose appends fail on request, and which records every append. Clones share
/// the journal.
///
/// ```
/// use robota_testkit::FailingJournal;
///
/// let healthy = FailingJournal::new();
/// let transient = FailingJournal::new().fail_once(3);
/// let permanent = FailingJournal::new().fail_from(3);
/// # let _ = (healthy, transient, permanent);
/// ```
#[derive(Debug, Clone, Default)]
pub struct FailingJournal {
    inner: MemoryJournal,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    appends: Vec<Appended>,
    failing: Failing,
}

#[derive(Debug, Default)]
enum Failing {
    #[default]
    Never,
    Once(usize),
    From(usize),
}

/// One append, as it was requested.
#[derive(Debug, Clone, PartialEq)]
pub struct Appended {
    /// The events that the append contained, whether it failed or not.
    pub events: Vec<Arc<Envelope>>,
    /// How durable the caller asked the append to be.
    pub durability: Durability,
    /// Whether it failed as the test requested; its events are then not in the journal.
    pub failed: bool,
}

impl Appended {
    /// Returns the names of the events.
    #[must_use]
    pub fn kinds(&self) -> Vec<&str> {
        crate::kinds(&self.events)
    }
}

impl FailingJournal {
    /// Creates a journal that does not fail.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Wraps an existing journal.
    #[must_use]
    pub fn wrapping(inner: MemoryJournal) -> Self {
        Self { inner, ..Self::default() }
    }

    /// Makes only the `nth` append fail, counted from one.
    #[must_use]
    pub fn fail_once(self, nth: usize) -> Self {
        self.failing(Failing::Once(nth))
    }

    /// Makes the `nth` append and all later ones fail, counted from one.
    #[must_use]
    pub fn fail_from(self, nth: usize) -> Self {
        self.failing(Failing::From(nth))
    }

    /// Makes all further appends succeed.
    pub fn heal(&self) {
        lock(&self.shared).failing = Failing::Never;
    }

    /// Returns the events of all successful appends, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<Arc<Envelope>> {
        self.inner.events()
    }

    /// Returns every append in order, including failed ones.
    #[must_use]
    pub fn appends(&self) -> Vec<Appended> {
        lock(&self.shared).appends.clone()
    }

    fn failing(self, failing: Failing) -> Self {
        lock(&self.shared).failing = failing;
        self
    }

    /// Records the append. Returns its number if it must fail.
    fn record(&self, events: &[Arc<Envelope>], durability: Durability) -> Option<usize> {
        let mut shared = lock(&self.shared);
        let nth = shared.appends.len() + 1;
        let failed = match shared.failing {
            Failing::Never => false,
            Failing::Once(at) => nth == at,
            Failing::From(at) => nth >= at,
        };
        // Recorded also if it fails: a test checks what was tried.
        shared.appends.push(Appended { events: events.to_vec(), durability, failed });
        failed.then_some(nth)
    }
}

#[async_trait::async_trait]
impl Journal for FailingJournal {
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError> {
        match self.record(events, durability) {
            Some(nth) => Err(JournalError::Io {
                action: "append to",
                place: "the test journal".to_owned(),
                reason: format!("append {nth} fails, as the test requested"),
            }),
            None => self.inner.append(events, durability).await,
        }
    }
}

#[cfg(test)]
mod tests;
