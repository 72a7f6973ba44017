//! Events for the audit trail of a session. They never contain a text that was refused.

use serde::{Deserialize, Serialize};

use super::{MemoryKind, Refusal};

/// What happened to the memory. The caller records it, for instance as the history entry
/// `memory-event`.
///
/// ```
/// use robota_sdk::memory::MemoryEvent;
///
/// let event = MemoryEvent::Rejected { id: "1".to_owned() };
/// assert!(format!("{event:?}").contains("Rejected"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MemoryEvent {
    /// An entry was added.
    Added {
        /// Its kind.
        kind: MemoryKind,
        /// Its topic.
        topic: String,
        /// Its text.
        text: String,
        /// Whether the topic had it already, so that nothing changed.
        deduplicated: bool,
    },
    /// A candidate was added to those that wait.
    Proposed {
        /// The id of the candidate.
        id: String,
        /// Its topic.
        topic: String,
    },
    /// A candidate was approved and added.
    Approved {
        /// The id of the candidate.
        id: String,
        /// Its topic.
        topic: String,
        /// Whether the topic had it already.
        deduplicated: bool,
    },
    /// A candidate was rejected and removed.
    Rejected {
        /// The id of the candidate.
        id: String,
    },
    /// A text was not stored.
    Refused {
        /// What it contains.
        reason: Refusal,
    },
    /// Topics were recalled for a prompt.
    Recalled {
        /// The topics.
        topics: Vec<String>,
    },
}

impl MemoryEvent {
    /// The name of the history entry for these events.
    pub const ENTRY: &'static str = "memory-event";
}
