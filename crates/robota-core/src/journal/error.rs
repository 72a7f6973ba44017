//! Errors of reading and writing stored data.

use std::fmt::Display;

use super::{LeaseOwner, LostReason};
use crate::error::{Diagnose, ErrorKind};
use crate::event::{Cursor, Envelope};
use crate::ids::{SessionId, SessionNameError};

/// Why stored data could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The store has no session with this id, or it has no event.
    #[error("there is no session `{0}`")]
    NotFound(SessionId),
    /// A session with that id already exists.
    #[error("session `{0}` already exists")]
    Exists(SessionId),
    /// The id is not a valid session id.
    #[error("`{id}` cannot be the id of a session: {reason}")]
    BadId {
        /// The text that was given as an id.
        id: String,
        /// The rule for ids that the text breaks.
        reason: String,
    },
    /// Another process has it open for writing.
    #[error("session `{session}` is open in another process ({owner})")]
    Locked {
        /// The session that cannot be opened for writing now.
        session: SessionId,
        /// The process that has it open.
        owner: LeaseOwner,
    },
    /// This process may no longer write to the session.
    #[error("session `{session}` {reason}: this process writes nothing more to it")]
    Lost {
        /// The session that this process was writing.
        session: SessionId,
        /// How the lease was lost: see [`LostReason`].
        reason: LostReason,
    },
    /// Another user wrote it, or it came with a checkout.
    #[error("session `{session}` was not written by you ({place})")]
    Foreign {
        /// The session, which can be read and imported.
        session: SessionId,
        /// The folder or the database that has the session.
        place: String,
    },
    /// The journal does not have that event.
    #[error("session `{session}` has no event {at}")]
    NoSuchEvent {
        /// The session whose journal was read.
        session: SessionId,
        /// The position after which events were requested.
        at: Cursor,
    },
    /// The events do not follow the stored ones.
    #[error("event {found} of session `{session}` cannot follow {last}")]
    OutOfOrder {
        /// The session to which the events were to be appended.
        session: SessionId,
        /// The event that was to be appended.
        found: Cursor,
        /// The last event that is stored; zeros when there is none.
        last: Cursor,
    },
    /// The event cannot be stored: its data is nested too deep. Nothing was recorded.
    #[error("a `{kind}` event cannot be stored: {reason}")]
    Unencodable {
        /// The type of the event, as the journal names it.
        kind: String,
        /// Why the event cannot be written as a line.
        reason: String,
    },
    /// The content exceeds the size limit of blobs.
    #[error("the content has {bytes} bytes; a blob may have at most {limit}")]
    TooLarge {
        /// The size of the content, in bytes.
        bytes: usize,
        /// The size limit of blobs, in bytes.
        limit: usize,
    },
    /// The stored data is damaged: a checksum, a format or a link between parts is wrong.
    #[error("{place} is damaged: {reason}")]
    Damaged {
        /// The file or the row that is damaged.
        place: String,
        /// What is wrong with the stored data.
        reason: String,
    },
    /// The place is no store, or one that this program cannot use.
    #[error("{place} cannot be used as a store: {reason}")]
    Unsuitable {
        /// The folder or the database that was opened.
        place: String,
        /// Why the store cannot be opened there.
        reason: String,
    },
    /// The process cannot know what its disk contains, for instance after a failed sync. A retry
    /// does not help; opening the session again does.
    #[error("the journal in {place} must be opened again: {reason}")]
    MustReopen {
        /// The folder of the session's journal.
        place: String,
        /// What failed, so that the content of the disk is not known.
        reason: String,
    },
    /// The disk or the database failed.
    #[error("cannot {action} {place}: {reason}")]
    Io {
        /// What was attempted, as a verb.
        action: &'static str,
        /// The file or the database that was used.
        place: String,
        /// The message of the system or the database.
        reason: String,
    },
}

impl JournalError {
    /// Creates the error of a failed disk or database.
    pub fn io(action: &'static str, place: impl Into<String>, reason: impl Display) -> Self {
        Self::Io { action, place: place.into(), reason: reason.to_string() }
    }

    /// Creates the error of an event that cannot be written as a line.
    pub fn unencodable(event: &Envelope, error: &serde_json::Error) -> Self {
        Self::Unencodable { kind: event.event.kind().to_owned(), reason: error.to_string() }
    }

    /// Creates the error of damaged data.
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
            | Self::Unencodable { .. }
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
                Self::NoSuchEvent { .. } => "choose an event that the session has",
                Self::Locked { .. } => "close it there, or fork the session",
                Self::Lost { .. } => "resume the session to continue it here",
                Self::Foreign { .. } => "import it to continue with your own copy",
                Self::OutOfOrder { .. } => {
                    "open the session again; its journal has other events than this process expects"
                }
                Self::Unencodable { .. } => "nest the data less deep, or pass it as a text",
                Self::TooLarge { .. } => "store less content, or write it to a file",
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
