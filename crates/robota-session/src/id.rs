//! The grammar of ids (KODE-11), labels and places of a session.
//!
//! ```
//! use robota_session::{SessionName, Selector};
//!
//! let name: SessionName = "org:acme/agent:dev/session:main/fork:a".parse().unwrap();
//! assert_eq!(name.agent(), "dev");
//! assert!("agent:dev/session:../main".parse::<SessionName>().is_err());
//! assert_eq!("sfp:3".parse::<Selector>().unwrap(), Selector::SafePoint(3));
//! ```

use std::fmt;
use std::str::FromStr;

use robota_core::event::Cursor;
use robota_core::ids::{Ids, SessionId};
use uuid::Uuid;

/// Longer than this no id is.
const MAX_ID: usize = 512;
/// Longer than this no part of an id and no label is.
const MAX_PART: usize = 64;

/// A text that is no id, label or place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not {what}: {reason}")]
pub struct IdError {
    given: String,
    what: &'static str,
    reason: String,
}

impl IdError {
    fn new(given: &str, what: &'static str, reason: impl Into<String>) -> Self {
        let shown: String = given.chars().take(80).collect();
        Self { given: shown.escape_debug().to_string(), what, reason: reason.into() }
    }
}

/// A structured session id: `[org:X/][team:X/][user:X/]agent:T/session:R[/fork:F]*`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionName {
    owners: [Option<String>; 3],
    agent: String,
    session: String,
    forks: Vec<String>,
}

const OWNERS: [&str; 3] = ["org", "team", "user"];

impl SessionName {
    /// A session of an agent.
    ///
    /// # Errors
    /// When a part has characters that no id has.
    pub fn new(agent: &str, session: &str) -> Result<Self, IdError> {
        format!("agent:{agent}/session:{session}").parse()
    }

    /// The agent's kind.
    #[must_use]
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The forks it went through, oldest first.
    #[must_use]
    pub fn forks(&self) -> &[String] {
        &self.forks
    }

    /// A fork of it.
    ///
    /// # Errors
    /// When the name has characters that no id has, or the id gets too long.
    pub fn fork(&self, name: &str) -> Result<Self, IdError> {
        format!("{self}/fork:{name}").parse()
    }

    /// As a session's id.
    #[must_use]
    pub fn to_id(&self) -> SessionId {
        SessionId::from(self.to_string())
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, owner) in OWNERS.iter().zip(&self.owners) {
            if let Some(owner) = owner {
                write!(f, "{key}:{owner}/")?;
            }
        }
        write!(f, "agent:{}/session:{}", self.agent, self.session)?;
        self.forks.iter().try_for_each(|fork| write!(f, "/fork:{fork}"))
    }
}

impl FromStr for SessionName {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let bad = |reason: String| IdError::new(text, "the id of a session", reason);
        if text.len() > MAX_ID {
            return Err(bad(format!("it is longer than {MAX_ID} bytes")));
        }
        let mut segments = Vec::new();
        for segment in text.split('/') {
            let (key, value) = segment.split_once(':').ok_or_else(|| {
                bad(format!("`{}` is not of the form key:value", segment.escape_debug()))
            })?;
            part(value).map_err(|reason| bad(format!("{} {reason}", key.escape_debug())))?;
            segments.push((key, value));
        }
        let mut segments = segments.into_iter().peekable();
        let mut take = |name: &str| {
            let segment = segments.next_if(|(key, _)| *key == name);
            segment.map(|(_, value)| value.to_owned())
        };
        let owners = OWNERS.map(&mut take);
        let missing = |name: &str| bad(format!("`{name}:` is missing or not in its place"));
        let agent = take("agent").ok_or_else(|| missing("agent"))?;
        let session = take("session").ok_or_else(|| missing("session"))?;
        let forks = std::iter::from_fn(|| take("fork")).collect();
        if let Some((key, _)) = segments.next() {
            return Err(bad(format!("`{}:` is not in its place", key.escape_debug())));
        }
        Ok(Self { owners, agent, session, forks })
    }
}

