//! Schedules of a session that is not open.

use std::sync::Arc;

use robota_core::clock::Clock;
use robota_core::driver::Recorder;
use robota_core::event::Opened;
use robota_core::ids::{Ids, ScheduleId, SessionId};
use robota_core::journal::JournalStore;
use robota_core::resume::{ResumeError, load};
use robota_core::state::State;
use robota_session::SessionError;

use super::error::ScheduleError;
use super::{NewSchedule, ScheduleInfo, infos};

/// Changes the schedules of a session.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ScheduleChange {
    /// Adds a schedule, or replaces the one with the same id.
    Add(NewSchedule),
    /// Pauses a schedule; pausing a paused one changes nothing.
    Pause(ScheduleId),
    /// Resumes a paused schedule; times during the pause do not count as missed.
    Resume(ScheduleId),
    /// Removes a schedule; inputs that it has sent stay.
    Remove(ScheduleId),
}

/// Lists the schedules of a stored session, which another process may have open.
///
/// # Errors
/// If there is no such session, or it cannot be read.
pub async fn stored_schedules(
    store: &dyn JournalStore,
    session: &SessionId,
    clock: &dyn Clock,
) -> Result<Vec<ScheduleInfo>, ScheduleError> {
    Ok(infos(&state_of(store, session).await?, clock.now()))
}

/// Changes the schedules of a session that is not open, and returns them.
///
/// # Errors
/// If a process has the session open, the change is not valid, or the journal cannot be written.
pub async fn change_stored_schedule(
    store: &dyn JournalStore,
    session: &SessionId,
    change: ScheduleChange,
    (clock, ids): (Arc<dyn Clock>, &dyn Ids),
) -> Result<Vec<ScheduleInfo>, ScheduleError> {
    let journal = store.open(session).await?;
    let state = state_of(store, session).await?;
    let events = change.decide(&state, clock.now(), ids)?;
    // Asked before `opened` is appended, which clears it.
    let closed = state.closed;
    let mut recorder = Recorder::new(journal, clock.clone(), state);
    if !events.is_empty() {
        let after_seq = recorder.state().cursor.map_or(0, |cursor| cursor.seq);
        let opened = Opened { epoch: recorder.epoch(), after_seq, pid: Some(std::process::id()) };
        let events = std::iter::once(opened.into()).chain(events).collect();
        recorder.append(None, events).await?;
        // A session that a crash left stays without an end, so that the process that resumes it sees
        // the crash and cleans up after it.
        if closed {
            recorder.close("schedule changed").await?;
        }
    }
    Ok(infos(recorder.state(), clock.now()))
}

/// Computes the state of a stored session.
pub(crate) async fn state_of(
    store: &dyn JournalStore,
    session: &SessionId,
) -> Result<State, SessionError> {
    load(store, session).await.map_err(|error| match error {
        ResumeError::Journal(error) => error.into(),
        ResumeError::Fold(error) => {
            SessionError::Journal(robota_core::journal::JournalError::Damaged {
                place: format!("the journal of session `{session}`"),
                reason: error.to_string(),
            })
        }
    })
}
