//! From a stored journal to its state, at the cost of its tail: the newest snapshot, the events
//! it refers to, and what came after. What cannot be had that way is folded from the beginning.

use std::collections::HashMap;

use crate::error::{Diagnose, ErrorKind};
use crate::event::{Envelope, Event, StateSnapshot, ViewRefs};
use crate::ids::SessionId;
use crate::journal::{JournalError, JournalStore};
use crate::state::{FoldError, Listed, Listing, Needed, REDUCER, State};

/// How many events are read at once: bounded memory for any length of journal.
const PAGE: usize = 4096;

/// A session that cannot be resumed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// Its journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Its journal has a gap.
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

/// What the events of a session come to.
///
/// # Errors
/// When the store cannot be read, or the journal has a gap.
pub async fn load(store: &dyn JournalStore, session: &SessionId) -> Result<State, ResumeError> {
    let head = store.head(session).await?;
    let state = match head.snapshot {
        Some(seq) => from_snapshot(store, session, seq).await?,
        None => None,
    };
    fold_on(store, session, state.unwrap_or_default()).await
}

/// What all events of a session come to, snapshots ignored: to check the others by.
///
/// # Errors
/// When the store cannot be read, or the journal has a gap.
pub async fn load_whole(
    store: &dyn JournalStore,
    session: &SessionId,
) -> Result<State, ResumeError> {
    fold_on(store, session, State::default()).await
}

async fn fold_on(
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

/// The state at a snapshot; none when it is of another version or does not fit its journal.
async fn from_snapshot(
    store: &dyn JournalStore,
    session: &SessionId,
    seq: u64,
) -> Result<Option<State>, ResumeError> {
    let Some((envelope, snapshot)) = snapshot_at(store, session, seq).await? else {
        return Ok(None);
    };
    let mut needed = Needed::default();
    let Some(view) = chain(store, session, &snapshot.view, seq).await? else { return Ok(None) };
    needed.view = view;
    if let Some(before) = &snapshot.before {
        let Some(view) = chain(store, session, &before.view, seq).await? else { return Ok(None) };
        needed.before = view;
    }

    let mut wanted: Vec<u64> =
        needed.view.events.iter().chain(&needed.before.events).copied().collect();
    wanted.push(snapshot.created);
    wanted.extend([snapshot.prompt, snapshot.tools, snapshot.left_out].into_iter().flatten());
    wanted.extend(&snapshot.inputs);
    wanted.sort_unstable();
    wanted.dedup();
    let mut found: HashMap<u64, Event> = match store.read_events(session, &wanted).await {
        Ok(events) => events.into_iter().map(|event| (event.seq, event.event)).collect(),
        Err(JournalError::NoSuchEvent { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // Each event is used once, unless the conversation before the last summary shares it.
    let shared = !needed.before.events.is_empty();
    let mut take = |seq: u64| match shared {
        true => found.get(&seq).cloned(),
        false => found.remove(&seq),
    };
    match State::restore(&envelope, &snapshot, &needed, &mut take) {
        Ok(state) => Ok(Some(state)),
        Err(error) => {
            tracing::warn!(%session, %error, "the whole journal is read instead");
            Ok(None)
        }
    }
}

/// All events of a conversation, those of the snapshots it builds on first.
async fn chain(
    store: &dyn JournalStore,
    session: &SessionId,
    refs: &ViewRefs,
    mut at: u64,
) -> Result<Option<Listing>, ResumeError> {
    let mut links = Vec::new();
    let mut base = refs.base;
    // Each builds on an older one, so this ends.
    while let Some(seq) = base {
        if seq >= at {
            return Ok(None);
        }
        let Some((_, older)) = snapshot_at(store, session, seq).await? else { return Ok(None) };
        (base, at) = (older.view.base, seq);
        links.push((seq, older.view.events));
    }
    let mut listing = Listing::default();
    for (snapshot, events) in links.into_iter().rev() {
        listing.events.extend(events);
        listing.links.push(Listed { snapshot, sources: listing.events.len() });
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
