//! Exports, imports and validates sessions in several formats.
//!
//! | format | content | export | import |
//! |---|---|---|---|
//! | journal | the journal's own lines, unchanged | [`journal::export`] | [`journal::import`] |
//! | record | one JSON document with facts, messages and history (SESS-10) | [`Record::of`] | [`record::import`] |
//! | log | JSON lines that repeat everything a replay needs (SESS-12); large fields are in separate files | [`log::export`] | [`log::import`] |
//! | markdown | a transcript to read | [`markdown`] | |
//!
//! Nothing here reads or writes files: payloads and blobs are passed as bytes. Exports remove
//! secrets again ([`Redactor`](robota_core::redact::Redactor), by the name of a field and by value).
//! Importing the same thing twice is safe: the second import is recognised.
//!
//! [`validate`] reports everything that is missing or inconsistent in a journal, a log or a record.
//! [`Transcript`] is a readable view of a session, turn by turn.
//!
//! ```
//! use robota_core::ids::{CountingIds, SessionId};
//! use robota_core::journal::MemoryStore;
//! use robota_session::replay::{Destination, Record, record};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = MemoryStore::new();
//! let old = r#"{"id": "session_1", "cwd": "/home/ada/app",
//!     "createdAt": "2026-01-02T03:04:05Z", "updatedAt": "2026-01-02T03:05:00Z",
//!     "messages": [{"role": "user", "content": "Hello?"}]}"#;
//! let record = Record::parse(old)?;
//! let ids = CountingIds::default();
//! let to = Destination::new(&store);
//! let first = record::import(&to, &record, &ids).await?;
//! let again = record::import(&to, &record, &ids).await?;
//! assert!(!first.already && again.already);
//!
//! let copy = Record::of(&store, &SessionId::from("session_1")).await?;
//! assert_eq!(copy.messages[0]["content"], "Hello?");
//! # Ok(())
//! # }
//! ```

mod blobs;
mod destination;
mod error;
pub mod journal;
pub mod log;
mod markdown;
pub mod record;
mod redact;
mod transcript;
mod universal;
pub mod validate;

pub use blobs::blob_refs;
pub use destination::Destination;
pub use error::ReplayError;
pub use markdown::markdown;
pub use record::{Imported, Record};
pub use redact::{redact, redact_envelope, redact_events};
pub use transcript::{
    CallDecision, CallView, Transcript, TranscriptEntry, TranscriptStep, TurnView, transcript,
};

#[cfg(test)]
mod tests;
