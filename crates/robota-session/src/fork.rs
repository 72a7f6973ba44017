//! Finds the points at which a session can be forked, and creates the fork: for a session that is
//! open and for one that is only stored.

use std::sync::Arc;

use robota_core::clock::Clock;
use robota_core::close::{Closing, close_turn};
use robota_core::driver::Recorder;
use robota_core::event::{
    Cursor, Envelope, Event, FORMAT, InputCancelled, Opened, Parent, SessionCreated, TurnEnd,
};
use robota_core::ids::{RandomIds, SessionId};
use robota_core::journal::{Journal, JournalError, JournalStore};
use robota_core::message::{Cause, Role};
use robota_core::resume::load_at;
use robota_core::state::{EarlierSnapshot, SafePoints, State};

use crate::error::SessionError;
use crate::id::{Selector, SnapshotId};
use crate::open::{damaged, load_state, resume_error};

/// How many events are read at a time while searching.
const PAGE: usize = 1_024;

/// Forks a session that need not be open: creates a new session that continues from a point of it.
/// The parent does not change, and may be open in another process. Returns where it was forked.
///
/// # Errors
/// If there is no such point, the id is not valid or taken, or the store fails.
pub async fn fork_stored(
    store: &dyn JournalStore,
    parent: &SessionId,
    place: &Selector,
    child: &SessionId,
    clock: Arc<dyn Clock>,
) -> Result<Cursor, SessionError> {
    let state = load_state(store, parent).await?;
    let point = resolve(&state, store, parent, place).await?;
    let fork = StoredFork::create(store, parent, point.at, state.cwd.clone(), child, clock);
    let (fork, state) = futures::try_join!(fork, point.load(store, parent, &state))?;
    close_parent_work(&mut fork.into_recorder(state)?).await?;
    Ok(point.at)
}

/// A point at which a session can be forked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ForkPoint {
    /// The last event that the fork shares with its parent.
    pub(crate) at: Cursor,
    /// A snapshot at or before it; none if there is none, or the point is the end of the journal.
    snapshot: Option<u64>,
}

impl ForkPoint {
    /// Returns the state of a session at this point. `last` is the state at its end.
    pub(crate) async fn load(
        self,
        store: &dyn JournalStore,
        session: &SessionId,
        last: &State,
    ) -> Result<State, SessionError> {
        if last.cursor == Some(self.at) {
            // A clone shares the messages of the view, so it is cheap.
            return Ok(last.clone());
        }
        let loaded = load_at(store, session, self.at.seq, self.snapshot, &last.view).await;
        loaded.map_err(|error| resume_error(session, error))
    }
}

/// Returns the point that a selector refers to. `state` is that of the session.
pub(crate) async fn resolve(
    state: &State,
    store: &dyn JournalStore,
    session: &SessionId,
    place: &Selector,
) -> Result<ForkPoint, SessionError> {
    let idle = state.turn.is_none() && !state.compacting;
    let find = async |wanted| find_safe_point(state, store, session, wanted).await;
    let at = match place {
        Selector::Latest => state.cursor.filter(|_| idle).or(state.safe_points.last),
        Selector::Label(name) => state.labels.get(name).copied(),
        Selector::SafePoint(number) => {
            let point = find(SafePointQuery::Number(*number)).await?;
            return point.ok_or_else(|| no_point(state, session, place));
        }
        Selector::At(cursor) => {
            let at = store.read_events(session, &[cursor.seq]).await?;
            if at.first().map(Envelope::cursor) != Some(*cursor) {
                let (session, at) = (session.clone(), *cursor);
                return Err(JournalError::NoSuchEvent { session, at }.into());
            }
            let point = find(SafePointQuery::LastUpTo(cursor.seq)).await?;
            return point.ok_or_else(|| no_point(state, session, place));
        }
    };
    let at = at.ok_or_else(|| no_point(state, session, place))?;
    // The state is known at the end of the journal. Elsewhere it is loaded from a snapshot.
    let before = match state.cursor {
        Some(end) if end == at => None,
        _ => find(SafePointQuery::LastUpTo(at.seq)).await?,
    };
    Ok(ForkPoint { at, snapshot: before.and_then(|before| before.snapshot) })
}

