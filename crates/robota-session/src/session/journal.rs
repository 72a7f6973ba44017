//! The journal of a session, for clients.

use std::sync::Arc;

use robota_core::blob::Blobs;
use robota_core::event::{Cursor, Event};
use robota_core::task::Tasks;

use super::Session;
use crate::error::SessionError;
use crate::event_kind::EventKind;
use crate::subscribe::SessionEvent;

/// Reads and extends the journal of a session.
#[derive(Clone)]
pub struct JournalHandle(pub(super) Session);

impl JournalHandle {
    /// Returns the large contents of the session, such as images.
    #[must_use]
    pub fn blobs(&self) -> Arc<dyn Blobs> {
        self.0.shared.store.blobs(self.0.id())
    }

    /// Reads at most `limit` events after a cursor, oldest first.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn read(
        &self,
        since: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<SessionEvent>, SessionError> {
        let after = since.map_or(0, |cursor| cursor.seq);
        let events = self.0.shared.store.read(self.0.id(), after, limit).await?;
        Ok(events
            .into_iter()
            .map(|envelope| SessionEvent {
                kinds: EventKind::of(&envelope.event).to_vec(),
                envelope: Arc::new(envelope),
            })
            .collect())
    }

    /// Returns the background tasks and groups that the journal has.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn tasks(&self) -> Result<Tasks, SessionError> {
        self.0.inspect(|state| state.tasks.clone()).await
    }

    /// Records an entry, a failure, a change of a background task, or an event of a type that this version does not know. Other
    /// events change the session, and have their own methods.
    ///
    /// # Errors
    /// If it is another event, or the journal cannot be written.
    pub async fn record(&self, event: impl Into<Event>) -> Result<(), SessionError> {
        let event = event.into();
        match &event {
            Event::EntryAdded(_)
            | Event::Failed(_)
            | Event::TaskChanged(_)
            | Event::TaskGroupChanged(_)
            | Event::Unknown { .. } => self.0.append(vec![event]).await,
            other => {
                let kind = other.kind().to_owned();
                Err(SessionError::Setting(format!("a `{kind}` event cannot be recorded directly")))
            }
        }
    }
}
