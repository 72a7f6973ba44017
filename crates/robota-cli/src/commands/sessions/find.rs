//! Finds the session that an argument names.

use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore, SessionFilter, SessionHead};

/// An argument that names no session, or several.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FindError {
    /// No session has this id, id prefix or name.
    NotFound(String),
    /// Several sessions match; the ids of the first five.
    Ambiguous(String, Vec<String>),
}

impl std::fmt::Display for FindError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotFound(text) => {
                write!(f, "session `{text}` not found; `robota sessions list` lists all sessions")
            }
            Self::Ambiguous(text, ids) => {
                write!(f, "ambiguous id prefix or name `{text}`: it matches {}", ids.join(", "))
            }
        }
    }
}

impl std::error::Error for FindError {}

/// Returns the session with this id or name, or the only one whose id starts with the text.
pub(crate) async fn find(store: &dyn JournalStore, text: &str) -> anyhow::Result<SessionId> {
    let id = SessionId::from(text);
    match store.head(&id).await {
        Ok(_) => return Ok(id),
        Err(JournalError::NotFound(_) | JournalError::BadId { .. }) => {}
        // The session exists, even if it cannot be opened.
        Err(JournalError::Damaged { .. } | JournalError::Foreign { .. }) => return Ok(id),
        Err(error) => return Err(error.into()),
    }
    let all = store.list(&SessionFilter::default()).await?.sessions;
    let by_name = only_match(&all, text, |head| head.name.as_deref() == Some(text));
    let by_prefix = || {
        only_match(&all, text, |head| !text.is_empty() && head.session.as_str().starts_with(text))
    };
    match by_name {
        Err(FindError::NotFound(_)) => Ok(by_prefix()?),
        other => Ok(other?),
    }
}

fn only_match(
    all: &[SessionHead],
    text: &str,
    matches: impl Fn(&SessionHead) -> bool,
) -> Result<SessionId, FindError> {
    let found: Vec<_> = all.iter().filter(|head| matches(head)).map(|head| &head.session).collect();
    match found.as_slice() {
        [] => Err(FindError::NotFound(text.to_owned())),
        [only] => Ok((*only).clone()),
        several => {
            let ids = several.iter().take(5).map(ToString::to_string).collect();
            Err(FindError::Ambiguous(text.to_owned(), ids))
        }
    }
}
