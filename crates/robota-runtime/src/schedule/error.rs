//! The error type of schedules.

use robota_core::error::{Diagnose, ErrorKind};
use robota_core::ids::ScheduleId;
use robota_core::journal::JournalError;
use robota_session::SessionError;

/// Why a schedule could not be added or changed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The session failed or has ended.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session has no such schedule.
    #[error("the session has no schedule `{0}`")]
    NotFound(ScheduleId),
    /// A time, a zone, a period or a pattern is not valid.
    #[error("`{value}` is not {expected}{reason}")]
    Invalid {
        /// The text that the caller gave.
        value: String,
        /// What a valid text looks like, to complete the message.
        expected: &'static str,
        /// The reason, beginning with a colon; may be empty.
        reason: String,
    },
}

impl ScheduleError {
    pub(crate) fn invalid(value: &str, expected: &'static str) -> Self {
        Self::Invalid { value: value.to_owned(), expected, reason: String::new() }
    }

    pub(crate) fn because(
        value: &str,
        expected: &'static str,
        reason: impl std::fmt::Display,
    ) -> Self {
        Self::Invalid { value: value.to_owned(), expected, reason: format!(": {reason}") }
    }
}

impl From<JournalError> for ScheduleError {
    fn from(error: JournalError) -> Self {
        Self::Session(error.into())
    }
}

impl Diagnose for ScheduleError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Session(error) => error.kind(),
            Self::NotFound(_) | Self::Invalid { .. } => ErrorKind::Validation,
        }
    }

    fn retryable(&self) -> bool {
        matches!(self, Self::Session(error) if error.retryable())
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Session(error) => error.hint(),
            Self::NotFound(_) => Some("list the schedules of the session".to_owned()),
            Self::Invalid { .. } => None,
        }
    }
}
