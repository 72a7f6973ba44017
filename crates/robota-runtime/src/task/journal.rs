//! The port to the journal of a session.

use async_trait::async_trait;
use robota_core::event::Event;

/// Records the changes of tasks before they are published. A change is recorded before it is
/// published.
#[async_trait]
pub trait TaskJournal: Send + Sync {
    /// Appends events. Returns when they are written.
    ///
    /// # Errors
    /// If they cannot be written; the text is for people.
    async fn record(&self, events: Vec<Event>) -> Result<(), String>;
}

/// Records nothing, for tasks without a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJournal;

#[async_trait]
impl TaskJournal for NoJournal {
    async fn record(&self, _: Vec<Event>) -> Result<(), String> {
        Ok(())
    }
}
