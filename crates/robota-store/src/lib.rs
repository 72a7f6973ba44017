//! Stores for journals: files, one folder per session ([`FileStore`]); SQLite (feature `sqlite`,
//! `SqliteStore`); PostgreSQL (feature `postgres`, `PostgresStore`). `docs/stores.md` says what
//! they guarantee, and what each [`DurabilityLevel`] can lose.
//!
//! A journal is append-only. Events that [`Journal::append`](robota_core::journal::Journal::append)
//! acknowledged survive a crash of the process; of events that it refused, nothing is stored. A
//! session has one writer at a time. In files the writer holds a lock that ends with its process;
//! in a database it holds a lease that it renews. Readers need neither.
//!
//! The file store reaches the disk only through [`disk::Disk`], so tests can use a disk that loses
//! power, fills up or fails. The feature `failpoints` adds places at which a test's child process
//! crashes; the program is never built with it.
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

// The simulated disk refers to this crate by the name that integration tests use.
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

/// Makes the error for an operation on a file or a folder.
fn io(action: &'static str, place: &Path, reason: impl Display) -> JournalError {
    JournalError::io(action, place.display().to_string(), reason)
}
