//! Where journals are kept: files, one folder per session ([`FileStore`]), SQLite (feature
//! `sqlite`, `SqliteStore`) and PostgreSQL (feature `postgres`, `PostgresStore`). What they promise
//! and what can be lost at which [`DurabilityLevel`] is in `docs/stores.md`.
//!
//! A journal is append-only. What [`Journal::append`](robota_core::journal::Journal::append)
//! acknowledged is there after a crash; what it refused is not, not even in part. One writer
//! holds a session at a time: on files by a lock that ends with its process, in a database by a
//! lease that it renews; readers need neither.
//!
//! All that the file store does to a disk goes through [`disk::Disk`], so that tests can use one
//! that loses its power, fills up and fails. The feature `failpoints` has places at which a test's
//! child dies; the program is never built with it.
//!
//! ```
//! # use std::sync::Arc;
//! use robota_core::clock::{Clock, SystemClock};
//! use robota_core::event::{Durability, Envelope, Renamed};
//! use robota_core::ids::SessionId;
//! use robota_core::journal::JournalStore;
//! use robota_store::FileStore;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let store = FileStore::new(folder.path().join("sessions"));
//! let session = SessionId::from("agent:dev/session:main");
//! let mut journal = store.create(&session).await?;
//! let event = Arc::new(Envelope {
//!     seq: 1,
//!     epoch: 1,
//!     ts: SystemClock.now(),
//!     turn: None,
//!     event: Renamed { name: "first steps".to_owned() }.into(),
//!     min_reader: None,
//! });
//! journal.append(&[Arc::clone(&event)], Durability::Synced).await?;
//! assert_eq!(store.read(&session, 0, usize::MAX).await?, [(*event).clone()]);
//! # Ok(()) })
//! # }
//! ```

// The simulated disk names this crate as the integration tests do.
#[cfg(test)]
extern crate self as robota_store;

pub mod disk;
mod durability_level;
#[cfg(feature = "failpoints")]
pub mod failpoint;
#[cfg(not(feature = "failpoints"))]
mod failpoint;
mod file;
mod owner;
mod process;
#[cfg(test)]
#[path = "../tests/sim/mod.rs"]
mod sim;

#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod sql;

use std::fmt::Display;
use std::path::Path;

use robota_core::journal::JournalError;

pub use durability_level::DurabilityLevel;
pub use file::FileStore;
#[cfg(feature = "postgres")]
pub use sql::PostgresStore;
#[cfg(feature = "sqlite")]
pub use sql::SqliteStore;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub use sql::{SqlOptions, SqlStore};

/// What went wrong with a file or a folder.
fn io(action: &'static str, place: &Path, reason: impl Display) -> JournalError {
    JournalError::io(action, place.display().to_string(), reason)
}
