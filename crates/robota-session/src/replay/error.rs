//! Why a session could not be brought into another shape.

use robota_core::error::{Diagnose, ErrorKind};
use robota_core::ids::SessionId;
use robota_core::journal::JournalError;
use robota_core::resume::ResumeError;
use robota_core::state::FoldError;

/// Why a session could not be brought into another shape.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The store failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal has a gap.
    #[error(transparent)]
    Fold(#[from] FoldError),
    /// What was given is not in the shape it should be.
    #[error("this is not a {shape}: {reason}")]
    Shape {
        /// What it should have been.
        shape: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A line cannot be used.
    #[error("line {line} cannot be used: {reason}")]
    Line {
        /// Which, from one.
        line: usize,
        /// Why.
        reason: String,
    },
    /// There is another session of that id.
    #[error("there is a session `{0}` already, and it is not this one")]
    Taken(SessionId),
}

impl ReplayError {
    pub(super) fn shape(shape: &'static str, reason: impl Into<String>) -> Self {
        Self::Shape { shape, reason: reason.into() }
    }
}

impl From<ResumeError> for ReplayError {
    fn from(error: ResumeError) -> Self {
        match error {
            ResumeError::Journal(error) => Self::Journal(error),
            ResumeError::Fold(error) => Self::Fold(error),
        }
    }
}

impl Diagnose for ReplayError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Journal(error) => error.kind(),
            Self::Fold(_) => ErrorKind::Storage,
            Self::Shape { .. } | Self::Line { .. } | Self::Taken(_) => ErrorKind::Validation,
        }
    }

    fn retryable(&self) -> bool {
        matches!(self, Self::Journal(error) if error.retryable())
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Journal(error) => error.hint(),
            Self::Fold(_) => Some("`validate` says all that is wrong with it".to_owned()),
            Self::Shape { .. } => Some("name the format it has".to_owned()),
            Self::Line { .. } => Some("`validate` says all that is wrong with the file".to_owned()),
            Self::Taken(_) => Some("give the copy an id of its own".to_owned()),
        }
    }
}
