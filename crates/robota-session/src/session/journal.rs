//! The journal of a session, for clients.

use std::sync::Arc;

use robota_core::blob::Blobs;
use robota_core::event::{Cursor, Event, ModelAsked};
use robota_core::guard::guarded;
use robota_core::ids::Ids;
use robota_core::state::State;
use robota_core::task::Tasks;
use robota_core::usage::Usage;
use tokio::sync::{oneshot, watch};

use super::Session;
use crate::actor::{Request, function_panicked};
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

    /// Records a model call that was made for the session outside its conversation, for instance by a
    /// hook, so that its tokens are counted.
    ///
    /// # Errors
    /// When the session has ended or its journal cannot be written.
    pub async fn record_model_call(
        &self,
        model: impl Into<String>,
        usage: Option<Usage>,
    ) -> Result<(), SessionError> {
        let asked = ModelAsked { model: model.into(), usage, error: None };
        self.0.append(vec![asked.into()]).await
    }

    /// Returns the background tasks and groups that the journal has.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn tasks(&self) -> Result<Tasks, SessionError> {
        self.0.inspect(|state| state.tasks.clone()).await
    }

    /// Returns whether the journal is open: the session was not shut down and has not failed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.0.shared.hub.ended.is_cancelled()
    }

    /// Returns a counter that changes with every event that may make a schedule fire, or change
    /// when it fires.
    #[must_use]
    pub fn schedule_events(&self) -> watch::Receiver<u64> {
        self.0.shared.hub.schedule_events()
    }

    /// Reads the state that the events fold to.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn state<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        self.0.inspect(look).await
    }

    /// Appends the events that `decide` returns for the current state: all or none, and nothing else
    /// is appended in between. Inputs among them are delivered like any other. Used for inputs that
    /// must be accepted once: `decide` looks into the state for their source.
    ///
    /// After an error the events may be in the journal, or get there later, but never only some of
    /// them.
    ///
    /// # Errors
    /// If `decide` returns an event that is neither an accepted input nor one of a schedule or a
    /// room, if `decide` panics, or if the journal cannot be written.
    pub async fn append_with<T: Send + 'static>(
        &self,
        decide: impl FnOnce(&State, &dyn Ids) -> (Vec<Event>, T) + Send + 'static,
    ) -> Result<T, SessionError> {
        let (answer, answered) = oneshot::channel();
        let decide = move |state: &State, ids: &dyn Ids| {
            // The function of the caller runs in the session's task, so its panic must end here.
            let decided = guarded("a function", || decide(state, ids));
            let Some((events, value)) = decided else {
                let _ = answer.send(Err(function_panicked("that decides what to append")));
                return Vec::new();
            };
            let refused = events.iter().find(|event| !may_be_decided(event));
            let refused = refused.map(|event| event.kind().to_owned());
            let Some(kind) = refused else {
                let _ = answer.send(Ok(value));
                return events;
            };
            let text = format!("a `{kind}` event cannot be recorded directly");
            let _ = answer.send(Err(SessionError::Setting(text)));
            Vec::new()
        };
        self.0.ask(|reply| Request::Decide { decide: Box::new(decide), reply }).await?;
        answered.await.unwrap_or_else(|_| Err(self.0.shared.hub.why_ended(self.0.id())))
    }

    /// Records an entry, a failure, a change of a background task, or an event of a type that this
    /// version does not know. Other
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

/// Returns whether a program may decide to append the event.
fn may_be_decided(event: &Event) -> bool {
    matches!(
        event,
        Event::InputAccepted(_)
            | Event::MessageInjected(_)
            | Event::EntryAdded(_)
            | Event::Failed(_)
            | Event::ScheduleAdded(_)
            | Event::ScheduleSkipped(_)
            | Event::SchedulePaused(_)
            | Event::ScheduleResumed(_)
            | Event::ScheduleRemoved(_)
            | Event::RoomHeard(_)
    )
}