/// Whether a part of an id can be one: it becomes a piece of file names and addresses.
fn part(value: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if value.is_empty() {
        return Err("is empty".to_owned());
    }
    if value.len() > MAX_PART {
        return Err(format!("is longer than {MAX_PART} characters"));
    }
    match value.chars().find(|c| !allowed(*c)) {
        Some(c) => Err(format!("has a {c:?}; letters, digits, `-`, `_` and `.` may be in it")),
        None if value.starts_with('.') => Err("begins with a dot".to_owned()),
        None => Ok(()),
    }
}

/// Checks that an id is one a session may have: a UUID or a structured name.
///
/// # Errors
/// When it is neither.
pub fn check_id(id: &SessionId) -> Result<(), IdError> {
    if Uuid::try_parse(id.as_str()).is_ok_and(|uuid| uuid.to_string() == id.as_str()) {
        return Ok(());
    }
    id.as_str().parse::<SessionName>().map(drop)
}

/// The id of a fork of that session: below a structured name, a fresh UUID otherwise.
pub(crate) fn fork_id(parent: &SessionId, ids: &dyn Ids) -> SessionId {
    let fresh = SessionId::mint(ids);
    match parent.as_str().parse::<SessionName>().and_then(|name| name.fork(fresh.as_str())) {
        Ok(name) => name.to_id(),
        Err(_) => fresh,
    }
}

/// A place of a session to fork at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Selector {
    /// Where it is now: the last event when it is at rest, the last safe point while it works.
    #[default]
    Latest,
    /// The n-th safe point, from one (`sfp:3`).
    SafePoint(u64),
    /// A named place (`label:before-refactoring`).
    Label(String),
    /// The last safe point at or before an event (`3-1042`).
    At(Cursor),
}

impl FromStr for Selector {
    type Err = IdError;

    /// Reads `latest`, `sfp:3`, `label:name`, `3-1042`, or a whole snapshot id, of which the
    /// part after the `@` counts.
    fn from_str(text: &str) -> Result<Self, IdError> {
        let what = "a place of a session";
        let place = text.rsplit_once('@').map_or(text, |(_, place)| place);
        if place == "latest" {
            return Ok(Self::Latest);
        }
        if let Some(number) = place.strip_prefix("sfp:") {
            return match number.parse::<u64>() {
                Ok(number) if number > 0 => Ok(Self::SafePoint(number)),
                _ => Err(IdError::new(text, what, "safe points are counted from one")),
            };
        }
        if let Some(name) = place.strip_prefix("label:") {
            return label(name).map(Self::Label);
        }
        place
            .parse()
            .map(Self::At)
            .map_err(|_| IdError::new(text, what, "say latest, sfp:3, label:name or 3-1042"))
    }
}

/// A label that may be set.
pub(crate) fn label(name: &str) -> Result<String, IdError> {
    part(name).map_err(|reason| IdError::new(name, "a label", format!("it {reason}")))?;
    Ok(name.to_owned())
}

/// A place of a session that has a name of its own: `{session}@sfp:3`, `{session}@label:name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotId {
    /// The session.
    pub session: SessionId,
    /// The place.
    pub place: Selector,
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@", self.session)?;
        match &self.place {
            Selector::Latest => f.write_str("latest"),
            Selector::SafePoint(number) => write!(f, "sfp:{number}"),
            Selector::Label(name) => write!(f, "label:{name}"),
            Selector::At(cursor) => write!(f, "{cursor}"),
        }
    }
}

impl FromStr for SnapshotId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let (session, _) = text.rsplit_once('@').ok_or_else(|| {
            IdError::new(text, "a snapshot", "it looks like {session}@sfp:3 or {session}@label:x")
        })?;
        let session = SessionId::from(session);
        check_id(&session)?;
        Ok(Self { session, place: text.parse()? })
    }
}

#[cfg(test)]
mod tests;
