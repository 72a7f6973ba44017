//! Errors of exports and imports.

use robota_core::error::{Diagnose, ErrorKind};
use robota_core::ids::SessionId;
use robota_core::journal::JournalError;
use robota_core::resume::ResumeError;
use robota_core::state::FoldError;

/// Why a session could not be exported or imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The store could not be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The events of the journal do not follow each other.
    #[error(transparent)]
    Fold(#[from] FoldError),
    /// The input does not have the expected format.
    #[error("this is not a {shape}: {reason}")]
    Shape {
        /// The name of the format that was expected.
        shape: &'static str,
        /// Where the text departs from the format.
        reason: String,
    },
    /// A line of the export cannot be used.
    #[error("line {line} cannot be used: {reason}")]
    Line {
        /// The number of the line, from one.
        line: usize,
        /// Why the line cannot be read.
        reason: String,
    },
    /// Another session of the store has the id that the import needs.
    #[error("another session has the id `{0}`")]
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
            Self::Fold(_) => {
                Some("run `validate` to see everything that is wrong with it".to_owned())
            }
            Self::Shape { .. } => Some("specify the format of the input".to_owned()),
            Self::Line { .. } => {
                Some("run `validate` to see everything that is wrong with the file".to_owned())
            }
            Self::Taken(_) => Some("choose another id for the copy".to_owned()),
        }
    }
}
