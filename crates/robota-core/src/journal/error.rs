//! Why stored data could not be read or written.

use std::fmt::Display;

use super::{LeaseOwner, LostReason};
use crate::error::{Diagnose, ErrorKind};
use crate::event::Cursor;
use crate::ids::{SessionId, SessionNameError};

/// Why stored data could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The session does not exist.
    #[error("there is no session `{0}`")]
    NotFound(SessionId),
    /// There already is one of that id.
    #[error("there already is a session `{0}`")]
    Exists(SessionId),
    /// Its id cannot be one.
    #[error("`{id}` cannot be the id of a session: {reason}")]
    BadId {
        /// What was given.
        id: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Another writer has it open.
    #[error("session `{session}` is open in another process ({owner})")]
    Locked {
        /// The session.
        session: SessionId,
        /// The process that has it open.
        owner: LeaseOwner,
    },
    /// This writer may not write to the session any more.
    #[error("session `{session}` {reason}: this process writes nothing more to it")]
    Lost {
        /// The session.
        session: SessionId,
        /// How it was lost.
        reason: LostReason,
    },
    /// Another user wrote it, or it came with a checkout.
    #[error("session `{session}` was not written by you ({place})")]
    Foreign {
        /// The session.
        session: SessionId,
        /// Where it lies.
        place: String,
    },
    /// A place that the journal does not have.
    #[error("session `{session}` has no event {at}")]
    NoSuchEvent {
        /// The session.
        session: SessionId,
        /// The place that was asked for.
        at: Cursor,
    },
    /// Events that do not follow on what is there.
    #[error("event {found} of session `{session}` cannot follow {last}")]
    OutOfOrder {
        /// The session.
        session: SessionId,
        /// The event that was to be appended.
        found: Cursor,
        /// The last event that is stored; zeros when there is none.
        last: Cursor,
    },
    /// A blob beyond the limit.
    #[error("{bytes} bytes are too many to be kept: the limit is {limit}")]
    TooLarge {
        /// How many there are.
        bytes: usize,
        /// How many may be.
        limit: usize,
    },
    /// What is stored is damaged.
    #[error("{place} is damaged: {reason}")]
    Damaged {
        /// The file or row.
        place: String,
        /// How.
        reason: String,
    },
    /// The store cannot be used as it is.
    #[error("{place} cannot be used as a store: {reason}")]
    Unsuitable {
        /// The folder or the database.
        place: String,
        /// Why.
        reason: String,
    },
    /// The writer cannot know what its disk holds, for instance after a failed sync. Trying again
    /// does not help; opening the session again does.
    #[error("the journal in {place} must be opened again: {reason}")]
    MustReopen {
        /// The folder.
        place: String,
        /// Why.
        reason: String,
    },
    /// The disk or the database failed.
    #[error("cannot {action} {place}: {reason}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        place: String,
        /// What went wrong.
        reason: String,
    },
}

impl JournalError {
    /// The disk or the database failed.
    pub fn io(action: &'static str, place: impl Into<String>, reason: impl Display) -> Self {
        Self::Io { action, place: place.into(), reason: reason.to_string() }
    }

    /// What is stored is damaged.
    pub fn damaged(place: impl Into<String>, reason: impl Display) -> Self {
        Self::Damaged { place: place.into(), reason: reason.to_string() }
    }
}

impl From<SessionNameError> for JournalError {
    fn from(error: SessionNameError) -> Self {
        Self::BadId { id: error.name, reason: error.reason }
    }
}

impl Diagnose for JournalError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound(_)
            | Self::Exists(_)
            | Self::BadId { .. }
            | Self::NoSuchEvent { .. }
            | Self::TooLarge { .. } => ErrorKind::Validation,
            Self::Locked { .. }
            | Self::Lost { .. }
            | Self::OutOfOrder { .. }
            | Self::Foreign { .. }
            | Self::Damaged { .. }
            | Self::Unsuitable { .. }
            | Self::MustReopen { .. }
            | Self::Io { .. } => ErrorKind::Storage,
        }
    }

    fn retryable(&self) -> bool {
        matches!(self, Self::Locked { .. } | Self::Io { .. })
    }

    fn hint(&self) -> Option<String> {
        Some(
            match self {
                Self::NotFound(_) => "check the id",
                Self::Exists(_) => "choose another id, or resume the session",
                Self::BadId { .. } => "use a UUID or a name such as agent:dev/session:main",
                Self::NoSuchEvent { .. } => "choose a point that the session has",
                Self::Locked { .. } => "close it there, or fork the session",
                Self::Lost { .. } => "resume the session to continue it here",
                Self::Foreign { .. } => "import it to go on with a copy of your own",
                Self::OutOfOrder { .. } => "open the session again; this writer is behind",
                Self::TooLarge { .. } => "keep less of it, or a file of your own",
                Self::Damaged { .. } => "restore it from a backup, or fork before the damage",
                Self::Unsuitable { .. } => "choose another place for sessions",
                Self::MustReopen { .. } => {
                    "resume the session; nothing acknowledged as synced is lost"
                }
                Self::Io { .. } => {
                    "check the disk or the database server; nothing acknowledged is lost"
                }
            }
            .to_owned(),
        )
    }
}