/// Returns the error for a selector that refers to no safe point.
pub(crate) fn no_point(state: &State, session: &SessionId, place: &Selector) -> SessionError {
    let session = session.clone();
    let place = SnapshotId { session: session.clone(), place: place.clone() }.to_string();
    SessionError::NoSafePoint { session, place, points: state.safe_points.count }
}

/// Selects the safe point that a search returns.
#[derive(Clone, Copy)]
enum SafePointQuery {
    /// The one with this number, counted from one.
    Number(u64),
    /// The last one at or before this event.
    LastUpTo(u64),
}

impl SafePointQuery {
    /// Returns the safe point, if it is among those that a snapshot or the state lists itself. All of
    /// these come after the last of the earlier snapshots.
    fn in_list(self, list: &SafePoints) -> Option<ForkPoint> {
        let at = match self {
            Self::Number(number) => list.recent(number),
            Self::LastUpTo(seq) => list.recent.iter().rev().find(|at| at.seq <= seq).copied(),
        };
        let snapshot = list.earlier.last().map(|snapshot| snapshot.seq);
        at.map(|at| ForkPoint { at, snapshot })
    }

    /// Returns true if the safe point is before this snapshot.
    fn is_before(self, snapshot: &EarlierSnapshot) -> bool {
        match self {
            Self::Number(number) => number <= snapshot.safe_points,
            Self::LastUpTo(seq) => seq < snapshot.seq,
        }
    }
}

/// Searches the list of the state, then those of earlier and earlier snapshots.
async fn find_safe_point(
    state: &State,
    store: &dyn JournalStore,
    session: &SessionId,
    wanted: SafePointQuery,
) -> Result<Option<ForkPoint>, JournalError> {
    if matches!(wanted, SafePointQuery::Number(number) if number == 0 || number > state.safe_points.count)
    {
        return Ok(None);
    }
    let mut list = state.safe_points.clone();
    let mut newest = u64::MAX;
    loop {
        if let Some(point) = wanted.in_list(&list) {
            return Ok(Some(point));
        }
        // The list has all safe points there are, and the wanted one is not among them.
        if list.count == list.recent.len() as u64 {
            return Ok(None);
        }
        let earlier = list.earlier.iter().find(|snapshot| wanted.is_before(snapshot));
        // A snapshot is older than the one that refers to it, so the loop ends.
        let next = earlier.or(list.earlier.last()).filter(|snapshot| snapshot.seq < newest);
        let Some(EarlierSnapshot { seq, safe_points }) = next.copied() else { break };
        let event = store.read_events(session, &[seq]).await?.pop().map(|event| event.event);
        match event {
            // The count is compared because the number of an event is all that links the two: a
            // wrong link must not lead to another point.
            Some(Event::StateSnapshot(found)) if found.safe_points.count == safe_points => {
                list = found.safe_points;
                newest = seq;
            }
            _ => break,
        }
    }
    // Snapshots of older versions do not refer to earlier ones, so the journal is scanned.
    scan(store, session, wanted).await
}

/// Searches all events from the first one.
async fn scan(
    store: &dyn JournalStore,
    session: &SessionId,
    wanted: SafePointQuery,
) -> Result<Option<ForkPoint>, JournalError> {
    let (mut count, mut last, mut snapshot) = (0, None, None);
    let mut after = 0;
    loop {
        let page = store.read_without_chunks(session, after, PAGE).await?;
        for event in &page {
            if matches!(wanted, SafePointQuery::LastUpTo(seq) if event.seq > seq) {
                return Ok(last);
            }
            after = event.seq;
            if matches!(event.event, Event::StateSnapshot(_)) {
                snapshot = Some(event.seq);
            }
            if SafePoints::is_safe_point(&event.event) {
                count += 1;
                last = Some(ForkPoint { at: event.cursor(), snapshot });
            }
            if matches!(wanted, SafePointQuery::Number(number) if number == count) {
                return Ok(last);
            }
        }
        if page.len() < PAGE {
            return Ok(last.filter(|_| matches!(wanted, SafePointQuery::LastUpTo(_))));
        }
    }
}

