//! The journal ports: where events go. [`Journal`] is one session open for writing;
//! [`JournalStore`] is where sessions are kept. The real ones are `robota-store`'s; the one in
//! memory here is what the ephemeral agent runs on.

mod memory;

use std::sync::Arc;

pub use memory::MemoryJournal;

use crate::error::{Diagnose, ErrorKind};
use crate::event::{Durability, Envelope};
use crate::ids::SessionId;

/// One session, open for writing. There is one writer.
#[async_trait::async_trait]
pub trait Journal: Send {
    /// Appends events that follow on each other and on what is there. All or none: after an
    /// error the journal is as it was before. Returns when they are as safe as asked.
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError>;
}

/// Where sessions are kept.
#[async_trait::async_trait]
pub trait JournalStore: Send + Sync {
    /// Begins a session. Fails when there is one of that id.
    async fn create(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError>;

    /// Opens a session for writing; the events it has are those [`JournalStore::read`] returns.
    async fn open(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError>;

    /// The events of a session after that number, oldest first.
    async fn read(
        &self,
        session: &SessionId,
        after_seq: u64,
    ) -> Result<Vec<Envelope>, JournalError>;
}

/// Why stored data could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The session does not exist.
    #[error("there is no session `{0}`")]
    NotFound(SessionId),
    /// There already is one of that id.
    #[error("there already is a session `{0}`")]
    Exists(SessionId),
    /// Somebody else writes to it.
    #[error("session `{session}` is open in another process ({owner})")]
    Locked {
        /// The session.
        session: SessionId,
        /// Who has it.
        owner: String,
    },
    /// What is stored is damaged.
    #[error("{place} is damaged: {reason}")]
    Damaged {
        /// The file or row.
        place: String,
        /// How.
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
    /// An input or output error, said for people.
    pub fn io(action: &'static str, place: impl Into<String>, error: &std::io::Error) -> Self {
        Self::Io { action, place: place.into(), reason: error.to_string() }
    }
}

impl Diagnose for JournalError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound(_) | Self::Exists(_) => ErrorKind::Validation,
            Self::Locked { .. } | Self::Damaged { .. } | Self::Io { .. } => ErrorKind::Storage,
        }
    }

    fn retryable(&self) -> bool {
        matches!(self, Self::Locked { .. } | Self::Io { .. })
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound(_) => "check the id".to_owned(),
            Self::Exists(_) => "choose another id, or resume the session".to_owned(),
            Self::Locked { .. } => "close it there, or fork the session".to_owned(),
            Self::Damaged { .. } => {
                "restore it from a backup, or fork before the damage".to_owned()
            }
            Self::Io { .. } => {
                "check that the disk has room and may be written; nothing acknowledged is lost"
                    .to_owned()
            }
        })
    }
}
