//! Named places at which a test child ends itself as if by a crash.
//!
//! Without the feature `failpoints` none of this exists. With it nothing happens either, until
//! [`arm`] is called: a test's child does so with what its environment says; the program never
//! does.

#[cfg(feature = "failpoints")]
use std::collections::BTreeMap;
#[cfg(feature = "failpoints")]
use std::sync::{Mutex, PoisonError};

/// Every failpoint of this crate.
#[cfg(feature = "failpoints")]
pub const POINTS: &[&str] = &[
    "store.append.before_write",
    "store.append.after_write",
    "store.append.after_sync",
    "store.begin.before_identity",
    "store.begin.after_identity",
    "store.blob.after_ref",
    "store.blob.before_rename",
    "store.blob.after_rename",
    "store.delete.after_identity",
    "store.delete.before_sweep",
    "store.fork.before_identity",
    "store.fork.after_links",
    "store.index.before_rename",
    "store.open.after_lock",
    "store.open.before_repair",
    "store.roll.before_create",
    "store.roll.after_create",
    "store.sql.append.before_commit",
    "store.sql.append.after_commit",
    "store.sql.blob.before_commit",
    "store.sql.delete.before_commit",
    "store.sql.fork.before_commit",
    "store.sql.open.after_lease",
];

/// A place at which a crash is interesting.
macro_rules! failpoint {
    ($name:literal) => {
        #[cfg(feature = "failpoints")]
        $crate::failpoint::hit($name);
    };
}
pub(crate) use failpoint;

#[cfg(feature = "failpoints")]
#[derive(Default)]
struct Registry {
    /// The failpoint to die at, and how many times it is passed before.
    armed: Option<(String, u64)>,
    hits: BTreeMap<&'static str, u64>,
}

#[cfg(feature = "failpoints")]
static REGISTRY: Mutex<Registry> = Mutex::new(Registry { armed: None, hits: BTreeMap::new() });

/// Dies at that failpoint: `name`, or `name:3` for the third time it is reached.
///
/// # Errors
/// When there is no such failpoint.
#[cfg(feature = "failpoints")]
pub fn arm(spec: &str) -> Result<(), String> {
    let (name, nth) = match spec.split_once(':') {
        None => (spec, 1),
        Some((name, nth)) => (name, nth.parse().map_err(|error| format!("{spec}: {error}"))?),
    };
    if !POINTS.contains(&name) {
        return Err(format!("there is no failpoint `{name}`"));
    }
    let mut registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    registry.armed = Some((name.to_owned(), nth));
    Ok(())
}

/// How often each failpoint was reached.
#[cfg(feature = "failpoints")]
#[must_use]
pub fn hits() -> BTreeMap<&'static str, u64> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner).hits.clone()
}

/// A failpoint is reached.
#[cfg(feature = "failpoints")]
pub fn hit(name: &'static str) {
    let mut registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    let count = registry.hits.entry(name).or_insert(0);
    *count += 1;
    let reached = *count;
    if registry.armed.as_ref().is_some_and(|(armed, nth)| armed == name && *nth == reached) {
        // As a crash does it: nothing is unwound, flushed or dropped.
        let us = rustix::process::getpid();
        let _ = rustix::process::kill_process(us, rustix::process::Signal::KILL);
        loop {
            std::thread::park();
        }
    }
}
