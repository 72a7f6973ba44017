//! Reads the state of a stored session while the caller still prepares the rest of it.

use std::sync::Arc;

use robota_core::event::Cursor;
use robota_core::ids::SessionId;
use robota_core::journal::JournalStore;
use robota_core::resume::load;
use robota_core::state::State;
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, spawn_blocking};

/// The state of a stored session, which is read on another thread before the session is opened.
///
/// A program that knows early which session it resumes starts this first and composes the session
/// meanwhile. It only saves time: [`SessionBuilder::resume_loaded`](crate::SessionBuilder::resume_loaded)
/// reads the state again if another process changed the session in between.
#[derive(Debug)]
pub struct EarlyLoad(JoinHandle<Option<State>>);

impl EarlyLoad {
    /// Starts to read. Takes no lock and changes nothing in the store.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn start(store: Arc<dyn JournalStore>, session: SessionId) -> Self {
        let runtime = Handle::current();
        // A thread of its own, because most of the work is decoding, which does not wait: a task
        // would run on the caller's thread in a runtime with one thread.
        Self(spawn_blocking(move || runtime.block_on(load(&*store, &session)).ok()))
    }

    /// Returns the state, if it is the state right after the event `last`. A cursor names one event
    /// for ever, because every writer begins a new epoch, so an equal cursor means an equal journal.
    pub(crate) async fn state_after(self, last: Cursor) -> Option<State> {
        // An error is found again by the caller, who reads the state under the lock.
        let state = self.0.await.ok().flatten()?;
        (state.cursor == Some(last)).then_some(state)
    }
}