/// A fork that is stored and open for writing.
pub(crate) struct StoredFork {
    child: SessionId,
    journal: Box<dyn Journal>,
    clock: Arc<dyn Clock>,
    /// The events that it begins with, after those that it shares with its parent.
    first: Vec<Arc<Envelope>>,
}

impl StoredFork {
    /// Creates a fork. It is durable when this returns.
    pub(crate) async fn create(
        store: &dyn JournalStore,
        parent: &SessionId,
        at: Cursor,
        cwd: Option<String>,
        child: &SessionId,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SessionError> {
        // A fork is written by another writer than its parent, so it begins a new epoch, as a
        // resume does.
        let epoch = at.epoch + 1;
        let created = SessionCreated {
            session: child.clone(),
            format: FORMAT,
            cwd,
            parent: Some(Parent { session: parent.clone(), at }),
            spawned_by: None,
        };
        let opened = Opened { epoch, after_seq: at.seq, pid: Some(std::process::id()) };
        let first: Vec<_> = (at.seq + 1..)
            .zip([Event::from(created), opened.into()])
            .map(|(seq, event)| {
                let (ts, turn) = (clock.now(), None);
                Arc::new(Envelope { seq, epoch, ts, turn, event, min_reader: None })
            })
            .collect();
        let journal = store.fork(parent, at, child, &first).await?;
        Ok(Self { child: child.clone(), journal, clock, first })
    }

    /// Returns the last event of the fork.
    pub(crate) fn last(&self) -> Option<Cursor> {
        self.first.last().map(|event| event.cursor())
    }

    /// Returns the recorder of the fork. `state` is that of the parent at the point of the fork.
    pub(crate) fn into_recorder(self, mut state: State) -> Result<Recorder, SessionError> {
        for event in &self.first {
            state.apply(event).map_err(|error| damaged(&self.child, &error))?;
        }
        Ok(Recorder::continuing(self.journal, self.clock, state))
    }
}

/// Returns true if nothing was recorded in a fork yet: then [`close_parent_work`] has not run, or
/// found nothing to close.
pub(crate) fn is_untouched_fork(state: &State) -> bool {
    let last = state.cursor.map_or(0, |cursor| cursor.seq);
    // Two events: the creation and the opening of the fork.
    state.parent.as_ref().is_some_and(|parent| last == parent.at.seq + 2)
}

/// Closes what a fork does not continue: the turn of its parent, and inputs for the parent.
pub(crate) async fn close_parent_work(recorder: &mut Recorder) -> Result<(), JournalError> {
    let state = recorder.state();
    let inputs = state.inputs.keys().cloned();
    // They are still delivered in the parent; in both sessions they would be answered twice.
    let cancelled = inputs.map(|input| InputCancelled { input, cause: Cause::User }.into());
    let mut events: Vec<Event> = cancelled.collect();
    // A whole answer completes the turn; tool results still wait for an answer.
    let last = state.view.messages.last();
    let answered = last.is_some_and(|message| message.role() == Role::Assistant);
    let end = if answered { TurnEnd::Complete } else { TurnEnd::Interrupted };
    let closing = Closing { end, announce: false, ..Closing::of(Cause::User) };
    let turn = state.turn.as_ref().and_then(|turn| turn.id.clone());
    // No call is open at a safe point, so no message needs an id.
    events.extend(close_turn(state, &closing, &RandomIds));
    if events.is_empty() { Ok(()) } else { recorder.append(turn.as_ref(), events).await }
}

#[cfg(test)]
mod tests;
