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
    let mut recorder = open_stored(store, session, clock).await?;
    recorder.append(None, vec![Renamed { name: name.into() }.into()]).await?;
    recorder.close("renamed").await?;
    Ok(())
}

/// Opens the journal of a session for a change between turns.
pub(crate) async fn open_stored(
    store: &dyn JournalStore,
    session: &SessionId,
    clock: Arc<dyn Clock>,
) -> Result<Recorder, SessionError> {
    let journal = store.open(session).await?;
    let state = load_state(store, session).await?;
    if state.turn.is_some() || state.compacting {
        return Err(SessionError::Unrecovered { session: session.clone() });
    }
    let after_seq = state.cursor.map_or(0, |cursor| cursor.seq);
    let mut recorder = Recorder::new(journal, clock, state);
    let opened = Opened { epoch: recorder.epoch(), after_seq, pid: Some(std::process::id()) };
    recorder.append(None, vec![opened.into()]).await?;
    Ok(recorder)
}
