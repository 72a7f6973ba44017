//! Computes the state of a stored journal from the newest snapshot, the events that it refers to,
//! and the events after it. If that is not possible, all events are folded.

use std::collections::{HashMap, HashSet};

use crate::error::{Diagnose, ErrorKind};
use crate::event::{Envelope, Event, StateSnapshot, ViewRefs};
use crate::ids::SessionId;
use crate::journal::{JournalError, JournalStore, SessionHead};
use crate::state::{
    FoldError, ModelView, REDUCER, SnapshotEvents, SnapshotLink, State, ViewListing,
};

/// How many events are read at once. It limits the memory that a long journal takes.
const PAGE: usize = 4096;

/// Up to this many events after a snapshot are read together with those that it refers to.
const MAX_LATER: u64 = 64;

/// Why a session cannot be resumed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// The store could not be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The events of the journal do not follow each other.
    #[error(transparent)]
    Fold(#[from] FoldError),
}

impl Diagnose for ResumeError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Journal(error) => error.kind(),
            Self::Fold(_) => ErrorKind::Storage,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Journal(error) => error.retryable(),
            Self::Fold(_) => false,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Journal(error) => error.hint(),
            Self::Fold(_) => Some("restore it from a backup, or fork before the damage".to_owned()),
        }
    }
}

/// Computes the state of a session.
///
/// # Errors
/// When the store cannot be read, or the journal has a gap.
pub async fn load(store: &dyn JournalStore, session: &SessionId) -> Result<State, ResumeError> {
    load_with_head(store, session, None).await
}

/// Computes the state of a session whose head may be known, because it is open for writing.
///
/// # Errors
/// As [`load`].
pub async fn load_with_head(
    store: &dyn JournalStore,
    session: &SessionId,
    head: Option<SessionHead>,
) -> Result<State, ResumeError> {
    let head = match head {
        Some(head) => head,
        None => store.head(session).await?,
    };
    load_at(store, session, head.last.seq, head.snapshot, &ModelView::default()).await
}

/// Computes the state of a session right after the event `at`, for a fork that starts there. `snapshot`
/// is a snapshot at or before it, preferably the newest; without one, all events are folded. Messages
/// that are also in the view `known`, or in the view that its last compaction replaced, are shared
/// with it and not read.
///
/// # Errors
/// As [`load`].
pub async fn load_at(
    store: &dyn JournalStore,
    session: &SessionId,
    at: u64,
    snapshot: Option<u64>,
    known: &ModelView,
) -> Result<State, ResumeError> {
    let state = match snapshot.filter(|snapshot| *snapshot <= at) {
        Some(seq) => from_snapshot(store, session, seq, at, known).await?,
        None => None,
    };
    fold_up_to(store, session, state.unwrap_or_default(), at).await
}

/// Computes the state of a session from all events, without snapshots, to verify [`load`].
///
/// # Errors
/// When the store cannot be read, or the journal has a gap.
pub async fn load_whole(
    store: &dyn JournalStore,
    session: &SessionId,
) -> Result<State, ResumeError> {
    fold_up_to(store, session, State::default(), u64::MAX).await
}

/// Folds the events after `state`, up to and including the event `last`.
async fn fold_up_to(
    store: &dyn JournalStore,
    session: &SessionId,
    mut state: State,
    last: u64,
) -> Result<State, ResumeError> {
    loop {
        let after = state.cursor.map_or(0, |cursor| cursor.seq);
        let left = usize::try_from(last.saturating_sub(after)).unwrap_or(usize::MAX);
        let limit = left.min(PAGE);
        if limit == 0 {
            return Ok(state);
        }
        let events = store.read(session, after, limit).await?;
        for event in events.iter().take_while(|event| event.seq <= last) {
            state.apply(event)?;
        }
        // Fewer than asked for: the end of the journal. `last` can be beyond it if an index is
        // newer than the journal.
        if events.len() < limit {
            return Ok(state);
        }
    }
}

