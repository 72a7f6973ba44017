//! Keeps the latest named events.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{EventSink, NamedEvent, OwnerSegment};

/// Keeps the latest events for later inspection. Older events are dropped: an agent may run for hours,
/// and its journal has all events.
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
    /// Creates a history of at most `capacity` events; with 0 it only counts what it drops.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity, state: Mutex::default() }
    }

    /// Returns all kept events, oldest first.
    #[must_use]
    pub fn snapshot(&self) -> Vec<NamedEvent> {
        self.state().events.iter().cloned().collect()
    }

    /// Returns the kept events of an owner: those whose path contains its segment.
    #[must_use]
    pub fn of_owner(&self, owner: &OwnerSegment) -> Vec<NamedEvent> {
        let state = self.state();
        state.events.iter().filter(|event| event.owner_path.contains(owner)).cloned().collect()
    }

    /// Returns the number of events that were dropped because the history was full.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.state().dropped
    }

    /// Removes all events and resets the counter.
    pub fn clear(&self) {
        *self.state() = State::default();
    }

    /// Ignores poisoning: a panic cannot leave a partial event in the state.
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
