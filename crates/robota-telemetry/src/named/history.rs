//! Recording of named events.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{EventSink, NamedEvent, OwnerSegment};

/// Keeps the latest events, so that they can be looked at afterwards. Older ones fall out:
/// an agent runs for hours, and what must not be lost is in its journal.
#[derive(Debug)]
pub struct EventHistory {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<NamedEvent>,
    dropped: u64,
}

impl EventHistory {
    /// A history of at most so many events.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity, state: Mutex::default() }
    }

    /// The events it holds, oldest first.
    #[must_use]
    pub fn snapshot(&self) -> Vec<NamedEvent> {
        self.state().events.iter().cloned().collect()
    }

    /// The events it holds that belong to an owner: those with its segment in their path.
    #[must_use]
    pub fn of_owner(&self, owner: &OwnerSegment) -> Vec<NamedEvent> {
        let state = self.state();
        state.events.iter().filter(|event| event.owner_path.contains(owner)).cloned().collect()
    }

    /// How many events fell out.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.state().dropped
    }

    /// Forgets everything.
    pub fn clear(&self) {
        *self.state() = State::default();
    }

    /// A thread that panicked here left whole events behind, so the lock is taken over.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventSink for EventHistory {
    fn emit(&self, event: NamedEvent) {
        let mut state = self.state();
        state.events.push_back(event);
        while state.events.len() > self.capacity {
            state.events.pop_front();
            state.dropped = state.dropped.saturating_add(1);
        }
    }
}
