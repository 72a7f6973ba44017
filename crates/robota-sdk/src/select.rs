//! Selects the session of a run: a new session, an earlier one, or a fork of an earlier one.

use std::sync::Arc;

use robota_core::clock::SystemClock;
use robota_core::event::Cursor;
use robota_core::ids::{RandomIds, SessionId, SessionName};
use robota_core::journal::{JournalError, JournalStore, SessionFilter, SessionHead};
use robota_session::{Selector, fork_stored};

use crate::error::SdkError;

/// Which session to open.
///
/// ```
/// use robota_sdk::{Earlier, SessionChoice};
///
/// let last = SessionChoice::Earlier(Earlier::Latest);
/// let named = SessionChoice::New(Some("nightly".to_owned()));
/// # let _ = (last, named);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChoice {
    /// A new session with this id, or with a random one.
    New(Option<String>),
    /// An earlier session, which the caller continues.
    Earlier(Earlier),
    /// A fork of an earlier session; the earlier one stays as it is.
    Fork {
        /// The session whose conversation the fork begins with.
        of: Earlier,
        /// The id of the fork; none makes a random one.
        id: Option<String>,
    },
}

impl Default for SessionChoice {
    fn default() -> Self {
        Self::New(None)
    }
}

/// Selects an earlier session.
///
/// ```
/// use robota_sdk::{Earlier, SessionChoice};
///
/// let resumed = SessionChoice::Earlier(Earlier::Named("nightly".to_owned()));
/// # let _ = resumed;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Earlier {
    /// The most recent one of the working folder.
    Latest,
    /// The one with this id, unique id prefix or name.
    Named(String),
}

/// The session that a choice selects.
///
/// ```
/// use robota_core::ids::SessionId;
/// use robota_sdk::SelectedSession;
///
/// let selected = SelectedSession::New(SessionId::from("nightly"));
/// assert_eq!(selected.id().as_str(), "nightly");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectedSession {
    /// Create a session with this id.
    New(SessionId),
    /// Resume this session after its last event.
    Resume(SessionId, Cursor),
}

impl SelectedSession {
    /// Returns the id of the session.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        match self {
            Self::New(id) | Self::Resume(id, _) => id,
        }
    }
}

impl SessionChoice {
    /// Finds the session in the store. A fork is created, so that the caller resumes the child.
    ///
    /// # Errors
    /// If no session matches, several do, or the session belongs to another user.
    pub async fn select(
        &self,
        store: &dyn JournalStore,
        cwd: &str,
    ) -> Result<SelectedSession, SdkError> {
        match self {
            Self::New(id) => Ok(SelectedSession::New(new_id(id.as_deref())?)),
            Self::Earlier(earlier) => {
                let head = earlier.head(store, cwd).await?;
                let last = head.last;
                Ok(SelectedSession::Resume(require_own(head)?, last))
            }
            Self::Fork { of, id } => {
                let child = new_id(id.as_deref())?;
                let parent = require_own(of.head(store, cwd).await?)?;
                fork_stored(store, &parent, &Selector::Latest, &child, Arc::new(SystemClock))
                    .await?;
                let last = store.head(&child).await?.last;
                Ok(SelectedSession::Resume(child, last))
            }
        }
    }
}

impl Earlier {
    async fn head(&self, store: &dyn JournalStore, cwd: &str) -> Result<SessionHead, SdkError> {
        match self {
            Self::Latest => most_recent(store, cwd).await,
            Self::Named(name) => match store.head(&SessionId::from(name.as_str())).await {
                Ok(head) => Ok(head),
                Err(_) => Ok(store.head(&find_session(store, name).await?).await?),
            },
        }
    }
}

fn new_id(given: Option<&str>) -> Result<SessionId, SdkError> {
    let Some(given) = given else { return Ok(SessionId::mint(&RandomIds)) };
    let id = SessionId::from(given);
    SessionName::parse(id.as_str()).map_err(|error| SdkError::SessionId(error.to_string()))?;
    Ok(id)
}

/// Refuses a session that another user wrote, such as one that came with a checkout.
fn require_own(head: SessionHead) -> Result<SessionId, JournalError> {
    if head.foreign {
        let place = "it came with this folder or was written by another user".to_owned();
        return Err(JournalError::Foreign { session: head.session, place });
    }
    Ok(head.session)
}

async fn most_recent(store: &dyn JournalStore, cwd: &str) -> Result<SessionHead, SdkError> {
    let filter = SessionFilter { cwd: Some(cwd.to_owned()), ..SessionFilter::default() };
    let sessions = store.list(&filter).await?.sessions;
    sessions
        .into_iter()
        // Agents are continued by the session that started them. A run that only executed a command,
        // such as `/cost`, left no conversation.
        .find(|head| {
            let empty = head.turns == 0 && head.title.is_none();
            !head.foreign && head.spawned_by.is_none() && !empty
        })
        .ok_or_else(|| SdkError::NothingToContinue { folder: cwd.to_owned() })
}

/// Returns the session with this id or name, or the only one whose id starts with the text: with any part of a
/// generated id, or with whole parts of a chosen one.
///
/// # Errors
/// If no session matches, or several do.
pub async fn find_session(store: &dyn JournalStore, text: &str) -> Result<SessionId, SdkError> {
    let id = SessionId::from(text);
    match store.head(&id).await {
        Ok(_) => return Ok(id),
        Err(JournalError::NotFound(_) | JournalError::BadId { .. }) => {}
        // The session exists, even if it cannot be opened.
        Err(JournalError::Damaged { .. } | JournalError::Foreign { .. }) => return Ok(id),
        Err(error) => return Err(error.into()),
    }
    let all = store.list(&SessionFilter::default()).await?.sessions;
    // A name comes first: people choose names, ids are made.
    let by_name = only_match(&all, text, |head| head.name.as_deref() == Some(text));
    // Generated ids are found by any beginning, chosen ones by whole parts such as `agent:dev`: the id of
    // a deleted session must not find another session whose id begins with it.
    let is_generated = |id: &str| uuid::Uuid::try_parse(id).is_ok();
    let is_part = |rest: &str| rest.starts_with('/');
    let by_prefix = || {
        only_match(&all, text, |head| {
            let id = head.session.as_str();
            let rest = id.strip_prefix(text).filter(|_| !text.is_empty());
            rest.is_some_and(|rest| is_generated(id) || is_part(rest))
        })
    };
    match by_name {
        Err(SdkError::SessionNotFound(_)) => by_prefix(),
        other => other,
    }
}

fn only_match(
    all: &[SessionHead],
    text: &str,
    matches: impl Fn(&SessionHead) -> bool,
) -> Result<SessionId, SdkError> {
    let found: Vec<_> = all.iter().filter(|head| matches(head)).map(|head| &head.session).collect();
    match found.as_slice() {
        [] => Err(SdkError::SessionNotFound(text.to_owned())),
        [only] => Ok((*only).clone()),
        several => {
            let ids = several.iter().take(5).map(ToString::to_string).collect();
            Err(SdkError::AmbiguousSession { name: text.to_owned(), ids })
        }
    }
}
