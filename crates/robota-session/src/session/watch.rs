//! Watching the turn that runs: what a client that attaches late, or redraws, needs to show.

use robota_core::event::Cursor;
use robota_core::ids::{CallId, InputId};
use robota_core::state::{OpenTurn, State};
use tokio::sync::watch;

use super::Session;
use crate::error::SessionError;
use crate::hub::{LiveStatus, SessionState};

/// A session at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveTurn {
    /// Ready, busy or paused.
    pub state: SessionState,
    /// The last event this contains: follow on from here.
    pub cursor: Option<Cursor>,
    /// The turn that runs: its round, the text that streams, its calls and how far they are.
    pub turn: Option<OpenTurn>,
    /// Calls that wait for approval.
    pub pending: Vec<CallId>,
    /// Inputs that are accepted and not delivered, in order.
    pub queued: Vec<InputId>,
}

/// Watches a session as it changes. A slow watcher misses what lies between, never the last.
pub struct TurnWatch {
    session: Session,
    status: watch::Receiver<LiveStatus>,
}

impl Session {
    /// Watches the session, beginning with how it is now. A watch keeps the session open, as any
    /// handle does.
    #[must_use]
    pub fn watch(&self) -> TurnWatch {
        let mut status = self.shared.hub.watch();
        status.mark_changed();
        TurnWatch { session: self.clone(), status }
    }
}

impl TurnWatch {
    /// The session as it is now.
    ///
    /// # Errors
    /// When the session has ended.
    pub async fn current(&self) -> Result<LiveTurn, SessionError> {
        let hub = self.session.shared.hub.clone();
        let look = move |state: &State| {
            let status = hub.status();
            LiveTurn {
                state: status.state(),
                cursor: state.cursor,
                turn: state.turn.clone(),
                pending: status.asked.into_iter().collect(),
                queued: state.inputs.keys().cloned().collect(),
            }
        };
        self.session.inspect(look).await
    }

    /// The session after its next change; at once the first time.
    ///
    /// # Errors
    /// When the session has ended.
    pub async fn next(&mut self) -> Result<LiveTurn, SessionError> {
        let hub = &self.session.shared.hub;
        tokio::select! {
            biased;
            () = hub.ended.cancelled() => return Err(hub.why_ended(self.session.id())),
            changed = self.status.changed() => {
                // The hub lives as long as the session's handle.
                let _ = changed;
            }
        }
        self.current().await
    }
}
