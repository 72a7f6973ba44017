//! Calls to code of the program that run in a task of the library. A panic there ends only the call: it
//! must not end the session. The caller of each function here chooses what a panic counts as, and that is
//! always the answer that allows less, where one of the answers does.
//!
//! This includes destructors: what the program has passed in is dropped by the guard too, also when a call
//! is cancelled. A destructor that panics does not change the result of its call. There is one case that no
//! guard can catch: a destructor that panics while an earlier panic drops its owner ends the process. Rust
//! defines it so.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::poll_fn;
use futures::{FutureExt as _, Stream, StreamExt as _};
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
    logged(what, catch_unwind(AssertUnwindSafe(call)))
}

/// Runs a future of the program to its end; none if it panics. A panic of its destructor has no effect.
pub async fn guarded_async<T>(what: &str, future: impl Future<Output = T>) -> Option<T> {
    let slot = pin!(Some(future));
    let mut future = DropsGuarded { what, slot };
    let ended = AssertUnwindSafe(poll_fn(|context| future.poll(context))).catch_unwind().await;
    logged(what, ended)
}

/// Runs a future of the program to its end. A panic of its destructor has no effect; a panic of the future
/// itself is passed on, for callers that report its message.
pub async fn drop_guarded<T>(what: &str, future: impl Future<Output = T>) -> T {
    let slot = pin!(Some(future));
    let mut future = DropsGuarded { what, slot };
    poll_fn(|context| future.poll(context)).await
}

/// A future that is dropped inside a guard.
struct DropsGuarded<'a, F> {
    what: &'a str,
    /// None once it was dropped.
    slot: Pin<&'a mut Option<F>>,
}

impl<F: Future> DropsGuarded<'_, F> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<F::Output> {
        self.slot.as_mut().as_pin_mut().map_or(Poll::Pending, |future| future.poll(context))
    }
}

impl<F> Drop for DropsGuarded<'_, F> {
    fn drop(&mut self) {
        guarded(self.what, || self.slot.set(None));
    }
}

/// A value of the program that is used and dropped inside a guard.
///
/// ```
/// use robota_core::guard::Guarded;
///
/// struct Faulty;
/// impl Drop for Faulty {
///     fn drop(&mut self) {
///         panic!("a bug")
///     }
/// }
/// let mut faulty = Guarded::new("an example", Faulty);
/// assert_eq!(faulty.call(|_| 1), Some(1));
/// drop(faulty);
/// ```
pub struct Guarded<T> {
    what: &'static str,
    /// None once it was dropped.
    value: Option<T>,
}

impl<T> Guarded<T> {
    /// Guards a value; `what` names the component in the log.
    pub fn new(what: &'static str, value: T) -> Self {
        Self { what, value: Some(value) }
    }

    /// Calls a function with the value; none if it panics.
    pub fn call<R>(&mut self, call: impl FnOnce(&mut T) -> R) -> Option<R> {
        let value = self.value.as_mut()?;
        guarded(self.what, || call(value))
    }

    /// Calls a function with the value that may be shared; none if it panics.
    pub fn call_shared<R>(&self, call: impl FnOnce(&T) -> R) -> Option<R> {
        let value = self.value.as_ref()?;
        guarded(self.what, || call(value))
    }
}

/// Its output is none if the future panics.
impl<F: Future + Unpin> Future for Guarded<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.call(|future| future.poll_unpin(context)) {
            Some(polled) => polled.map(Some),
            None => Poll::Ready(None),
        }
    }
}

impl<S: Stream + Unpin> Guarded<S> {
    /// Waits for the next item of the stream, as `StreamExt::next`; none if the stream panics.
    pub async fn next(&mut self) -> Option<Option<S::Item>> {
        poll_fn(|context| match self.call(|stream| stream.poll_next_unpin(context)) {
            Some(polled) => polled.map(Some),
            None => Poll::Ready(None),
        })
        .await
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            guarded(self.what, || drop(value));
        }
    }
}

fn logged<T>(what: &str, ended: std::thread::Result<T>) -> Option<T> {
    match ended {
        Ok(value) => Some(value),
        Err(payload) => {
            tracing::error!(what, "code of the program panicked");
            // The payload may be any type, also one whose destructor panics.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
                std::mem::forget(payload);
            }
            None
        }
    }
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
