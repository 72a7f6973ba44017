//! Computes the state of a stored journal from the newest snapshot, the events that it refers to,
//! and the events after it. If that is not possible, all events are folded.

use std::collections::{HashMap, HashSet};

use crate::error::{Diagnose, ErrorKind};
use crate::event::{Envelope, Event, StateSnapshot, ViewRefs};
use crate::ids::SessionId;
use crate::journal::{JournalError, JournalStore};
use crate::state::{
    FoldError, ModelView, REDUCER, SnapshotEvents, SnapshotLink, State, ViewListing,
};

/// How many events are read at once. It limits the memory that a long journal takes.
const PAGE: usize = 4096;

/// Why a session cannot be resumed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal has a gap.
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
    load_sharing(store, session, None).await
}

/// Computes the state of a fork. Messages that are also in the view of its parent, or in the view that
/// the parent's last compaction replaced, are shared with it and not read.
///
/// # Errors
/// As [`load`].
pub async fn load_fork(
    store: &dyn JournalStore,
    session: &SessionId,
    parent: &ModelView,
) -> Result<State, ResumeError> {
    load_sharing(store, session, Some(parent)).await
}

async fn load_sharing(
    store: &dyn JournalStore,
    session: &SessionId,
    parent: Option<&ModelView>,
) -> Result<State, ResumeError> {
    let head = store.head(session).await?;
    let state = match head.snapshot {
        Some(seq) => from_snapshot(store, session, seq, parent).await?,
        None => None,
    };
    fold_rest(store, session, state.unwrap_or_default()).await
}

/// Computes the state of a session from all events, without snapshots, to verify [`load`].
///
/// # Errors
/// When the store cannot be read, or the journal has a gap.
pub async fn load_whole(
    store: &dyn JournalStore,
    session: &SessionId,
) -> Result<State, ResumeError> {
    fold_rest(store, session, State::default()).await
}

async fn fold_rest(
    store: &dyn JournalStore,
    session: &SessionId,
    mut state: State,
) -> Result<State, ResumeError> {
    loop {
        let after = state.cursor.map_or(0, |cursor| cursor.seq);
        let events = store.read(session, after, PAGE).await?;
        for event in &events {
            state.apply(event)?;
        }
        if events.len() < PAGE {
            return Ok(state);
        }
    }
}

/// Computes the state at a snapshot; `None` if it has another version or contradicts the journal.
async fn from_snapshot(
    store: &dyn JournalStore,
    session: &SessionId,
    seq: u64,
    parent: Option<&ModelView>,
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

    let before = parent.and_then(|parent| parent.before.as_deref());
    for view in parent.into_iter().chain(before.map(|before| &before.view)) {
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
    seqs.sort_unstable();
    seqs.dedup();
    let mut events: HashMap<u64, Event> = match store.read_events(session, &seqs).await {
        Ok(events) => events.into_iter().map(|event| (event.seq, event.event)).collect(),
        Err(JournalError::NoSuchEvent { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
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
        Ok(state) => Ok(Some(state)),
        Err(error) => {
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
