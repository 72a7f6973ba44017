//! A journal whose n-th append fails.

use std::sync::{Arc, Mutex};

use robota_core::event::{Durability, Envelope};
use robota_core::journal::{Journal, JournalError, MemoryJournal};

use crate::lock;

/// A journal in memory that fails where a test wants it, and keeps what was asked of it. Clones
/// are the same journal.
///
/// ```
/// use robota_testkit::FailingJournal;
///
/// let healthy = FailingJournal::new();
/// let hiccup = FailingJournal::new().fail_once(3);
/// let dead = FailingJournal::new().fail_from(3);
/// # let _ = (healthy, hiccup, dead);
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

/// One append, as it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Appended {
    /// The events.
    pub events: Vec<Arc<Envelope>>,
    /// How safe they were to be.
    pub durability: Durability,
    /// Whether it failed.
    pub failed: bool,
}

impl Appended {
    /// The names of its events.
    #[must_use]
    pub fn kinds(&self) -> Vec<&str> {
        crate::kinds(&self.events)
    }
}

impl FailingJournal {
    /// A journal that does not fail.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes into that journal.
    #[must_use]
    pub fn around(inner: MemoryJournal) -> Self {
        Self { inner, ..Self::default() }
    }

    /// The `nth` append fails, the first being one; all others succeed.
    #[must_use]
    pub fn fail_once(self, nth: usize) -> Self {
        self.failing(Failing::Once(nth))
    }

    /// The `nth` append fails, the first being one, and so does every later one.
    #[must_use]
    pub fn fail_from(self, nth: usize) -> Self {
        self.failing(Failing::From(nth))
    }

    /// No append fails from here on.
    pub fn heal(&self) {
        lock(&self.shared).failing = Failing::Never;
    }

    /// What it holds, oldest first: only what was appended without failing.
    #[must_use]
    pub fn events(&self) -> Vec<Arc<Envelope>> {
        self.inner.events()
    }

    /// Every append, failed ones included, in order.
    #[must_use]
    pub fn appends(&self) -> Vec<Appended> {
        lock(&self.shared).appends.clone()
    }

    fn failing(self, failing: Failing) -> Self {
        lock(&self.shared).failing = failing;
        self
    }

    /// Notes the append; the number of it when it is to fail.
    fn note(&self, events: &[Arc<Envelope>], durability: Durability) -> Option<usize> {
        let mut shared = lock(&self.shared);
        let nth = shared.appends.len() + 1;
        let failed = match shared.failing {
            Failing::Never => false,
            Failing::Once(at) => nth == at,
            Failing::From(at) => nth >= at,
        };
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
        match self.note(events, durability) {
            Some(nth) => Err(JournalError::Io {
                action: "append to",
                place: "the journal of the test".to_owned(),
                reason: format!("append {nth} fails, as the test wants"),
            }),
            None => self.inner.append(events, durability).await,
        }
    }
}

#[cfg(test)]
mod tests;
