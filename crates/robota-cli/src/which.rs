//! Which session a run is part of: a new one, an earlier one, or a fork of one.

use std::sync::Arc;

use anyhow::Context as _;
use robota_core::clock::{Clock as _, SystemClock};
use robota_core::event::{Envelope, FORMAT, Parent, SessionCreated};
use robota_core::ids::{RandomIds, SessionId};
use robota_core::journal::{JournalError, JournalStore, SessionFilter, SessionHead};
use robota_core::resume;
use robota_session::check_id;

use crate::Usage;
use crate::args::SessionArgs;

/// The session of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Which {
    /// Begins.
    New(SessionId),
    /// Goes on.
    Resume(SessionId),
}

impl Which {
    /// Its id.
    pub(crate) fn id(&self) -> &SessionId {
        match self {
            Self::New(id) | Self::Resume(id) => id,
        }
    }
}

/// Finds it. A fork is made here, so that what follows goes on with the child.
pub(crate) async fn which(
    args: &SessionArgs,
    store: &dyn JournalStore,
    cwd: &str,
) -> anyhow::Result<Which> {
    let own = args.session_id.as_deref().map(SessionId::from);
    if let Some(id) = &own {
        check_id(id).map_err(|error| Usage(format!("--session-id: {error}")))?;
    }
    let earlier = if args.go_on {
        Some(newest(store, cwd).await?)
    } else {
        match &args.resume {
            Some(Some(name)) => Some(find(store, name).await?),
            Some(None) => return Err(Usage(recent(store, cwd).await?).into()),
            None => None,
        }
    };
    match (earlier, args.fork_session) {
        (None, true) => Err(Usage("--fork-session needs -c or -r".to_owned()).into()),
        (None, false) => Ok(Which::New(own.unwrap_or_else(|| SessionId::mint(&RandomIds)))),
        (Some(_), false) if own.is_some() => {
            Err(Usage("--session-id names a new session; with -c or -r add --fork-session".into())
                .into())
        }
        (Some(head), false) => Ok(Which::Resume(own_session(head)?)),
        (Some(head), true) => {
            let child = own.unwrap_or_else(|| SessionId::mint(&RandomIds));
            fork(store, &own_session(head)?, &child).await?;
            Ok(Which::Resume(child))
        }
    }
}

/// A session that somebody else wrote is never gone on with.
fn own_session(head: SessionHead) -> Result<SessionId, JournalError> {
    if head.foreign {
        let place = "it came with this folder, or from another user".to_owned();
        return Err(JournalError::Foreign { session: head.session, place });
    }
    Ok(head.session)
}

async fn newest(store: &dyn JournalStore, cwd: &str) -> anyhow::Result<SessionHead> {
    let filter = SessionFilter { cwd: Some(cwd.to_owned()), ..SessionFilter::default() };
    let sessions = store.list(&filter).await?.sessions;
    sessions.into_iter().find(|head| !head.foreign).with_context(|| {
        format!("there is no session of yours in {cwd} to go on with; start one: robota -p \"…\"")
    })
}

/// By its id, its name, or the beginning of its id.
pub(crate) async fn find(store: &dyn JournalStore, name: &str) -> anyhow::Result<SessionHead> {
    match store.head(&SessionId::from(name)).await {
        Ok(head) => return Ok(head),
        Err(JournalError::NotFound(_) | JournalError::BadId { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let sessions = store.list(&SessionFilter::default()).await?.sessions;
    if let Some(head) = sessions.iter().find(|head| head.name.as_deref() == Some(name)) {
        return Ok(head.clone());
    }
    let begin: Vec<_> =
        sessions.into_iter().filter(|head| head.session.as_str().starts_with(name)).collect();
    match <[SessionHead; 1]>::try_from(begin) {
        Ok([head]) => Ok(head),
        Err(none) if none.is_empty() => Err(JournalError::NotFound(SessionId::from(name)).into()),
        Err(several) => {
            let ids: Vec<_> = several.iter().map(|head| head.session.to_string()).collect();
            Err(Usage(format!("`{name}` begins several ids: {}", ids.join(", "))).into())
        }
    }
}

/// What can be resumed, for somebody who did not say.
async fn recent(store: &dyn JournalStore, cwd: &str) -> anyhow::Result<String> {
    let filter =
        SessionFilter { cwd: Some(cwd.to_owned()), limit: Some(5), ..SessionFilter::default() };
    let mut text = "say which session: -r ID or -r NAME.".to_owned();
    for head in store.list(&filter).await?.sessions {
        let title = head.name.or(head.title).unwrap_or_default();
        text.push_str(&format!("\n  {}  {title}", head.session));
    }
    Ok(text)
}

/// A session that goes on from the last place of another where every call has its result. The
/// other one is not touched, and may be open elsewhere.
async fn fork(
    store: &dyn JournalStore,
    parent: &SessionId,
    child: &SessionId,
) -> anyhow::Result<()> {
    let state = resume::load(store, parent).await?;
    let at = if state.turn.is_none() { state.cursor } else { state.safe_points.last };
    let at = at.with_context(|| format!("`{parent}` has no place to be forked at yet"))?;
    let created = SessionCreated {
        session: child.clone(),
        format: FORMAT,
        cwd: state.cwd.clone(),
        parent: Some(Parent { session: parent.clone(), at }),
    };
    let first = Envelope {
        seq: at.seq + 1,
        epoch: at.epoch + 1,
        ts: SystemClock.now(),
        turn: None,
        event: created.into(),
        min_reader: None,
    };
    drop(store.fork(parent, at, child, &[Arc::new(first)]).await?);
    Ok(())
}
