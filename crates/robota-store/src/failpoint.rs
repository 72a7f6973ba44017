//! Named places at which a test's child process kills itself, to simulate a crash.
//!
//! Without the feature `failpoints` none of this is compiled. With it, nothing happens until
//! [`arm`] is called. Only test children call it, with a value from their environment; the program
//! never does.

#[cfg(feature = "failpoints")]
use std::collections::BTreeMap;
#[cfg(feature = "failpoints")]
use std::sync::{Mutex, PoisonError};

/// Lists the names of all failpoints in this crate.
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

/// Marks a place at which tests may crash the process.
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
    /// The failpoint to crash at, and at which hit.
    armed: Option<(String, u64)>,
    hits: BTreeMap<&'static str, u64>,
}

#[cfg(feature = "failpoints")]
static REGISTRY: Mutex<Registry> = Mutex::new(Registry { armed: None, hits: BTreeMap::new() });

/// Makes the process crash at a failpoint: `name`, or `name:3` for the third time it is reached.
///
/// # Errors
/// If there is no failpoint with that name.
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

/// Returns how often each failpoint was reached.
#[cfg(feature = "failpoints")]
#[must_use]
pub fn hits() -> BTreeMap<&'static str, u64> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner).hits.clone()
}

/// Counts that a failpoint was reached, and kills the process if it is the armed one.
#[cfg(feature = "failpoints")]
pub fn hit(name: &'static str) {
    let mut registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    let count = registry.hits.entry(name).or_insert(0);
    *count += 1;
    let reached = *count;
    if registry.armed.as_ref().is_some_and(|(armed, nth)| armed == name && *nth == reached) {
        // SIGKILL, like a crash: nothing is unwound, flushed or dropped.
        let us = rustix::process::getpid();
        let _ = rustix::process::kill_process(us, rustix::process::Signal::KILL);
        loop {
            std::thread::park();
        }
    }
}
