//! The error type of sessions.

use robota_core::error::{Diagnose, ErrorData, ErrorKind};
use robota_core::ids::{CallId, MessageId, SessionId};
use robota_core::journal::JournalError;
use robota_core::tool::ToolNameTaken;
use robota_core::typed::TypedError;

use crate::id::IdError;

/// Why an operation of a session failed.
///
/// ```
/// use robota_session::SessionError;
///
/// fn is_closed(error: &SessionError) -> bool {
///     matches!(error, SessionError::Closed { .. })
/// }
/// # let _ = is_closed;
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The journal could not be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A label or a place to fork at is not valid.
    #[error(transparent)]
    Id(#[from] IdError),
    /// Two tools have the same name.
    #[error(transparent)]
    Tools(#[from] ToolNameTaken),
    /// The session was shut down before the request; open it again to continue.
    #[error("session `{session}` is closed ({reason})")]
    Closed {
        /// The session that was shut down.
        session: SessionId,
        /// The reason that the shutdown gave.
        reason: String,
    },
    /// A turn or a compaction runs that must end first.
    #[error("session `{session}` is busy, so {what} has to wait")]
    Busy {
        /// The session in which something runs.
        session: SessionId,
        /// The request that has to wait.
        what: &'static str,
    },
    /// A crash interrupted a turn, and [`crate::Recovery::recover`] was not called yet.
    #[error("session `{session}` was left in the middle of a turn and is not recovered yet")]
    Unrecovered {
        /// The session that has to be recovered first.
        session: SessionId,
    },
    /// The call does not wait for approval, or was decided already.
    #[error("no approval is pending for `{0}`")]
    NotAsked(CallId),
    /// The conversation has no such message.
    #[error("the conversation has no message `{0}`")]
    NoSuchMessage(MessageId),
    /// The session has no such checkpoint.
    #[error("the session has no checkpoint `{0}`")]
    NoSuchCheckpoint(String),
    /// The conversation at a checkpoint is no longer part of the model's view.
    #[error(
        "the conversation at checkpoint `{0}` cannot be restored: it was summarised, replaced or never began"
    )]
    NotInView(String),
    /// The session has no such safe point to fork at.
    #[error("session `{session}` cannot be forked at {place}: it has {points} safe points")]
    NoSafePoint {
        /// The session that was to be forked.
        session: SessionId,
        /// The place that was asked for.
        place: String,
        /// How many safe points the session has.
        points: u64,
    },
    /// The conversation ends with a complete answer, so there is no turn to continue.
    #[error("there is nothing to continue: the conversation ends with an answer")]
    NothingToContinue,
    /// There is no compaction that can be undone.
    #[error("there is no compaction to undo")]
    NothingToRestore,
    /// The conversation could not be summarised.
    #[error("the conversation could not be summarised: {}", .0.message)]
    Compaction(ErrorData),
    /// The caller interrupted the run before its turn ended.
    #[error("the run was aborted")]
    Aborted {
        /// The text that the model had streamed by then.
        text: String,
    },
    /// A hook refused the input, with this reason.
    #[error("{0}")]
    Blocked(String),
    /// The provider or the journal failed.
    #[error("{}", .0.message)]
    Failed(ErrorData),
    /// The answer does not have the type that [`crate::Session::run_as`] asked for.
    #[error(transparent)]
    Typed(#[from] TypedError),
    /// A setting of the session is invalid; the text says which and why.
    #[error("{0}")]
    Setting(String),
}

impl Diagnose for SessionError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Journal(error) => error.kind(),
            Self::Typed(error) => error.kind(),
            Self::Failed(data) | Self::Compaction(data) => data.kind,
            Self::Id(_)
            | Self::Tools(_)
            | Self::NotAsked(_)
            | Self::NoSuchMessage(_)
            | Self::NoSuchCheckpoint(_)
            | Self::NotInView(_)
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
            Self::Typed(error) => return error.hint(),
            Self::Failed(data) | Self::Compaction(data) => return data.hint.clone(),
            Self::Id(_) => {
                "a place is `latest`, `sfp:3`, `label:name` or a cursor such as `3-1042`"
            }
            Self::Tools(_) => "give one of them another name",
            Self::Closed { .. } => "resume the session to continue it",
            Self::Busy { .. } => "wait until it is ready, or interrupt it",
            Self::Unrecovered { .. } => {
                "call `recovery().recover(..)` to close the open calls or to give their results"
            }
            Self::NoSafePoint { .. } => {
                "a safe point follows each complete answer and each batch of finished calls: `sfp:1` is the first, `label:L` the one labelled L"
            }
            Self::NotAsked(_) => "list the pending approvals with `permissions().pending()`",
            Self::NoSuchMessage(_) => "only messages that the model still sees can be named",
            Self::NoSuchCheckpoint(_) => "list the checkpoints; one is named by its id or number",
            Self::NotInView(_) => "restore the files only, or fork the session at an earlier point",
            Self::NothingToContinue => "send an input",
            Self::NothingToRestore => "only the last compaction can be undone, once",
            Self::Aborted { .. } => "the session is still usable",
            Self::Blocked(_) | Self::Setting(_) => return None,
        };
        Some(hint.to_owned())
    }
}
