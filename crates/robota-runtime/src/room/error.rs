//! The error type of rooms.

use robota_core::error::{Diagnose, ErrorKind};
use robota_core::ids::SessionId;
use robota_core::journal::JournalError;
use robota_session::SessionError;

use crate::pool::PoolError;

/// Why an operation of a room failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RoomError {
    /// The journal of the room could not be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A member's session could not be opened.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A member's session is open and failed, or its journal did.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The journal with this id is that of a session.
    #[error("`{0}` is a session, not a room")]
    NotRoom(SessionId),
    /// The name cannot be a member's.
    #[error("`{name}` cannot be a name in a room: {reason}")]
    Name {
        /// The name that was to be a member's.
        name: String,
        /// Which rule of names it breaks.
        reason: String,
    },
    /// A member with this name is in the room.
    #[error("the room already has a member `{0}`")]
    NameTaken(String),
    /// No member of the room has this name.
    #[error("the room has no member `{0}`")]
    NotMember(String),
    /// Too many answers followed each other.
    #[error("{limit} answers followed each other in the room without a message from outside")]
    TooManyHops {
        /// The hop limit of the room.
        limit: u32,
    },
}

impl Diagnose for RoomError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Journal(error) => error.kind(),
            Self::Pool(error) => error.kind(),
            Self::Session(error) => error.kind(),
            Self::NotRoom(_)
            | Self::Name { .. }
            | Self::NameTaken(_)
            | Self::NotMember(_)
            | Self::TooManyHops { .. } => ErrorKind::Validation,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Journal(error) => error.retryable(),
            Self::Pool(error) => error.retryable(),
            Self::Session(error) => error.retryable(),
            _ => false,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Journal(error) => error.hint(),
            Self::Pool(error) => error.hint(),
            Self::Session(error) => error.hint(),
            Self::NotRoom(_) => Some("use another id for the room".to_owned()),
            Self::NameTaken(_) => Some("join under another name".to_owned()),
            Self::NotMember(_) => Some("let it join first".to_owned()),
            Self::TooManyHops { .. } => {
                Some("say something from outside, or raise the hop limit".to_owned())
            }
            Self::Name { .. } => None,
        }
    }
}
