//! Project memory: facts that outlive a session, in files that people can read and edit.
//!
//! ```text
//! .robota/memory/MEMORY.md        the index: one line per topic, part of the prompt
//! .robota/memory/topics/*.md      the entries of one topic
//! .robota/memory/pending.json     candidates that wait for approval
//! ```
//!
//! Nothing is written behind the user's back: a file changes only in [`ProjectMemory::add`],
//! [`ProjectMemory::propose`], [`ProjectMemory::approve`] and [`ProjectMemory::reject`], and no part of
//! a session calls these on its own. What looks like a secret, a card number or the number of a
//! person is refused everywhere. Each change returns a [`MemoryEvent`] that the caller records.
//!
//! ```
//! use robota_sdk::memory::{MemoryEntry, MemoryKind, ProjectMemory};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! let memory = ProjectMemory::open(dir.path())?;
//! let entry = MemoryEntry::new(MemoryKind::Project, "build", "Run the tests with `just test`.")?;
//! assert!(!memory.add(&entry)?.deduplicated);
//! assert!(memory.add(&entry)?.deduplicated);
//! assert_eq!(memory.index()?.text, "- [build](topics/build.md): Run the tests with `just test`.\n");
//! # Ok(())
//! # }
//! ```

mod command;
mod entry;
mod error;
mod event;
mod extract;
mod files;
mod pending;
mod policy;
mod retrieve;
mod store;

pub use command::{MemoryCommand, MemoryReply};
pub use entry::{MAX_ENTRY_CHARS, MemoryEntry, MemoryKind};
pub use error::MemoryError;
pub use event::MemoryEvent;
pub use extract::{CandidateExtractor, MAX_CANDIDATE_CHARS};
pub use pending::{Candidate, MAX_PENDING};
pub use policy::{Refusal, check};
pub use retrieve::{MAX_RECALLED, MAX_RECALLED_CHARS, RecalledTopic};
pub use store::{Added, MAX_INDEX_BYTES, MAX_INDEX_LINES, MemoryIndex, ProjectMemory};
