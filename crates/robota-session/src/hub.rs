//! What a session's task publishes to its handles: events once they are written, the status, store
//! failures, and why the session ended.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use indexmap::IndexSet;
use robota_core::driver::Observer;
use robota_core::error::ErrorData;
use robota_core::event::{Cursor, Envelope, Event};
use robota_core::ids::{CallId, InputId, SessionId};
use robota_core::journal::{JournalError, LostReason};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::error::SessionError;

/// Capacity of the event queue. A reader that is further behind catches up from the journal.
// A few frames of a fast stream. It is allocated for every open session, so it is not larger.
const QUEUE: usize = 128;

/// Says what a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// No turn runs; the session waits for an input.
    Ready,
    /// A model or tools are running.
    Busy,
    /// At least one call waits for approval.
    Paused,
}

/// The current status of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LiveStatus {
    /// Something runs or is about to.
    pub(crate) busy: bool,
    /// Calls that wait for approval, in the order in which they were asked.
    pub(crate) waiting_calls: IndexSet<CallId>,
    /// The last event that was published.
    pub(crate) last: Option<Cursor>,
}

impl LiveStatus {
    pub(crate) fn state(&self) -> SessionState {
        match (self.busy, self.waiting_calls.is_empty()) {
            (_, false) => SessionState::Paused,
            (true, true) => SessionState::Busy,
            (false, true) => SessionState::Ready,
        }
    }

    fn apply(&mut self, envelope: &Envelope) {
        self.last = Some(envelope.cursor());
        match &envelope.event {
            Event::PermissionAsked(data) => {
                self.waiting_calls.insert(data.call.clone());
            }
            Event::PermissionDecided(data) => {
                self.waiting_calls.shift_remove(&data.call);
            }
            Event::ToolFinished(data) => {
                self.waiting_calls.shift_remove(&data.call);
            }
            // A turn that ends early leaves its questions without an answer.
            Event::TurnFinished(_) => self.waiting_calls.clear(),
            _ => {}
        }
    }
}

/// A turn that ended because the journal could not be written, so its end is not published.
#[derive(Debug, Clone)]
pub(crate) struct StoreFailure {
    pub(crate) error: ErrorData,
    /// The inputs that no turn has taken: they are delivered once the journal can be written.
    pub(crate) undelivered: HashSet<InputId>,
}

/// Publishes events and the status from a session's task to its handles.
pub(crate) struct SessionHub {
    events: broadcast::Sender<Arc<Envelope>>,
    status: watch::Sender<LiveStatus>,
    /// The last turn that ended because the journal could not be written.
    failed: watch::Sender<Option<StoreFailure>>,
    /// Counts events that may make a schedule fire, or change when it fires.
    schedules: watch::Sender<u64>,
    /// Cancelled when the session's task has ended.
    pub(crate) ended: CancellationToken,
    /// Set when the session was lost because its store does not answer: it will probably not answer
    /// readers either.
    pub(crate) unreachable: Arc<Unreachable>,
    reason: OnceLock<SessionError>,
}

impl SessionHub {
    pub(crate) fn new(last: Option<Cursor>) -> Arc<Self> {
        Arc::new(Self {
            events: broadcast::Sender::new(QUEUE),
            status: watch::Sender::new(LiveStatus { last, ..LiveStatus::default() }),
            failed: watch::Sender::new(None),
            schedules: watch::Sender::new(0),
            ended: CancellationToken::new(),
            unreachable: Arc::default(),
            reason: OnceLock::new(),
        })
    }

    /// Returns an observer that publishes every event of a recorder. The status changes first, so
    /// that it is at least as new as any event that a reader has seen.
    pub(crate) fn observer(self: &Arc<Self>) -> Observer {
        let hub = Arc::clone(self);
        Arc::new(move |envelope| {
            hub.status.send_modify(|status| status.apply(envelope));
            if concerns_schedules(&envelope.event) {
                hub.schedules.send_modify(|count| *count += 1);
            }
            // Sending fails if there is no subscriber, which is not a failure.
            let _ = hub.events.send(Arc::clone(envelope));
        })
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<Envelope>> {
        self.events.subscribe()
    }

    pub(crate) fn status(&self) -> LiveStatus {
        self.status.borrow().clone()
    }

    pub(crate) fn set_busy(&self, busy: bool) {
        // Watchers wake up only for a change; the task sets this before and after every turn.
        self.status.send_if_modified(|status| std::mem::replace(&mut status.busy, busy) != busy);
    }

    /// Publishes that a turn ended because the journal could not be written.
    pub(crate) fn fail(&self, failure: StoreFailure) {
        self.failed.send_replace(Some(failure));
    }

    /// Subscribes to failures of the journal from now on.
    pub(crate) fn failures(&self) -> watch::Receiver<Option<StoreFailure>> {
        let mut failures = self.failed.subscribe();
        // A failure from before this input does not concern its caller.
        failures.mark_unchanged();
        failures
    }

    /// Marks the session as ended. The first reason is kept.
    pub(crate) fn end(&self, reason: SessionError) {
        // Cancelled before `ended`: a reader that wakes up must not ask the store.
        self.unreachable.note(&reason);
        // Set before `ended` is cancelled: callers that wake up read the reason.
        let _ = self.reason.set(reason);
        self.status.send_modify(|status| {
            status.busy = false;
            status.waiting_calls.clear();
        });
        self.ended.cancel();
    }

    /// Subscribes to events that may make a schedule fire, or change when it fires.
    pub(crate) fn schedule_events(&self) -> watch::Receiver<u64> {
        self.schedules.subscribe()
    }

    /// Subscribes to changes of the status.
    pub(crate) fn watch(&self) -> watch::Receiver<LiveStatus> {
        self.status.subscribe()
    }

    /// Returns why the session has ended.
    pub(crate) fn why_ended(&self, session: &SessionId) -> SessionError {
        self.reason.get().cloned().unwrap_or_else(|| SessionError::Closed {
            session: session.clone(),
            reason: "its task ended".to_owned(),
        })
    }
}

/// Whether a session ended because its store did not answer for a whole lease.
#[derive(Default)]
pub(crate) struct Unreachable {
    token: CancellationToken,
    error: OnceLock<SessionError>,
}

impl Unreachable {
    fn note(&self, reason: &SessionError) {
        let lost = matches!(
            reason,
            SessionError::Journal(JournalError::Lost { reason: LostReason::NotRenewed { .. }, .. })
        );
        if lost {
            let _ = self.error.set(reason.clone());
            self.token.cancel();
        }
    }

    /// Returns the error of the session some time after it ended so; never if it does not.
    pub(crate) async fn error_after(&self, grace: Duration) -> SessionError {
        self.token.cancelled().await;
        tokio::time::sleep(grace).await;
        match self.error.get() {
            Some(error) => error.clone(),
            None => std::future::pending().await,
        }
    }
}

/// Returns whether the event may make a schedule fire, or change when it fires.
fn concerns_schedules(event: &Event) -> bool {
    matches!(
        event,
        Event::AssistantMessage(_)
            | Event::ScheduleAdded(_)
            | Event::SchedulePaused(_)
            | Event::ScheduleResumed(_)
            | Event::ScheduleRemoved(_)
    )
}
