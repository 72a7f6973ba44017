//! Changes of a stored session that is not open.

use std::sync::Arc;

use robota_core::clock::Clock;
use robota_core::driver::Recorder;
use robota_core::event::{Opened, Renamed};
use robota_core::ids::SessionId;
use robota_core::journal::JournalStore;

use crate::error::SessionError;
use crate::open::load_state;

/// Names a stored session that is not open.
///
/// # Errors
/// If the session is open, a crash left a turn open, or the journal cannot be written.
pub async fn rename_stored(
    store: &dyn JournalStore,
    session: &SessionId,
    name: impl Into<String>,
    clock: Arc<dyn Clock>,
) -> Result<(), SessionError> {
    let mut stored = open_stored(store, session, clock).await?;
    stored.recorder.append(None, vec![Renamed { name: name.into() }.into()]).await?;
    stored.close("renamed").await
}

/// The journal of a session that is not open, opened for a change between turns.
pub(crate) struct StoredSession {
    pub(crate) recorder: Recorder,
    /// Whether the last process closed the session, and did not crash.
    closed: bool,
}

impl StoredSession {
    /// Ends the change. A session that a crash left stays without an end: the process that resumes it
    /// has to see the crash, because it ends the processes that still run and completes the files.
    pub(crate) async fn close(mut self, end: &str) -> Result<(), SessionError> {
        if self.closed {
            self.recorder.close(end).await?;
        }
        self.recorder.release().await;
        Ok(())
    }
}

/// Opens the journal of a session for a change between turns.
pub(crate) async fn open_stored(
    store: &dyn JournalStore,
    session: &SessionId,
    clock: Arc<dyn Clock>,
) -> Result<StoredSession, SessionError> {
    let journal = store.open(session).await?;
    let state = load_state(store, session).await?;
    if state.turn.is_some() || state.compacting {
        return Err(SessionError::Unrecovered { session: session.clone() });
    }
    let after_seq = state.cursor.map_or(0, |cursor| cursor.seq);
    // Asked before `opened` is appended, which clears it.
    let closed = state.closed;
    let mut recorder = Recorder::new(journal, clock, state);
    let opened = Opened { epoch: recorder.epoch(), after_seq, pid: Some(std::process::id()) };
    recorder.append(None, vec![opened.into()]).await?;
    Ok(StoredSession { recorder, closed })
}
