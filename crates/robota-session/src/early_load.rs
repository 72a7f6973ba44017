//! Reads the state of a stored session while the caller still prepares the rest of it.

use std::sync::Arc;

use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore, SessionHead};
use robota_core::resume::load_with_head;
use robota_core::state::State;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The state of a stored session, which is read on another thread before the session is opened.
///
/// A program that knows early which session it resumes starts this first and composes the session
/// meanwhile. It only saves time: [`SessionBuilder::resume_loaded`](crate::SessionBuilder::resume_loaded)
/// reads the state again if another process changed the session in between.
#[derive(Debug)]
pub struct EarlyLoad(oneshot::Receiver<(SessionHead, State)>);

impl EarlyLoad {
    /// Starts to read. Takes no lock and changes nothing in the store.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn start(store: Arc<dyn JournalStore>, session: SessionId) -> Self {
        let runtime = Handle::current();
        let (mut loaded, load) = oneshot::channel();
        let read = async move {
            let head = store.head(&session).await.ok()?;
            let state = load_with_head(&*store, &session, Some(head.clone())).await.ok()?;
            Some((head, state))
        };
        // A thread of its own, because most of the work is decoding, which does not wait: a task
        // would run on the caller's thread in a runtime with one thread. It is no blocking thread of
        // the runtime, because a store that needs one itself would wait for this one if there is only
        // one.
        let thread = std::thread::Builder::new().name("robota-early-load".to_owned());
        let started = thread.spawn(move || {
            let read = runtime.block_on(async {
                tokio::select! {
                    read = read => read,
                    // No caller resumes the session. The runtime may end soon, and with it the
                    // timers and
                    // connections of the store.
                    () = loaded.closed() => None,
                }
            });
            if let Some(read) = read {
                let _ = loaded.send(read);
            }
        });
        if let Err(error) = started {
            tracing::debug!(%error, "the session is read when it is opened");
        }
        Self(load)
    }

    /// Returns the state, if it is that of the session with this head. A cursor names one event of a
    /// session for ever, because every writer begins a new epoch, so an equal cursor means an equal
    /// journal. A session that was deleted and created again has another time of creation.
    pub(crate) async fn state_of(self, head: &SessionHead) -> Option<State> {
        // An error is found again by the caller, who reads the state under the lock.
        let (read, state) = self.0.await.ok()?;
        let same = (&read.session, read.created) == (&head.session, head.created);
        (same && state.cursor == Some(head.last)).then_some(state)
    }
}
