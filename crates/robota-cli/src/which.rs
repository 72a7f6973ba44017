//! Which session a run is part of: a new one, an earlier one, or a fork of one.

use std::sync::Arc;

use anyhow::Context as _;
use robota_core::clock::SystemClock;
use robota_core::event::Cursor;
use robota_core::ids::{RandomIds, SessionId, SessionName};
use robota_core::journal::{JournalError, JournalStore, SessionFilter, SessionHead};
use robota_session::{Selector, fork_stored};

use crate::Usage;
use crate::args::SessionArgs;
use crate::commands::sessions::find::find;

/// The session of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Which {
    /// Begins.
    New(SessionId),
    /// Continues after its last event.
    Resume(SessionId, Cursor),
}

impl Which {
    /// Its id.
    pub(crate) fn id(&self) -> &SessionId {
        match self {
            Self::New(id) | Self::Resume(id, _) => id,
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
        SessionName::parse(id.as_str()).map_err(|error| Usage(format!("--session-id: {error}")))?;
    }
    let earlier = if args.go_on {
        Some(newest(store, cwd).await?)
    } else {
        match &args.resume {
            Some(Some(name)) => Some(named(store, name).await?),
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
        (Some(head), false) => {
            let last = head.last;
            Ok(Which::Resume(own_session(head)?, last))
        }
        (Some(head), true) => {
            let child = own.unwrap_or_else(|| SessionId::mint(&RandomIds));
            let parent = own_session(head)?;
            fork_stored(store, &parent, &Selector::Latest, &child, Arc::new(SystemClock)).await?;
            let last = store.head(&child).await?.last;
            Ok(Which::Resume(child, last))
        }
    }
}

/// The session of that id, name or beginning of an id.
async fn named(store: &dyn JournalStore, name: &str) -> anyhow::Result<SessionHead> {
    match store.head(&SessionId::from(name)).await {
        Ok(head) => Ok(head),
        Err(_) => Ok(store.head(&find(store, name).await?).await?),
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
