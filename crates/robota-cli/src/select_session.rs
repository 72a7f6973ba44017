//! Selects the session of a run: a new session, an earlier one, or a fork of an earlier one.

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

/// The session that a run uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SelectedSession {
    /// Create a session with this id.
    New(SessionId),
    /// Resume this session after its last event.
    Resume(SessionId, Cursor),
}

impl SelectedSession {
    /// Returns the id of the session.
    pub(crate) fn id(&self) -> &SessionId {
        match self {
            Self::New(id) | Self::Resume(id, _) => id,
        }
    }
}

/// Selects the session by the arguments. With `--fork-session` it creates the fork, so that the
/// caller resumes the child.
pub(crate) async fn select_session(
    args: &SessionArgs,
    store: &dyn JournalStore,
    cwd: &str,
) -> anyhow::Result<SelectedSession> {
    let new_id = args.session_id.as_deref().map(SessionId::from);
    if let Some(id) = &new_id {
        SessionName::parse(id.as_str()).map_err(|error| {
            Usage(format!(
                "Invalid session ID. Must be a valid UUID, or a name such as \
                 agent:dev/session:main ({error})"
            ))
        })?;
    }
    let earlier = if args.continue_latest {
        Some(most_recent(store, cwd).await?)
    } else {
        match &args.resume {
            Some(Some(name)) => Some(find_head(store, name).await?),
            Some(None) => return Err(Usage(missing_id(store, cwd).await?).into()),
            None => None,
        }
    };
    match (earlier, args.fork_session) {
        (None, true) => Err(Usage("--fork-session needs -c or -r".to_owned()).into()),
        (None, false) => {
            Ok(SelectedSession::New(new_id.unwrap_or_else(|| SessionId::mint(&RandomIds))))
        }
        (Some(_), false) if new_id.is_some() => Err(Usage(
            "--session-id sets the id of a new session; with -c or -r add --fork-session".into(),
        )
        .into()),
        (Some(head), false) => {
            let last = head.last;
            Ok(SelectedSession::Resume(require_own(head)?, last))
        }
        (Some(head), true) => {
            let child = new_id.unwrap_or_else(|| SessionId::mint(&RandomIds));
            let parent = require_own(head)?;
            fork_stored(store, &parent, &Selector::Latest, &child, Arc::new(SystemClock)).await?;
            let last = store.head(&child).await?.last;
            Ok(SelectedSession::Resume(child, last))
        }
    }
}

/// Returns the session with this id, name or unique id prefix.
async fn find_head(store: &dyn JournalStore, name: &str) -> anyhow::Result<SessionHead> {
    match store.head(&SessionId::from(name)).await {
        Ok(head) => Ok(head),
        Err(_) => Ok(store.head(&find(store, name).await?).await?),
    }
}

/// Refuses a session that another user wrote, such as one that came with a checkout.
fn require_own(head: SessionHead) -> Result<SessionId, JournalError> {
    if head.foreign {
        let place = "it came with this folder or was written by another user".to_owned();
        return Err(JournalError::Foreign { session: head.session, place });
    }
    Ok(head.session)
}

async fn most_recent(store: &dyn JournalStore, cwd: &str) -> anyhow::Result<SessionHead> {
    let filter = SessionFilter { cwd: Some(cwd.to_owned()), ..SessionFilter::default() };
    let sessions = store.list(&filter).await?.sessions;
    sessions.into_iter().find(|head| !head.foreign).with_context(|| {
        format!("no session to continue in {cwd}; start one with: robota -p \"PROMPT\"")
    })
}

/// Returns the usage error for `-r` without a session: it lists the most recent ones.
async fn missing_id(store: &dyn JournalStore, cwd: &str) -> anyhow::Result<String> {
    let filter =
        SessionFilter { cwd: Some(cwd.to_owned()), limit: Some(5), ..SessionFilter::default() };
    let sessions = store.list(&filter).await?.sessions;
    if sessions.is_empty() {
        return Ok(format!("-r needs a session id or name; there is no session in {cwd}"));
    }
    let mut text = "-r needs a session id or name. Recent sessions:".to_owned();
    for head in sessions {
        let title = head.name.or(head.title).unwrap_or_default();
        text.push_str(&format!("\n  {}  {title}", head.session));
    }
    Ok(text)
}
