//! The error type of pools.

use robota_core::error::{Diagnose, ErrorKind};
use robota_core::ids::SessionId;
use robota_core::journal::JournalError;
use robota_session::SessionError;

/// Why an operation of a pool failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// The session failed, or could not be opened.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The pool has a session with this id.
    #[error("the pool already has the session `{0}`")]
    Exists(SessionId),
    /// The pool has no such session.
    #[error("the pool has no session `{0}`")]
    NotFound(SessionId),
    /// The pool has no such template.
    #[error("the pool has no template `{0}`")]
    NoTemplate(String),
    /// The id of the session does not name its template.
    #[error("the id `{0}` does not name a template, as `agent:T/session:R` does")]
    Unstructured(SessionId),
    /// The pool has as many sessions as it may have.
    #[error("the pool is full: it has {limit} sessions")]
    Full {
        /// [`PoolLimits::max_sessions`](crate::PoolLimits::max_sessions) of the pool.
        limit: usize,
    },
    /// The tenant has as many sessions as it may have.
    #[error("tenant `{tenant}` has {limit} sessions, as many as it may have")]
    TenantFull {
        /// The tenant: the first part of the ids of its sessions.
        tenant: String,
        /// [`PoolLimits::max_per_tenant`](crate::PoolLimits::max_per_tenant) of the pool.
        limit: usize,
    },
    /// As many sessions as may be live are busy.
    #[error("{limit} sessions are live and none of them is idle")]
    AllBusy {
        /// [`PoolLimits::max_live`](crate::PoolLimits::max_live) of the pool.
        limit: usize,
    },
    /// The pool is shutting down and opens no more sessions.
    #[error("the pool is shutting down")]
    Closing,
}

impl From<JournalError> for PoolError {
    fn from(error: JournalError) -> Self {
        Self::Session(error.into())
    }
}

impl Diagnose for PoolError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Session(error) => error.kind(),
            Self::Exists(_) | Self::NotFound(_) | Self::NoTemplate(_) | Self::Unstructured(_) => {
                ErrorKind::Validation
            }
            Self::Full { .. } | Self::TenantFull { .. } | Self::AllBusy { .. } | Self::Closing => {
                ErrorKind::Configuration
            }
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Session(error) => error.retryable(),
            Self::AllBusy { .. } => true,
            _ => false,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Session(error) => return error.hint(),
            Self::Exists(_) => "use `get`",
            Self::NotFound(_) => "add it with `create` or `resume`",
            Self::NoTemplate(_) => "add the template when the pool is built",
            Self::Unstructured(_) => "create it with an id such as `agent:dev/session:main`",
            Self::Full { .. } | Self::TenantFull { .. } => "remove sessions, or raise the limit",
            Self::AllBusy { .. } => "try again later, or raise `max_live`",
            Self::Closing => return None,
        };
        Some(hint.to_owned())
    }
}
