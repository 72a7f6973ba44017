//! What is shared between a session's task and those who look at it: events as they are
//! published, and how the session stands.

use std::sync::{Arc, OnceLock};

use indexmap::IndexSet;
use robota_core::driver::Observer;
use robota_core::error::ErrorData;
use robota_core::event::{Cursor, Envelope, Event};
use robota_core::ids::{CallId, SessionId};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::error::SessionError;

/// Events that a reader may be behind before it is caught up from the journal.
const QUEUE: usize = 1024;

/// How a session stands (KODE-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// It waits for input.
    Ready,
    /// A model or tools work.
    Busy,
    /// At least one call waits for approval.
    Paused,
}

/// How a session stands, as it changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Pulse {
    /// Something runs or is about to.
    pub(crate) busy: bool,
    /// Calls that wait for approval.
    pub(crate) asked: IndexSet<CallId>,
    /// The last event that was published.
    pub(crate) last: Option<Cursor>,
}

impl Pulse {
    pub(crate) fn state(&self) -> SessionState {
        match (self.busy, self.asked.is_empty()) {
            (_, false) => SessionState::Paused,
            (true, true) => SessionState::Busy,
            (false, true) => SessionState::Ready,
        }
    }

    fn see(&mut self, envelope: &Envelope) {
        self.last = Some(envelope.cursor());
        match &envelope.event {
            Event::PermissionAsked(data) => {
                self.asked.insert(data.call.clone());
            }
            Event::PermissionDecided(data) => {
                self.asked.shift_remove(&data.call);
            }
            Event::ToolFinished(data) => {
                self.asked.shift_remove(&data.call);
            }
            Event::TurnFinished(_) => self.asked.clear(),
            _ => {}
        }
    }
}

/// The public face of a running session.
pub(crate) struct Live {
    events: broadcast::Sender<Arc<Envelope>>,
    pulse: watch::Sender<Pulse>,
    /// The last failure of the journal: what it could not take, nobody is shown.
    failed: watch::Sender<Option<ErrorData>>,
    /// Is cancelled when the session's task is over.
    pub(crate) ended: CancellationToken,
    reason: OnceLock<SessionError>,
}

impl Live {
    pub(crate) fn new(last: Option<Cursor>) -> Arc<Self> {
        Arc::new(Self {
            events: broadcast::Sender::new(QUEUE),
            pulse: watch::Sender::new(Pulse { last, ..Pulse::default() }),
            failed: watch::Sender::new(None),
            ended: CancellationToken::new(),
            reason: OnceLock::new(),
        })
    }

    /// Shows every event of a recorder here. The pulse changes first: whoever sees the event
    /// finds the pulse at least as new.
    pub(crate) fn observer(self: &Arc<Self>) -> Observer {
        let live = Arc::clone(self);
        Arc::new(move |envelope| {
            live.pulse.send_modify(|pulse| pulse.see(envelope));
            // Nobody listens: that is no failure.
            let _ = live.events.send(Arc::clone(envelope));
        })
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<Envelope>> {
        self.events.subscribe()
    }

    pub(crate) fn pulse(&self) -> Pulse {
        self.pulse.borrow().clone()
    }

    pub(crate) fn set_busy(&self, busy: bool) {
        self.pulse.send_if_modified(|pulse| std::mem::replace(&mut pulse.busy, busy) != busy);
    }

    /// The journal failed: whoever waits for events is told so.
    pub(crate) fn fail(&self, error: ErrorData) {
        self.failed.send_replace(Some(error));
    }

    /// Failures of the journal from now on.
    pub(crate) fn failures(&self) -> watch::Receiver<Option<ErrorData>> {
        let mut failures = self.failed.subscribe();
        failures.mark_unchanged();
        failures
    }

    /// The task is over; the first reason stays.
    pub(crate) fn end(&self, reason: SessionError) {
        let _ = self.reason.set(reason);
        self.pulse.send_modify(|pulse| {
            pulse.busy = false;
            pulse.asked.clear();
        });
        self.ended.cancel();
    }

    /// Why nobody answers any more.
    pub(crate) fn why_ended(&self, session: &SessionId) -> SessionError {
        self.reason.get().cloned().unwrap_or_else(|| SessionError::Closed {
            session: session.clone(),
            reason: "its task ended".to_owned(),
        })
    }
}
