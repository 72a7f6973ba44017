//! Why a session could not do what it was asked.

use robota_core::error::{Diagnose, ErrorData, ErrorKind};
use robota_core::ids::{CallId, SessionId};
use robota_core::journal::JournalError;
use robota_core::tool::ToolNameTaken;

use crate::id::IdError;

/// Why a session could not do what it was asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SessionError {
    /// The journal could not be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A label or a place is none.
    #[error(transparent)]
    Id(#[from] IdError),
    /// Two tools have one name.
    #[error(transparent)]
    Tools(#[from] ToolNameTaken),
    /// The session was shut down.
    #[error("session `{session}` is closed ({reason})")]
    Closed {
        /// The session.
        session: SessionId,
        /// Why.
        reason: String,
    },
    /// Something runs that must end first.
    #[error("session `{session}` is busy, so {what} has to wait")]
    Busy {
        /// The session.
        session: SessionId,
        /// What was asked.
        what: &'static str,
    },
    /// A dead process left work open and nobody has said yet what becomes of it.
    #[error("session `{session}` was left in the middle of a turn and is not recovered yet")]
    Unrecovered {
        /// The session.
        session: SessionId,
    },
    /// Nobody asked about that call, or it was answered already.
    #[error("no approval is pending for `{0}`")]
    NotAsked(CallId),
    /// There is no place to fork at yet.
    #[error("session `{session}` cannot be forked at {place}: it has {points} safe points")]
    NoSafePoint {
        /// The session.
        session: SessionId,
        /// Which was asked for.
        place: String,
        /// How many it has.
        points: u64,
    },
    /// The conversation ends with a whole answer.
    #[error("there is nothing to continue: the conversation ends with an answer")]
    NothingToContinue,
    /// No compaction can be taken back.
    #[error("there is no compaction to take back")]
    NothingToRestore,
    /// The conversation could not be summarised.
    #[error("the conversation could not be summarised: {}", .0.message)]
    Compaction(ErrorData),
    /// Somebody stopped the run.
    #[error("the run was aborted")]
    Aborted {
        /// What the model had said by then.
        text: String,
    },
    /// A hook refused the input.
    #[error("{0}")]
    Blocked(String),
    /// The model's service or the journal failed.
    #[error("{}", .0.message)]
    Failed(ErrorData),
    /// A setting makes no sense.
    #[error("{0}")]
    Setting(String),
}

impl Diagnose for SessionError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Journal(error) => error.kind(),
            Self::Failed(data) | Self::Compaction(data) => data.kind,
            Self::Id(_)
            | Self::Tools(_)
            | Self::NotAsked(_)
            | Self::NoSafePoint { .. }
            | Self::NothingToContinue
            | Self::NothingToRestore
            | Self::Blocked(_) => ErrorKind::Validation,
            Self::Closed { .. }
            | Self::Busy { .. }
            | Self::Unrecovered { .. }
            | Self::Aborted { .. }
            | Self::Setting(_) => ErrorKind::Configuration,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Journal(error) => error.retryable(),
            Self::Failed(data) | Self::Compaction(data) => data.retryable,
            Self::Busy { .. } => true,
            _ => false,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Journal(error) => return error.hint(),
            Self::Failed(data) | Self::Compaction(data) => return data.hint.clone(),
            Self::Id(_) => "a place is latest, sfp:3, label:name or 3-1042",
            Self::Tools(_) => "give one of them another name",
            Self::Closed { .. } => "resume the session to go on with it",
            Self::Busy { .. } => "wait until it is ready, or interrupt it",
            Self::Unrecovered { .. } => "recover it: seal what was open, or say what it came to",
            Self::NoSafePoint { .. } => {
                "safe points follow whole answers and finished calls: sfp:1 is the first, label:L one named L"
            }
            Self::NotAsked(_) => "look at the pending approvals",
            Self::NothingToContinue => "send something",
            Self::NothingToRestore => "only the last compaction can be taken back, once",
            Self::Aborted { .. } => "the session can be used as before",
            Self::Blocked(_) | Self::Setting(_) => return None,
        };
        Some(hint.to_owned())
    }
}
