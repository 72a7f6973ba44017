//! A journal in memory.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Journal, JournalError};
use crate::event::{Durability, Envelope};

/// A journal that lives as long as its process. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal {
    events: Arc<Mutex<Vec<Arc<Envelope>>>>,
}

impl MemoryJournal {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What it holds, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<Arc<Envelope>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait::async_trait]
impl Journal for MemoryJournal {
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        _durability: Durability,
    ) -> Result<(), JournalError> {
        let mut held = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        held.extend_from_slice(events);
        Ok(())
    }
}
