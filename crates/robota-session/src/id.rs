//! Labels, and selectors for points of a session.
//!
//! ```
//! use robota_session::{Selector, SnapshotId};
//!
//! assert_eq!("sfp:3".parse::<Selector>().unwrap(), Selector::SafePoint(3));
//! let place: SnapshotId = "agent:dev/session:main@label:before".parse().unwrap();
//! assert_eq!(place.session.as_str(), "agent:dev/session:main");
//! assert!("agent:dev/session:../main@sfp:1".parse::<SnapshotId>().is_err());
//! ```

use std::fmt;
use std::str::FromStr;

use robota_core::event::Cursor;
use robota_core::ids::{Ids, SessionId, SessionName, name_part};

/// The error for a text that is not a valid label or selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{input}` is not {what}: {reason}")]
pub struct IdError {
    input: String,
    what: &'static str,
    reason: String,
}

impl IdError {
    fn new(input: &str, what: &'static str, reason: impl Into<String>) -> Self {
        let shown: String = input.chars().take(80).collect();
        Self { input: shown.escape_debug().to_string(), what, reason: reason.into() }
    }
}

/// Returns the id for a fork of that session: below a structured name, otherwise a new UUID.
pub(crate) fn fork_id(parent: &SessionId, ids: &dyn Ids) -> SessionId {
    let fresh = SessionId::mint(ids);
    match SessionName::parse(parent.as_str()).and_then(|name| name.fork(fresh.as_str())) {
        Ok(name) => SessionId::from(name.to_string()),
        Err(_) => fresh,
    }
}

/// Selects a point of a session at which to fork.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Selector {
    /// The current point: the last event if the session is idle, else the last safe point.
    #[default]
    Latest,
    /// The n-th safe point, counted from one (`sfp:3`).
    SafePoint(u64),
    /// A labelled point (`label:before-refactoring`).
    Label(String),
    /// The last safe point at or before an event (`3-1042`).
    At(Cursor),
}

impl FromStr for Selector {
    type Err = IdError;

    /// Parses `latest`, `sfp:3`, `label:name`, `3-1042`, or a whole snapshot id; of that, the part
    /// after the `@` counts.
    fn from_str(text: &str) -> Result<Self, IdError> {
        let what = "a point of a session";
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
            .map_err(|_| IdError::new(text, what, "use latest, sfp:3, label:name or 3-1042"))
    }
}

/// Checks that a name may be used as a label.
pub(crate) fn label(name: &str) -> Result<String, IdError> {
    name_part(name, "it").map_err(|reason| IdError::new(name, "a label", reason))?;
    Ok(name.to_owned())
}

/// Names a point of a session: `{session}@sfp:3`, `{session}@label:name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotId {
    /// The id of the session that has the point.
    pub session: SessionId,
    /// The safe point or the label of that session.
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
            IdError::new(text, "a snapshot", "use {session}@sfp:3 or {session}@label:x")
        })?;
        SessionName::parse(session)
            .map_err(|error| IdError::new(text, "a snapshot", error.to_string()))?;
        Ok(Self { session: SessionId::from(session), place: text.parse()? })
    }
}

#[cfg(test)]
mod tests;
