//! Errors of the project memory.

use std::path::PathBuf;

use robota_core::error::{Diagnose, ErrorKind};
use robota_tools::FileError;

use super::Refusal;

/// Why the project memory was not read or changed.
///
/// ```
/// use robota_sdk::memory::{MemoryError, Refusal};
///
/// assert!(!MemoryError::Refused(Refusal::Secret).to_string().is_empty());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The text must not be stored.
    #[error("this is not stored, because it contains {0}; write what it is for instead")]
    Refused(Refusal),
    /// A topic, a kind or a text is not valid.
    #[error("{0}")]
    Invalid(String),
    /// There is no such topic or candidate.
    #[error("the memory has no {what} `{name}`; `memory {list}` lists them")]
    Unknown {
        /// What was asked for: `topic` or `candidate`.
        what: &'static str,
        /// The name or id that was asked for.
        name: String,
        /// The command that lists those that exist.
        list: &'static str,
    },
    /// The candidates that wait are too many.
    #[error("{0} candidates wait already; approve or reject some first (`memory pending`)")]
    TooMany(usize),
    /// The list of candidates is damaged. It is not overwritten.
    #[error("{} cannot be read ({message}); correct or delete it", path.display())]
    Damaged {
        /// The file with the list, which a person may have edited.
        path: PathBuf,
        /// Where the list cannot be read, and why.
        message: String,
    },
    /// A file cannot be read or written, or a link is in its way.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Diagnose for MemoryError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Refused(_) | Self::Invalid(_) | Self::Unknown { .. } | Self::TooMany(_) => {
                ErrorKind::Validation
            }
            Self::Damaged { .. } => ErrorKind::Storage,
            Self::File(error) => error.kind(),
        }
    }
}
