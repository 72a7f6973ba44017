//! Says all that is missing or does not fit, in a journal, a log or a record (SESS-14).
//!
//! An *error* is something a reader would stumble over: a call without its result, a gap, a
//! damaged line, a reference to nothing. A *warning* is something that is merely gone, such as
//! raw payloads of a provider, or that the next writer puts right by itself.

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

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something is gone, and nothing needs it.
    Warning,
    /// Something is wrong.
    Error,
}

/// One thing that is missing or does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// A stable word for it.
    pub code: &'static str,
    /// Where: an event's cursor, a line, a file.
    pub at: String,
    /// What, for people.
    pub message: String,
}

/// What a validation came to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Report {
    /// What was looked at: `journal`, `log` or `record`.
    pub format: &'static str,
    /// Events or lines.
    pub events: u64,
    /// Messages of the conversation.
    pub messages: u64,
    /// Tool calls.
    pub calls: u64,
    /// Blobs or payload files that are referred to.
    pub references: u64,
    /// Snapshots of the state.
    pub snapshots: u64,
    /// Events of types that this version does not know; they are kept and stepped over.
    pub unknown_events: u64,
    /// What was found.
    pub findings: Vec<Finding>,
}

impl Report {
    fn new(format: &'static str) -> Self {
        Self { format, ..Self::default() }
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.count(Severity::Error) == 0
    }

    /// How many findings are that bad.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    #[expect(clippy::needless_pass_by_value, reason = "a cursor or a text, as it is at hand")]
    fn error(&mut self, code: &'static str, at: impl ToString, message: impl Into<String>) {
        self.find(Severity::Error, code, &at, message.into());
    }

    #[expect(clippy::needless_pass_by_value, reason = "a cursor or a text, as it is at hand")]
    fn warning(&mut self, code: &'static str, at: impl ToString, message: impl Into<String>) {
        self.find(Severity::Warning, code, &at, message.into());
    }

    fn find(&mut self, severity: Severity, code: &'static str, at: &dyn ToString, message: String) {
        self.findings.push(Finding { severity, code, at: at.to_string(), message });
    }
}

/// How many events are read at once.
const PAGE: usize = 4096;

/// Looks at a session of a store, through the store: what the store itself refuses to read is
/// one finding. Where its lines can be had as bytes, give them to a [`JournalCheck`] instead and
/// to [`stored`] what it returns.
///
/// # Errors
/// When there is no such session, or the store fails.
pub async fn session(
    store: &dyn JournalStore,
    session: &SessionId,
) -> Result<Report, JournalError> {
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

/// Finishes the check of a stored session: its blobs, and whether a resume comes to the same as
/// the whole journal.
///
/// # Errors
/// When the store fails.
pub async fn stored(
    store: &dyn JournalStore,
    session: &SessionId,
    check: JournalCheck,
) -> Result<Report, JournalError> {
    let (mut report, blobs) = check.finish();
    let kept = store.blobs(session);
    for (blob, at) in blobs {
        report.references += 1;
        blob_fits(&mut report, &blob, &at, kept.get(&blob).await?.as_deref());
    }
    if report.ok() && report.snapshots > 0 {
        let (short, whole) =
            (resume::load(store, session).await, resume::load_whole(store, session).await);
        if short != whole {
            let text = "a resume from the last snapshot comes to another state than the journal";
            report.error("RESUME_DIFFERS", session, text);
        }
    }
    Ok(report)
}

/// Whether a blob is what its reference says.
pub fn blob_fits(report: &mut Report, blob: &BlobRef, at: &str, bytes: Option<&[u8]>) {
    let short = blob.sha256.get(..12).unwrap_or(&blob.sha256);
    match bytes {
        None => report.error("BLOB_MISSING", at, format!("the blob {short}… is not there")),
        Some(bytes) if BlobRef::of(bytes) != *blob => {
            let text = format!("the blob {short}… does not have the bytes its name says");
            report.error("BLOB_DAMAGED", at, text);
        }
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests;
