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
#[non_exhaustive]
pub enum MemoryEvent {
    /// An entry was stored in its topic, or was there already.
    Added {
        /// The kind of fact that the entry states.
        kind: MemoryKind,
        /// The name of the topic, also that of its file.
        topic: String,
        /// The fact. It has passed the check for secrets.
        text: String,
        /// Whether the topic had it already, so that nothing changed.
        deduplicated: bool,
    },
    /// A candidate was added to those that wait.
    Proposed {
        /// The id that the candidate has from now on.
        id: String,
        /// The topic that it would be added to.
        topic: String,
    },
    /// A candidate was approved and added.
    Approved {
        /// The id that the candidate had.
        id: String,
        /// The topic that it was added to.
        topic: String,
        /// Whether the topic had it already.
        deduplicated: bool,
    },
    /// A candidate was rejected and removed.
    Rejected {
        /// The id that the candidate had.
        id: String,
    },
    /// A text was not stored, because of what it contains.
    Refused {
        /// What kind of secret or number it contains. The text itself is not recorded.
        reason: Refusal,
    },
    /// Topics were recalled for a prompt.
    Recalled {
        /// The names of the topics that were shown.
        topics: Vec<String>,
    },
}

impl MemoryEvent {
    /// The history has these events under this name.
    pub const ENTRY: &'static str = "memory-event";
}
