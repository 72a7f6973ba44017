//! From what somebody types to a session.

use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore, SessionFilter, SessionHead};

/// A text that names no session, or several.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotFound {
    /// None.
    None(String),
    /// Several: these.
    Several(String, Vec<String>),
}

impl std::fmt::Display for NotFound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None(text) => {
                write!(
                    f,
                    "there is no session `{text}`; `robota sessions list` shows those there are"
                )
            }
            Self::Several(text, ids) => {
                write!(f, "`{text}` may be any of {}; say more of its id", ids.join(", "))
            }
        }
    }
}

impl std::error::Error for NotFound {}

/// The session of that id, of that name, or the only one whose id begins so.
pub(crate) async fn find(store: &dyn JournalStore, text: &str) -> anyhow::Result<SessionId> {
    let id = SessionId::from(text);
    match store.head(&id).await {
        Ok(_) => return Ok(id),
        Err(JournalError::NotFound(_) | JournalError::BadId { .. }) => {}
        // It is there, whatever state it is in.
        Err(JournalError::Damaged { .. } | JournalError::Foreign { .. }) => return Ok(id),
        Err(error) => return Err(error.into()),
    }
    let all = store.list(&SessionFilter::default()).await?.sessions;
    let named = choose(&all, text, |head| head.name.as_deref() == Some(text));
    let begun =
        || choose(&all, text, |head| !text.is_empty() && head.session.as_str().starts_with(text));
    match named {
        Err(NotFound::None(_)) => Ok(begun()?),
        other => Ok(other?),
    }
}

fn choose(
    all: &[SessionHead],
    text: &str,
    fits: impl Fn(&SessionHead) -> bool,
) -> Result<SessionId, NotFound> {
    let found: Vec<_> = all.iter().filter(|head| fits(head)).map(|head| &head.session).collect();
    match found.as_slice() {
        [] => Err(NotFound::None(text.to_owned())),
        [only] => Ok((*only).clone()),
        several => {
            let ids = several.iter().take(5).map(ToString::to_string).collect();
            Err(NotFound::Several(text.to_owned(), ids))
        }
    }
}
