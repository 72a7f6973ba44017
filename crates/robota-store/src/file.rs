//! Journals in files.
//!
//! ```text
//! root/                      0700
//!   .gitignore               `*`, if the root is a project's `.robota/sessions`
//!   blobs/aa/{sha256}        0600, content that is too large for an event; shared by sessions
//!   blobs/lock               held while blobs are stored or swept
//!   {folder name}/           0700, see `folder_name`
//!     lock                   held by the writer; contains who that is
//!     session.json           the session's id and its owner's seal; makes the folder a session
//!     {first seq}.jsonl      0600, a segment: one event per line
//!     {first}-{end}.jsonl    a segment of a fork: the first events of a file that may have more
//!     refs                   the blobs that the session refers to, one hash per line
//!     head.json              what a list shows; derived from the journal, may be deleted
//!     {first seq}.head       heads at some places of a segment; may be deleted
//!     {first seq}.idx        offsets of some events of a segment; may be deleted
//! ```
//!
//! A session exists from its first event. A folder without `session.json`, or without an event,
//! was left by a writer that crashed before anything was acknowledged; the next `create` takes it
//! over.

mod blobs;
mod folder_name;
mod fork;
mod identity;
mod index;
mod journal_store;
mod marks;
mod open;
mod open_files;
mod read;
mod remove;
mod replace;
mod seal;
mod segment;
mod store;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::clock::Clock;
use robota_core::ids::SessionId;

pub use store::FileStore;

use crate::DurabilityLevel;
use crate::disk::Disk;

/// What all parts of a file store share.
#[derive(Clone)]
struct Files {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    segment_bytes: u64,
    level: DurabilityLevel,
    key: Option<seal::OwnerKey>,
    clock: Arc<dyn Clock>,
    open_files: Arc<open_files::OpenFiles>,
}

impl Files {
    /// Returns the folder of a session, whether it exists or not.
    fn folder(&self, session: &SessionId) -> PathBuf {
        self.root.join(folder_name::folder_name(session))
    }
}

#[cfg(test)]
mod tests;
