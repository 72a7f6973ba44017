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
use robota_core::resume::load_fork;
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
    let at = resolve(&state, store, parent, place).await?;
    let fork = StoredFork::create(store, parent, at, state, child, clock).await?;
    close_parent_work(&mut fork.load(store).await?).await?;
    Ok(at)
}

/// Returns the event that a selector refers to. `state` is that of the session.
pub(crate) async fn resolve(
    state: &State,
    store: &dyn JournalStore,
    session: &SessionId,
    place: &Selector,
) -> Result<Cursor, SessionError> {
    let idle = state.turn.is_none() && !state.compacting;
    let point = match place {
        Selector::Latest => state.cursor.filter(|_| idle).or(state.safe_points.last),
        Selector::Label(name) => state.labels.get(name).copied(),
        Selector::SafePoint(number) => {
            find_safe_point(state, store, session, Wanted::Number(*number)).await?
        }
        Selector::At(cursor) => {
            let at = store.read_events(session, &[cursor.seq]).await?;
            if at.first().map(Envelope::cursor) != Some(*cursor) {
                let (session, at) = (session.clone(), *cursor);
                return Err(JournalError::NoSuchEvent { session, at }.into());
            }
            find_safe_point(state, store, session, Wanted::LastUpTo(cursor.seq)).await?
        }
    };
    point.ok_or_else(|| no_point(state, session, place))
}

/// Returns the error for a selector that refers to no safe point.
pub(crate) fn no_point(state: &State, session: &SessionId, place: &Selector) -> SessionError {
    let session = session.clone();
    let place = SnapshotId { session: session.clone(), place: place.clone() }.to_string();
    SessionError::NoSafePoint { session, place, points: state.safe_points.count }
}

/// Which safe point is searched for.
#[derive(Clone, Copy)]
enum Wanted {
    /// The one with this number, counted from one.
    Number(u64),
    /// The last one at or before this event.
    LastUpTo(u64),
}

impl Wanted {
    /// Returns the safe point, if it is among those that a snapshot or the state lists itself.
    fn in_list(self, list: &SafePoints) -> Option<Cursor> {
        match self {
            Self::Number(number) => list.recent(number),
            Self::LastUpTo(seq) => list.recent.iter().rev().find(|at| at.seq <= seq).copied(),
        }
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
    wanted: Wanted,
) -> Result<Option<Cursor>, JournalError> {
    if matches!(wanted, Wanted::Number(number) if number == 0 || number > state.safe_points.count) {
        return Ok(None);
    }
    let mut list = state.safe_points.clone();
    let mut newest = u64::MAX;
    loop {
        if let Some(at) = wanted.in_list(&list) {
            return Ok(Some(at));
        }
        if list.count == list.recent.len() as u64 {
            return Ok(None);
        }
        let earlier = list.earlier.iter().find(|snapshot| wanted.is_before(snapshot));
        // A snapshot is older than the one that refers to it, so the loop ends.
        let next = earlier.or(list.earlier.last()).filter(|snapshot| snapshot.seq < newest);
        let Some(EarlierSnapshot { seq, safe_points }) = next.copied() else { break };
        let event = store.read_events(session, &[seq]).await?.pop().map(|event| event.event);
        match event {
            Some(Event::StateSnapshot(found)) if found.safe_points.count == safe_points => {
                list = found.safe_points;
                newest = seq;
            }
            _ => break,
        }
    }
    // Snapshots of older versions do not refer to earlier ones, so the journal is scanned.
    let (mut count, mut last) = (0, None);
    let found = scan(store, session, |event| {
        if matches!(wanted, Wanted::LastUpTo(seq) if event.seq > seq) {
            return SearchStep::Stop;
        }
        if SafePoints::is_safe_point(&event.event) {
            count += 1;
            last = Some(event.cursor());
        }
        match wanted {
            Wanted::Number(number) if number == count => SearchStep::Found,
            Wanted::Number(_) | Wanted::LastUpTo(_) => SearchStep::Continue,
        }
    })
    .await?;
    Ok(match wanted {
        Wanted::Number(_) => found,
        Wanted::LastUpTo(_) => last,
    })
}

enum SearchStep {
    Continue,
    Found,
    Stop,
}

/// Reads a journal until `step` finds an event or stops.
async fn scan(
    store: &dyn JournalStore,
    id: &SessionId,
    mut step: impl FnMut(&Envelope) -> SearchStep,
) -> Result<Option<Cursor>, JournalError> {
    let mut after = 0;
    loop {
        let page = store.read(id, after, PAGE).await?;
        for event in &page {
            match step(event) {
                SearchStep::Continue => after = event.seq,
                SearchStep::Found => return Ok(Some(event.cursor())),
                SearchStep::Stop => return Ok(None),
            }
        }
        if page.len() < PAGE {
            return Ok(None);
        }
    }
}

/// A fork that is stored and open for writing. Its state is loaded by [`StoredFork::load`].
pub(crate) struct StoredFork {
    child: SessionId,
    journal: Box<dyn Journal>,
    clock: Arc<dyn Clock>,
    /// The events that it begins with, after those that it shares with its parent.
    first: Vec<Arc<Envelope>>,
    /// The state of the parent.
    parent: State,
    at: Cursor,
}

impl StoredFork {
    /// Creates a fork. It is durable when this returns. `parent_state` is that of the parent.
    pub(crate) async fn create(
        store: &dyn JournalStore,
        parent: &SessionId,
        at: Cursor,
        parent_state: State,
        child: &SessionId,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SessionError> {
        let epoch = at.epoch + 1;
        let created = SessionCreated {
            session: child.clone(),
            format: FORMAT,
            cwd: parent_state.cwd.clone(),
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
        Ok(Self { child: child.clone(), journal, clock, first, parent: parent_state, at })
    }

    /// Returns the last event of the fork.
    pub(crate) fn last(&self) -> Option<Cursor> {
        self.first.last().map(|event| event.cursor())
    }

    /// Returns true if the state of the fork follows from that of its parent, and nothing is read.
    pub(crate) fn is_loaded(&self) -> bool {
        self.parent.cursor == Some(self.at)
    }

    /// Loads the state.
    pub(crate) async fn load(self, store: &dyn JournalStore) -> Result<Recorder, SessionError> {
        let child = &self.child;
        let state = if self.is_loaded() {
            self.first.iter().try_fold(self.parent, |mut state, event| {
                state.apply(event).map_err(|error| damaged(child, &error))?;
                Ok::<_, SessionError>(state)
            })?
        } else {
            let loaded = load_fork(store, child, &self.parent.view).await;
            loaded.map_err(|error| resume_error(child, error))?
        };
        Ok(Recorder::continuing(self.journal, self.clock, state))
    }
}

/// Returns true if nothing was recorded in a fork yet: then [`close_parent_work`] has not run, or
/// found nothing to close.
pub(crate) fn is_untouched_fork(state: &State) -> bool {
    let last = state.cursor.map_or(0, |cursor| cursor.seq);
    state.parent.as_ref().is_some_and(|parent| last == parent.at.seq + 2)
}

/// Closes what a fork does not continue: the turn of its parent, and inputs for the parent.
pub(crate) async fn close_parent_work(recorder: &mut Recorder) -> Result<(), JournalError> {
    let state = recorder.state();
    let inputs = state.inputs.keys().cloned();
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
