//! The compaction of a command (`/compact`): no turn follows its events.

use std::sync::{Arc, Mutex, PoisonError};

use robota_core::event::{Envelope, Event};

/// Collects the events of compactions outside of turns.
#[derive(Default)]
pub(crate) struct Compactions(Mutex<Vec<Arc<Envelope>>>);

impl Compactions {
    /// Takes an event of the session.
    pub(crate) fn observe(&self, envelope: &Arc<Envelope>) {
        let is_compaction = matches!(
            envelope.event,
            Event::CompactionStarted(_) | Event::CompactionFinished(_) | Event::CompactionFailed(_)
        );
        // Those of a turn are events of its chat, which prints them.
        if is_compaction && envelope.turn.is_none() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(envelope.clone());
        }
    }

    /// Returns the events since the last call.
    pub(crate) fn take(&self) -> Vec<Arc<Envelope>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
