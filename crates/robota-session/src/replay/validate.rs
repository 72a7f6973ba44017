//! Reports everything that is missing or inconsistent in a journal, a log or a record (SESS-14).
//!
//! An *error* is something that a reader cannot handle: a call without a result, a gap, a damaged
//! line, a reference to nothing. A *warning* is something that is missing but not needed, such as
//! raw payloads of a provider, or that the next writer repairs.

mod calls;
mod journal;
mod log;
mod record;

use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore};
use robota_core::message::BlobRef;
use robota_core::resume;
use serde::Serialize;

pub use journal::JournalCheck;
pub use log::log;
pub use record::record;

/// Says whether a finding is harmless or an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// Something is missing that nothing needs, or is repaired automatically.
    Warning,
    /// Something is wrong, and nothing repairs it.
    Error,
}

/// Something that is missing or inconsistent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Whether the finding is harmless or an error.
    pub severity: FindingSeverity,
    /// A stable code, such as `BLOB_MISSING`.
    pub code: &'static str,
    /// Where it is: an event's cursor, a line, a file.
    pub at: String,
    /// What is missing or inconsistent, for the user.
    pub message: String,
}

/// Counts what a validation has checked, and lists what it found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ValidationReport {
    /// What was validated: `journal`, `log` or `record`.
    pub format: &'static str,
    /// The number of events of a journal, or of lines of a log.
    pub events: u64,
    /// Number of messages in the conversation.
    pub messages: u64,
    /// The number of tool calls that the model asked for.
    pub calls: u64,
    /// Number of blobs or payload files that are referred to.
    pub references: u64,
    /// The number of `state_snapshot` events.
    pub snapshots: u64,
    /// Number of events with types that this version does not know; they are kept and ignored.
    pub unknown_events: u64,
    /// What is missing or inconsistent; empty for a valid session.
    pub findings: Vec<Finding>,
}

impl ValidationReport {
    fn new(format: &'static str) -> Self {
        Self { format, ..Self::default() }
    }

    /// Returns whether there is no error.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.count(FindingSeverity::Error) == 0
    }

    /// Returns the number of findings with that severity.
    #[must_use]
    pub fn count(&self, severity: FindingSeverity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers pass a cursor or a text")]
    fn error(&mut self, code: &'static str, at: impl ToString, message: impl Into<String>) {
        self.find(FindingSeverity::Error, code, &at, message.into());
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers pass a cursor or a text")]
    fn warning(&mut self, code: &'static str, at: impl ToString, message: impl Into<String>) {
        self.find(FindingSeverity::Warning, code, &at, message.into());
    }

    fn find(
        &mut self,
        severity: FindingSeverity,
        code: &'static str,
        at: &dyn ToString,
        message: String,
    ) {
        self.findings.push(Finding { severity, code, at: at.to_string(), message });
    }
}

/// How many events are read at a time.
const PAGE: usize = 4096;

/// Validates a session through its store: damage that the store refuses to read is one finding. If
/// the lines are available as bytes, pass them to a [`JournalCheck`] instead, and that to
/// [`stored`].
///
/// # Errors
/// If there is no such session, or the store fails.
pub async fn session(
    store: &dyn JournalStore,
    session: &SessionId,
) -> Result<ValidationReport, JournalError> {
    let mut check = JournalCheck::new(Some(session.clone()));
    let mut after = 0;
    loop {
        let events = match store.read(session, after, PAGE).await {
            Ok(events) => events,
            Err(JournalError::Damaged { place, reason }) => {
                check.damaged(&place, &reason);
                break;
            }
            Err(error) => return Err(error),
        };
        for event in &events {
            check.event(event);
            after = event.seq;
        }
        if events.len() < PAGE {
            break;
        }
    }
    stored(store, session, check).await
}

/// Finishes the check of a stored session: checks its blobs, and that a resume from the last
/// snapshot gives the same state as the whole journal.
///
/// # Errors
/// If the store fails.
pub async fn stored(
    store: &dyn JournalStore,
    session: &SessionId,
    check: JournalCheck,
) -> Result<ValidationReport, JournalError> {
    let (mut report, blobs) = check.finish();
    let stored_blobs = store.blobs(session);
    for (blob, at) in blobs {
        report.references += 1;
        blob_fits(&mut report, &blob, &at, stored_blobs.get(&blob).await?.as_deref());
    }
    if report.ok() && report.snapshots > 0 {
        let (short, whole) =
            (resume::load(store, session).await, resume::load_whole(store, session).await);
        if short != whole {
            let text = "a resume from the last snapshot gives another state than the whole journal";
            report.error("RESUME_DIFFERS", session, text);
        }
    }
    Ok(report)
}

/// Checks that a blob matches its reference.
pub fn blob_fits(report: &mut ValidationReport, blob: &BlobRef, at: &str, bytes: Option<&[u8]>) {
    let short = blob.sha256.get(..12).unwrap_or(&blob.sha256);
    match bytes {
        None => report.error("BLOB_MISSING", at, format!("the blob {short}… is missing")),
        Some(bytes) if BlobRef::of(bytes) != *blob => {
            let text = format!("the blob {short}… does not match its hash");
            report.error("BLOB_DAMAGED", at, text);
        }
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests;
