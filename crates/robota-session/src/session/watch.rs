//! Watches the running turn: what a client needs to show when it attaches late or redraws.

use robota_core::event::Cursor;
use robota_core::ids::{CallId, InputId};
use robota_core::state::{OpenTurn, State};
use tokio::sync::watch;

use super::Session;
use crate::error::SessionError;
use crate::hub::{LiveStatus, SessionState};

/// Describes a session at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveTurn {
    /// Whether it waits for an input, runs a turn, or waits for an approval.
    pub state: SessionState,
    /// The last event that this includes: subscribe from here.
    pub cursor: Option<Cursor>,
    /// The running turn: its round, the streamed text, and its calls with their progress.
    pub turn: Option<OpenTurn>,
    /// The ids of the calls that wait for approval.
    pub pending: Vec<CallId>,
    /// Inputs that were accepted and not delivered yet, in order.
    pub queued: Vec<InputId>,
}

/// Watches a session as it changes. A slow watcher misses intermediate states, never the last one.
pub struct TurnWatch {
    session: Session,
    status: watch::Receiver<LiveStatus>,
}

impl Session {
    /// Watches the session, starting with its current state. A watch keeps the session open, like
    /// any handle.
    #[must_use]
    pub fn watch(&self) -> TurnWatch {
        let mut status = self.shared.hub.watch();
        status.mark_changed();
        TurnWatch { session: self.clone(), status }
    }
}

impl TurnWatch {
    /// Returns the session's current state.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn current(&self) -> Result<LiveTurn, SessionError> {
        let hub = self.session.shared.hub.clone();
        let look = move |state: &State| {
            let status = hub.status();
            LiveTurn {
                state: status.state(),
                cursor: state.cursor,
                turn: state.turn.clone(),
                pending: status.waiting_calls.into_iter().collect(),
                queued: state.inputs.keys().cloned().collect(),
            }
        };
        self.session.inspect(look).await
    }

    /// Waits for the next change and returns the state after it; returns immediately the first
    /// time.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn next(&mut self) -> Result<LiveTurn, SessionError> {
        let hub = &self.session.shared.hub;
        tokio::select! {
            biased;
            () = hub.ended.cancelled() => return Err(hub.why_ended(self.session.id())),
            changed = self.status.changed() => {
                // This cannot fail: the handle of the session owns the hub.
                let _ = changed;
            }
        }
        self.current().await
    }
}
