//! Calls to code of the program that run in a task of the library. A panic there ends only the call: it
//! must not end the session. The caller of each function here chooses what a panic counts as, and that is
//! always the answer that allows less.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use jiff::Timestamp;
use uuid::Uuid;

use crate::clock::{Clock, SystemClock};
use crate::ids::{Ids, RandomIds};

/// Calls a function of the program; none if it panics. `what` names the component in the log.
///
/// ```
/// use robota_core::guard::guarded;
///
/// assert_eq!(guarded("an example", || 1), Some(1));
/// assert_eq!(guarded("an example", || -> u32 { panic!("a bug") }), None);
/// ```
pub fn guarded<T>(what: &str, call: impl FnOnce() -> T) -> Option<T> {
    // Sound, because what the call has changed is the program's own, and nothing of the library.
    logged(what, std::panic::catch_unwind(AssertUnwindSafe(call)))
}

/// Runs a future of the program to its end; none if it panics.
pub async fn guarded_async<T>(what: &str, future: impl Future<Output = T>) -> Option<T> {
    logged(what, AssertUnwindSafe(future).catch_unwind().await)
}

fn logged<T>(what: &str, ended: std::thread::Result<T>) -> Option<T> {
    if ended.is_err() {
        tracing::error!(what, "code of the program panicked");
    }
    ended.ok()
}

/// Returns a clock that gives the system's time whenever this one panics.
pub fn guarded_clock(clock: Arc<dyn Clock>) -> Arc<dyn Clock> {
    Arc::new(GuardedClock(clock))
}

/// Returns ids of this source, and random ones whenever it panics.
pub fn guarded_ids(ids: Arc<dyn Ids>) -> Arc<dyn Ids> {
    Arc::new(GuardedIds(ids))
}

struct GuardedClock(Arc<dyn Clock>);

impl Clock for GuardedClock {
    fn now(&self) -> Timestamp {
        guarded("the clock", || self.0.now()).unwrap_or_else(|| SystemClock.now())
    }
}

struct GuardedIds(Arc<dyn Ids>);

impl Ids for GuardedIds {
    fn next(&self) -> Uuid {
        guarded("the source of ids", || self.0.next()).unwrap_or_else(|| RandomIds.next())
    }
}
