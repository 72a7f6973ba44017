//! The port to the journal of a session.

use async_trait::async_trait;
use robota_core::event::Event;
use robota_core::task::{TaskState, TaskUsage};

/// Records the changes of tasks before they are published. A change is recorded before it is
/// published.
#[async_trait]
pub trait TaskJournal: Send + Sync {
    /// Appends events. Returns when they are written.
    ///
    /// # Errors
    /// If they cannot be written now; the text is for people. The journal may write them later, as a
    /// session does.
    async fn record(&self, events: Vec<Event>) -> Result<(), String>;

    /// Returns what the model calls of a task used that an earlier process did not record the end of:
    /// the journal of an agent's own session has them. Nothing by default.
    async fn used(&self, _: &TaskState) -> Vec<TaskUsage> {
        Vec::new()
    }
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
