//! Imports sessions of other agents: transcripts of Claude Code and rollouts of Codex.
//!
//! A reader converts the lines of a file to a [`Record`], and [`ForeignSession::import`] writes it as a
//! journal, in the same way as the import of a record: each call gets exactly one result, and a second
//! import of the same file changes nothing. Lines that are torn, unknown or of another branch never
//! stop the rest; the [`ImportReport`] counts them.
//!
//! ```
//! use robota_core::ids::RandomIds;
//! use robota_core::journal::MemoryStore;
//! use robota_sdk::import::{ImportSource, read};
//! use robota_session::replay::Destination;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let lines = br#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s1","cwd":"/app",
//! "timestamp":"2026-01-02T03:04:05Z","message":{"role":"user","content":"Hello?"}}"#;
//! let line: Vec<u8> = lines.iter().copied().filter(|byte| *byte != b'\n').collect();
//! let session = read(ImportSource::Claude, &line, "s1")?;
//! let store = MemoryStore::new();
//! let imported = session.import(&Destination::new(&store), &RandomIds).await?;
//! assert_eq!(imported.session.as_str(), "s1");
//! # Ok(())
//! # }
//! ```

mod claude;
mod codex;
mod conversation;
mod files;
mod lines;

use std::collections::BTreeMap;

use robota_core::error::{Diagnose, ErrorKind};
use robota_core::ids::Ids;
use robota_session::replay::{Destination, Imported, Record, ReplayError, record};
use serde::Serialize;

pub use files::{SessionFile, find_files};

/// An agent whose sessions can be imported.
///
/// ```
/// use robota_sdk::import::ImportSource;
///
/// assert_ne!(ImportSource::Claude, ImportSource::Codex);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportSource {
    /// Claude Code: `~/.claude/projects/*/*.jsonl`.
    Claude,
    /// Codex: `~/.codex/sessions/**/rollout-*.jsonl`.
    Codex,
}

impl ImportSource {
    /// Returns the name that is used on the command line and in journals.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }
}

/// What an import left out, by number.
///
/// ```
/// use robota_sdk::import::ImportReport;
///
/// assert_eq!(ImportReport::default().malformed, 0);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Lines that are not JSON objects: torn or damaged.
    pub malformed: u64,
    /// Lines without a place in a conversation, by type.
    pub skipped: BTreeMap<String, u64>,
    /// Messages of subagents, which are not part of the conversation; always 0 for Codex.
    pub sidechain: u64,
    /// Messages of branches that the user left.
    pub abandoned: u64,
}

/// A session of another agent that was read and not imported yet.
///
/// ```
/// use robota_sdk::import::{ImportSource, ForeignSession};
///
/// fn complete(session: &ForeignSession) -> bool {
///     session.agent == ImportSource::Claude && session.report.malformed == 0
/// }
/// # let _ = complete;
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignSession {
    /// The agent that wrote it. The journal records its name.
    pub agent: ImportSource,
    /// The session as a record: its id, folder, messages and history.
    pub record: Record,
    /// What the session had and the record has not, for the user.
    pub report: ImportReport,
}

/// Why a file is not the session of an agent.
///
/// ```
/// use robota_sdk::import::{ImportSource, NotASession};
///
/// let error = NotASession { agent: ImportSource::Codex, reason: "it is empty" };
/// assert!(error.to_string().contains("it is empty"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a session of {}: {reason}", agent.name())]
pub struct NotASession {
    /// The agent whose format was expected.
    pub agent: ImportSource,
    /// What is wrong, as the end of a sentence.
    pub reason: &'static str,
}

/// Reads a session. `id` is used if the lines contain none.
///
/// # Errors
/// When the lines contain no message.
pub fn read(agent: ImportSource, bytes: &[u8], id: &str) -> Result<ForeignSession, NotASession> {
    let (record, report) = match agent {
        ImportSource::Claude => claude::read(bytes, id),
        ImportSource::Codex => codex::read(bytes, id),
    };
    if record.history.is_empty() {
        return Err(NotASession { agent, reason: "it contains no message" });
    }
    Ok(ForeignSession { agent, record, report })
}

impl ForeignSession {
    /// Writes the session to a store, under its own id or that of the destination.
    ///
    /// # Errors
    /// When another session has the id, or the store fails.
    pub async fn import(
        &self,
        to: &Destination<'_>,
        ids: &dyn Ids,
    ) -> Result<Imported, ReplayError> {
        record::import_as(to, &self.record, ids, self.agent.name()).await
    }
}

impl Diagnose for NotASession {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Validation
    }
}

#[cfg(test)]
mod tests;