/// Computes the state at a snapshot, or at the event `at` if few events are between them; `None` if the
/// snapshot has another version or contradicts the journal.
async fn from_snapshot(
    store: &dyn JournalStore,
    session: &SessionId,
    seq: u64,
    at: u64,
    known: &ModelView,
) -> Result<Option<State>, ResumeError> {
    let Some((envelope, snapshot)) = snapshot_at(store, session, seq).await? else {
        return Ok(None);
    };
    let mut needed = SnapshotEvents::default();
    let Some(view) = view_listing(store, session, &snapshot.view, seq).await? else {
        return Ok(None);
    };
    needed.view = view;
    if let Some(before) = &snapshot.before {
        let Some(view) = view_listing(store, session, &before.view, seq).await? else {
            return Ok(None);
        };
        needed.before = view;
    }

    let before = known.before.as_deref();
    for view in std::iter::once(known).chain(before.map(|before| &before.view)) {
        needed.view.share(view);
        needed.before.share(view);
    }
    let mut seqs: Vec<u64> =
        needed.view.unread().iter().chain(needed.before.unread()).copied().collect();
    seqs.push(snapshot.created);
    let single = [snapshot.prompt, snapshot.tools, snapshot.left_out, snapshot.watched];
    seqs.extend(single.into_iter().flatten());
    seqs.extend(&snapshot.inputs);
    seqs.extend(snapshot.schedules.iter().map(|it| it.added));
    // A few events after the snapshot are read with the others, which is one call less.
    // Limited, because a snapshot may be old: many events are folded page by page instead.
    let later = if at - seq <= MAX_LATER { seq + 1..=at } else { seq + 1..=seq };
    seqs.extend(later.clone());
    seqs.sort_unstable();
    // Stores read events by number and expect each of them once, in order.
    seqs.dedup();
    let mut events = match store.read_events(session, &seqs).await {
        Ok(events) => events,
        // The index of a store may be newer than the journal after a power failure. Folding everything
        // is always right.
        Err(JournalError::NoSuchEvent { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let expected = later;
    let later = events.split_off(events.partition_point(|event| event.seq <= seq));
    if !later.iter().map(|event| event.seq).eq(expected) {
        return Ok(None);
    }
    let mut events: HashMap<u64, Event> =
        events.into_iter().map(|event| (event.seq, event.event)).collect();
    // Each event is used once and can be moved out, except for messages that the last compaction
    // kept: they are in both views.
    let of_view: HashSet<u64> = match needed.before.unread() {
        [] => HashSet::new(),
        _ => needed.view.unread().iter().copied().collect(),
    };
    let mut kept: HashSet<u64> =
        needed.before.unread().iter().copied().filter(|seq| of_view.contains(seq)).collect();
    let mut take = |seq: u64| match kept.remove(&seq) {
        true => events.get(&seq).cloned(),
        false => events.remove(&seq),
    };
    match State::restore(&envelope, &snapshot, needed, &mut take) {
        Ok(mut state) => {
            for event in &later {
                state.apply(event)?;
            }
            Ok(Some(state))
        }
        Err(error) => {
            // Slow but correct: the snapshot is only a shortcut.
            tracing::warn!(%session, %error, "the whole journal is read instead");
            Ok(None)
        }
    }
}

/// Returns all events of a view, beginning with those of the snapshots whose lists it continues.
async fn view_listing(
    store: &dyn JournalStore,
    session: &SessionId,
    refs: &ViewRefs,
    mut at: u64,
) -> Result<Option<ViewListing>, ResumeError> {
    let mut links = Vec::new();
    let mut base = refs.base;
    // Each snapshot continues an older one, so the loop ends.
    while let Some(seq) = base {
        // A damaged snapshot that names itself or a later one would make this loop endless.
        if seq >= at {
            return Ok(None);
        }
        let Some((_, older)) = snapshot_at(store, session, seq).await? else { return Ok(None) };
        (base, at) = (older.view.base, seq);
        links.push((seq, older.view.events));
    }
    let mut listing = ViewListing::default();
    for (snapshot, events) in links.into_iter().rev() {
        listing.events.extend(events);
        listing.links.push(SnapshotLink { snapshot, sources: listing.events.len() });
    }
    listing.events.extend(&refs.events);
    Ok(Some(listing))
}

async fn snapshot_at(
    store: &dyn JournalStore,
    session: &SessionId,
    seq: u64,
) -> Result<Option<(Envelope, StateSnapshot)>, ResumeError> {
    let mut events = match store.read_events(session, &[seq]).await {
        Ok(events) => events,
        Err(JournalError::NoSuchEvent { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(events.pop().and_then(|envelope| match &envelope.event {
        Event::StateSnapshot(snapshot) if snapshot.reducer == REDUCER => {
            let snapshot = snapshot.clone();
            Some((envelope, snapshot))
        }
        _ => None,
    }))
}

#[cfg(test)]
mod tests;
