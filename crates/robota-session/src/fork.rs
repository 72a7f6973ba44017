//! Finds the points at which a session can be forked, and creates the fork: for a session that is
//! open and for one that is only stored.

use std::sync::Arc;

use indexmap::IndexMap;
use robota_core::clock::Clock;
use robota_core::close::{Closing, close_turn};
use robota_core::driver::Recorder;
use robota_core::event::{
    Cursor, Envelope, Event, FORMAT, InputCancelled, Opened, Parent, SessionCreated, TurnEnd,
};
use robota_core::ids::{RandomIds, SessionId};
use robota_core::journal::{JournalError, JournalStore};
use robota_core::message::{Cause, Role};
use robota_core::state::{SafePoints, State};

use crate::error::SessionError;
use crate::id::{Selector, SnapshotId};
use crate::open::{damaged, load_state};

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
    let places = ForkPoints::of(&load_state(store, parent).await?);
    let at = places.resolve(store, parent, place).await?;
    drop(create_fork(store, parent, at, places, child, clock).await?);
    Ok(at)
}

/// Where a session can be forked now.
pub(crate) struct ForkPoints {
    /// The last event, if the session is idle.
    at_rest: Option<Cursor>,
    pub(crate) points: SafePoints,
    /// The newest snapshot: it lists the safe points before the recent ones.
    snapshot: Option<u64>,
    labels: IndexMap<String, Cursor>,
    cwd: Option<String>,
    /// The whole state, for a fork at the last event: it need not be read again.
    pub(crate) state: Option<State>,
}

impl ForkPoints {
    pub(crate) fn of(state: &State) -> Self {
        let resting = state.turn.is_none() && !state.compacting;
        Self {
            at_rest: state.cursor.filter(|_| resting),
            points: state.safe_points.clone(),
            snapshot: state.sources.snapshot,
            labels: state.labels.clone(),
            cwd: state.cwd.clone(),
            state: None,
        }
    }

    /// Returns the event that a selector refers to.
    pub(crate) async fn resolve(
        &self,
        store: &dyn JournalStore,
        session: &SessionId,
        place: &Selector,
    ) -> Result<Cursor, SessionError> {
        let point = match place {
            Selector::Latest => self.at_rest.or(self.points.last),
            Selector::Label(name) => self.labels.get(name).copied(),
            Selector::SafePoint(number) => self.safe_point(store, session, *number).await?,
            Selector::At(cursor) => self.safe_point_before(store, session, *cursor).await?,
        };
        point.ok_or_else(|| self.no_point(session, place))
    }

    pub(crate) fn no_point(&self, session: &SessionId, place: &Selector) -> SessionError {
        let session = session.clone();
        let place = SnapshotId { session: session.clone(), place: place.clone() }.to_string();
        SessionError::NoSafePoint { session, place, points: self.points.count }
    }
}

impl ForkPoints {
    /// Returns the safe point with that number, counted from one.
    async fn safe_point(
        &self,
        store: &dyn JournalStore,
        session: &SessionId,
        number: u64,
    ) -> Result<Option<Cursor>, JournalError> {
        if number == 0 || number > self.points.count {
            return Ok(None);
        }
        let mut lists = SafePointLists::of(self);
        while let Some(list) = lists.next(store, session).await? {
            if let Some(at) = list.recent(number) {
                return Ok(Some(at));
            }
        }
        // Snapshots of older versions list no safe points, so the journal is scanned.
        let mut count = 0;
        scan(store, session, |event| {
            count += u64::from(SafePoints::is_one(&event.event));
            if count == number { SearchStep::Found } else { SearchStep::Continue }
        })
        .await
    }

    /// Returns the last safe point at or before an event, which must be in the journal.
    async fn safe_point_before(
        &self,
        store: &dyn JournalStore,
        session: &SessionId,
        cursor: Cursor,
    ) -> Result<Option<Cursor>, JournalError> {
        let at = store.read_events(session, &[cursor.seq]).await?;
        if at.first().map(Envelope::cursor) != Some(cursor) {
            return Err(JournalError::NoSuchEvent { session: session.clone(), at: cursor });
        }
        let mut lists = SafePointLists::of(self);
        while let Some(list) = lists.next(store, session).await? {
            let before = list.recent.iter().rev().find(|point| point.seq <= cursor.seq);
            if before.is_some() || list.count == 0 {
                return Ok(before.copied());
            }
        }
        let mut last = None;
        scan(store, session, |event| {
            if event.seq > cursor.seq {
                return SearchStep::Stop;
            }
            if SafePoints::is_one(&event.event) {
                last = Some(event.cursor());
            }
            SearchStep::Continue
        })
        .await?;
        Ok(last)
    }
}

/// The lists of safe points, newest first: that of the state, then those of earlier and earlier
/// snapshots.
struct SafePointLists {
    state: Option<SafePoints>,
    snapshot: Option<u64>,
    /// How many safe points are before those of the last list.
    left: u64,
}

impl SafePointLists {
    fn of(places: &ForkPoints) -> Self {
        let (state, snapshot) = (Some(places.points.clone()), places.snapshot);
        Self { state, snapshot, left: places.points.count }
    }

    /// Returns the next list; none at the end, and if a snapshot has no list.
    async fn next(
        &mut self,
        store: &dyn JournalStore,
        session: &SessionId,
    ) -> Result<Option<SafePoints>, JournalError> {
        let list = match (self.state.take(), self.snapshot.take()) {
            (Some(list), snapshot) => {
                self.snapshot = snapshot;
                list
            }
            (None, Some(seq)) if self.left > 0 => {
                let event =
                    store.read_events(session, &[seq]).await?.pop().map(|event| event.event);
                let Some(Event::StateSnapshot(snapshot)) = event else { return Ok(None) };
                self.snapshot = snapshot.previous;
                snapshot.safe_points
            }
            (None, _) => return Ok(None),
        };
        // A list that leaves a gap to the next newer one is incomplete.
        let complete = list.count == self.left;
        self.left = list.count.saturating_sub(list.recent.len() as u64);
        Ok(complete.then_some(list))
    }
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

/// Creates a fork and opens it for writing. It is durable when this returns.
pub(crate) async fn create_fork(
    store: &dyn JournalStore,
    parent: &SessionId,
    at: Cursor,
    places: ForkPoints,
    child: &SessionId,
    clock: Arc<dyn Clock>,
) -> Result<Recorder, SessionError> {
    let epoch = at.epoch + 1;
    let created = SessionCreated {
        session: child.clone(),
        format: FORMAT,
        cwd: places.cwd,
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
    let state = match places.state.filter(|state| state.cursor == Some(at)) {
        Some(state) => first.iter().try_fold(state, |mut state, event| {
            state.apply(event).map_err(|error| damaged(child, &error))?;
            Ok::<_, SessionError>(state)
        })?,
        None => load_state(store, child).await?,
    };
    let mut recorder = Recorder::continuing(journal, clock, state);
    close_parent_work(&mut recorder).await?;
    Ok(recorder)
}

/// Closes what a fork does not continue: the turn of its parent, and inputs for the parent.
async fn close_parent_work(recorder: &mut Recorder) -> Result<(), JournalError> {
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
