//! Opens the sessions of a pool, and makes them passive.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use robota_core::ids::SessionId;
use robota_session::{Resume, Session, SessionBuilder};

use super::agent::PooledSession;
use super::registry::Entry;
use super::{Inner, Pool, PoolError};
use crate::room::RoomSay;
use crate::schedule::{ScheduleDriver, first_due};

/// The open session of an entry.
pub(super) enum Slot {
    /// It is not open.
    Passive,
    /// It is open in this process.
    Live(Session),
    /// The pool no longer has it.
    Removed,
}

/// Whether a session is created or resumed.
#[derive(Clone, Copy)]
pub(super) enum OpenAs {
    New,
    Stored,
}

impl Inner {
    pub(super) fn require_open(&self) -> Result<(), PoolError> {
        match self.closing.load(Ordering::Acquire) {
            true => Err(PoolError::Closing),
            false => Ok(()),
        }
    }

    /// Returns the open session, opening it if it is passive. It stays open until the answer is
    /// dropped.
    pub(super) async fn pin(self: &Arc<Self>, id: &SessionId) -> Result<PooledSession, PoolError> {
        self.require_open()?;
        let missing = || PoolError::NotFound(id.clone());
        let entry = self.registry().get(id).ok_or_else(missing)?;
        let mut slot = entry.slot.lock().await;
        let open = match &*slot {
            Slot::Live(session) => session.journal().is_open(),
            Slot::Passive => false,
            Slot::Removed => return Err(missing()),
        };
        if !open {
            self.open_slot(id, &entry, &mut slot, OpenAs::Stored).await?;
        }
        match &*slot {
            Slot::Live(session) => {
                Ok(PooledSession::new(Arc::clone(self), session.clone(), Arc::clone(&entry)))
            }
            Slot::Passive | Slot::Removed => Err(missing()),
        }
    }

    /// Opens the session of an entry whose slot the caller holds.
    pub(super) async fn open_slot(
        self: &Arc<Self>,
        id: &SessionId,
        entry: &Arc<Entry>,
        slot: &mut Slot,
        open_as: OpenAs,
    ) -> Result<(), PoolError> {
        self.make_room(id, entry).await?;
        let opened = match self.opening.acquire().await {
            Ok(_permit) => self.open(id, entry, open_as).await,
            Err(_) => Err(PoolError::Closing),
        };
        match opened {
            Ok(session) => {
                // Started before the entry counts as live, so that no due time falls between the
                // pool's timer and the session's own task.
                ScheduleDriver::start(&session);
                *slot = Slot::Live(session);
                self.touch(entry);
                // A live session fires its own schedules; only passive ones are in the pool's
                // timer.
                self.registry().set_due(id, entry, None);
                self.changed.notify_one();
                Ok(())
            }
            Err(error) => {
                *slot = Slot::Passive;
                self.registry().set_passive(id, entry);
                Err(error)
            }
        }
    }

    async fn open(
        self: &Arc<Self>,
        id: &SessionId,
        entry: &Entry,
        open_as: OpenAs,
    ) -> Result<Session, PoolError> {
        // The session counts as live now: a shutdown that begins later waits for its slot and closes it,
        // and one that began before did not see it.
        self.require_open()?;
        let builder = self.builder(entry);
        let store = self.store.clone();
        // The futures of opening are large, and most callers find the session open.
        Ok(match open_as {
            OpenAs::New => Box::pin(builder.create(store, Some(id.clone()))).await?,
            OpenAs::Stored => Box::pin(builder.resume(store, id, Resume::default())).await?,
        })
    }

    fn builder(self: &Arc<Self>, entry: &Entry) -> SessionBuilder {
        let mut builder = entry.template.builder();
        if let Some(options) = &entry.options {
            builder = options.apply(builder);
        }
        // The tools must not keep the pool alive: it owns the sessions that own the tools.
        if entry.template.is_in_rooms() {
            builder = builder.tool(RoomSay::new(Arc::downgrade(self)));
        }
        if let Some(tool) = self.agent_tool(entry) {
            builder = builder.tool(tool);
        }
        builder
    }

    /// Counts the session as live; makes the least recently used idle session passive if there are
    /// too many.
    async fn make_room(&self, id: &SessionId, entry: &Arc<Entry>) -> Result<(), PoolError> {
        let limit = self.limits.max_live.max(1);
        loop {
            if self.registry().set_live(id, entry, limit) {
                return Ok(());
            }
            let mut candidates = self.registry().live_entries();
            // Relaxed: a slightly wrong order only closes another idle session.
            candidates.sort_by_key(|(_, entry)| entry.used.load(Ordering::Relaxed));
            let mut found = false;
            for (id, entry) in &candidates {
                if self.passivate(id, entry).await {
                    found = true;
                    break;
                }
            }
            if !found {
                return Err(PoolError::AllBusy { limit });
            }
        }
    }

    /// Closes a session that is idle and not in use; says whether it did. Its memory is freed, and a
    /// message or a schedule opens it again.
    pub(super) async fn passivate(&self, id: &SessionId, entry: &Arc<Entry>) -> bool {
        // Not awaited: the caller may hold the slot of another session, and two that make room for
        // each other would wait without end.
        let Ok(mut slot) = entry.slot.try_lock() else { return false };
        let Slot::Live(session) = &*slot else { return false };
        // Pairs with the release when a pin is dropped: everything that its owner sent has reached
        // the session.
        if entry.pins.load(Ordering::Acquire) > 0 {
            return false;
        }
        // Read before the close: afterwards the state is on disk only.
        let due = session.journal().state(first_due).await.ok().flatten();
        // An error means that the session has ended already.
        if matches!(session.close_if_idle("passivated").await, Ok(false)) {
            return false;
        }
        *slot = Slot::Passive;
        let mut registry = self.registry();
        registry.set_passive(id, entry);
        registry.set_due(id, entry, due);
        drop(registry);
        self.changed.notify_one();
        true
    }

    /// Notes that a session is used now.
    pub(super) fn touch(&self, entry: &Entry) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        entry.used.store(now, Ordering::Relaxed);
    }

    /// Returns for how long a session was not used.
    pub(super) fn unused_for(&self, entry: &Entry) -> Duration {
        let used = Duration::from_millis(entry.used.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(used)
    }
}

impl Pool {
    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    pub(crate) fn of(inner: Arc<Inner>) -> Self {
        Self { inner }
    }
}
