//! A pool of sessions: thousands of agents in one process, of which only the busy ones take memory.
//!
//! A session of the pool is *live* (open, with its task and its state in memory) or *passive*: its
//! journal is closed, and the pool keeps its id, its template and the time of its next schedule. A
//! message, a subscription or a schedule wakes it. `docs/pools.md` has an example.

mod agent;
mod delegate;
mod error;
mod limits;
mod live;
mod registry;
mod shutdown;
mod timer;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;
use jiff::Timestamp;
use robota_core::clock::{Clock, SystemClock};
use robota_core::event::SpawnedBy;
use robota_core::ids::{Ids, RandomIds, SessionId, SessionName};
use robota_core::into_arc::IntoArc;
use robota_core::journal::{JournalStore, SessionFilter};
use robota_core::permission::Mode;
use robota_session::SessionBuilder;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use agent::{PoolAgent, PooledSession, PooledSubscription};
pub use error::PoolError;
pub use limits::PoolLimits;
pub use shutdown::ShutdownReport;

use crate::room::{Room, WeakRoom};
use crate::schedule::{first_due, state_of};
use crate::template::{Template, Templates};
use live::{OpenAs, Slot};
use registry::{Entry, Registry};

/// How many sessions are opened at the same time.
// Opening reads a journal. More at once would make each of them slower on one disk.
const OPENING: usize = 8;

/// Keeps many sessions and opens those that are used. Clones are handles to the same pool.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    store: Arc<dyn JournalStore>,
    clock: Arc<dyn Clock>,
    limits: PoolLimits,
    templates: Templates,
    registry: Mutex<Registry>,
    /// Limits how many sessions are opened at the same time.
    opening: Semaphore,
    /// Wakes the task of the pool: a session became live, or a due time changed.
    changed: Arc<Notify>,
    closing: AtomicBool,
    ids: Arc<dyn Ids>,
    /// When the pool started; uses of sessions are counted from then.
    started: Instant,
    /// The rooms that are open. Rooms are owned by those who opened them.
    rooms: Mutex<Vec<WeakRoom>>,
    /// Ends the task of the pool when the last handle is dropped.
    stop: CancellationToken,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The task of the pool holds only a weak reference; without this it would sleep until its
        // next due time.
        self.stop.cancel();
    }
}

impl Inner {
    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a room that was opened.
    pub(crate) fn add_room(&self, room: &Room) {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        // Cleaned where the list grows, so that closed rooms do not pile up in it.
        rooms.retain(WeakRoom::is_open);
        rooms.push(room.downgrade());
    }

    /// Returns the rooms that are open.
    pub(crate) fn rooms(&self, pool: &Pool) -> Vec<Room> {
        let rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.iter().filter_map(|room| room.upgrade(pool)).collect()
    }
}

/// Collects the templates, the store and the limits of a [`Pool`] and starts it.
pub struct PoolBuilder {
    store: Arc<dyn JournalStore>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    limits: PoolLimits,
    templates: Templates,
}

/// What is special about one session of a template. The pool keeps it while it has the session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PoolAgentOptions {
    /// The working directory; none for that of the template.
    pub cwd: Option<String>,
    /// The name of a session that is created.
    pub name: Option<String>,
    /// The permission mode; none for that of the template.
    pub mode: Option<Mode>,
    /// The model; none for that of the template.
    pub model: Option<String>,
    /// The call of another session that starts this one.
    pub spawned_by: Option<SpawnedBy>,
}

impl PoolAgentOptions {
    fn apply(&self, mut builder: SessionBuilder) -> SessionBuilder {
        if let Some(cwd) = &self.cwd {
            builder = builder.cwd(cwd.clone());
        }
        if let Some(name) = &self.name {
            builder = builder.name(name.clone());
        }
        if let Some(mode) = self.mode {
            builder = builder.mode(mode);
        }
        if let Some(model) = self.model.clone() {
            builder = builder.configure(|config| config.turn.set_model(model));
        }
        match &self.spawned_by {
            Some(parent) => builder.spawned_by(parent.clone()),
            None => builder,
        }
    }
}

/// Reports which sessions [`Pool::resume_all`] added, and which failed.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ResumedAll {
    /// How many sessions were added to the pool.
    pub added: usize,
    /// The sessions that failed, and why. One that cannot be read is not in the pool. One that has
    /// something to do and could not be opened, because another process has it open, is: a message or
    /// a schedule opens it later.
    pub failed: Vec<(SessionId, PoolError)>,
}

/// What was done with a stored session.
enum Adopted {
    /// The pool has it already.
    Known,
    /// It was added; the error says why it could not be opened.
    Added(Option<PoolError>),
}

/// Describes a session of a pool, for lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEntry {
    /// The id under which the store has the session.
    pub session: SessionId,
    /// The id of the template that it is built from.
    pub template: String,
    /// Whether it is open in this process; else it is only stored.
    pub live: bool,
    /// When its next schedule is due, if it is passive.
    pub due: Option<Timestamp>,
}

impl PoolBuilder {
    /// Adds a template, or replaces the one with the same id.
    #[must_use]
    pub fn template(mut self, template: Template) -> Self {
        self.templates.insert(template.id().to_owned(), Arc::new(template));
        self
    }

    /// Sets how many sessions the pool has, and how many of them are open.
    #[must_use]
    pub fn limits(mut self, limits: PoolLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the clock that says when schedules are due. The clock of events is that of the
    /// template's builder.
    #[must_use]
    pub fn clock(mut self, clock: impl IntoArc<dyn Clock>) -> Self {
        self.clock = clock.into_arc();
        self
    }

    /// Sets the source of ids of sessions that the pool names itself.
    #[must_use]
    pub fn ids(mut self, ids: impl IntoArc<dyn Ids>) -> Self {
        self.ids = ids.into_arc();
        self
    }

    /// Starts the pool, which is empty: [`Pool::create`] and [`Pool::resume`] add sessions.
    #[must_use]
    pub fn start(self) -> Pool {
        let Self { store, clock, ids, limits, templates } = self;
        let stop = CancellationToken::new();
        let inner = Arc::new(Inner {
            store,
            clock,
            limits,
            templates,
            registry: Mutex::default(),
            opening: Semaphore::new(OPENING),
            changed: Arc::new(Notify::new()),
            closing: AtomicBool::new(false),
            ids,
            started: Instant::now(),
            rooms: Mutex::default(),
            stop: stop.clone(),
        });
        let task = timer::run(Arc::downgrade(&inner));
        drop(tokio::spawn(stop.run_until_cancelled_owned(task)));
        Pool { inner }
    }
}

impl Pool {
    /// Returns a builder for a pool whose sessions are in that store.
    pub fn builder(store: impl IntoArc<dyn JournalStore>) -> PoolBuilder {
        PoolBuilder {
            store: store.into_arc(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            limits: PoolLimits::default(),
            templates: Templates::new(),
        }
    }

    /// Returns the store of the sessions.
    #[must_use]
    pub fn store(&self) -> Arc<dyn JournalStore> {
        self.inner.store.clone()
    }

    /// Returns the template with this id.
    #[must_use]
    pub fn template(&self, id: &str) -> Option<Arc<Template>> {
        self.inner.templates.get(id).cloned()
    }

    /// Creates a session from a template and adds it to the pool.
    ///
    /// # Errors
    /// If the pool is full or closing, it or the store has a session with this id, there is no such
    /// template, or the session cannot be created.
    pub async fn create(
        &self,
        id: impl Into<SessionId>,
        template: &str,
        options: PoolAgentOptions,
    ) -> Result<PoolAgent, PoolError> {
        let id = id.into();
        // In the registry before the session is opened: two calls with one id cannot both create
        // it.
        let entry = self.add(&id, template, options)?;
        // Held while the session is opened: others that ask for it wait here instead of opening it
        // twice.
        let mut slot = entry.slot.lock().await;
        match self.inner.open_slot(&id, &entry, &mut slot, OpenAs::New).await {
            Ok(()) => Ok(self.handle(id)),
            Err(error) => {
                // Another caller may already wait for the lock of this slot; it has to see that the
                // entry is gone.
                *slot = Slot::Removed;
                self.inner.registry().remove(&id);
                Err(error)
            }
        }
    }

    /// Returns a session of the pool.
    #[must_use]
    pub fn get(&self, id: &SessionId) -> Option<PoolAgent> {
        let known = self.inner.registry().get(id).is_some();
        known.then(|| self.handle(id.clone()))
    }

    /// Lists the sessions of the pool whose ids begin with a prefix, sorted by id.
    #[must_use]
    pub fn list(&self, prefix: &str) -> Vec<AgentEntry> {
        let registry = self.inner.registry();
        let entries = registry.below(prefix).map(|(id, entry)| AgentEntry {
            session: id.clone(),
            template: entry.template.id().to_owned(),
            live: entry.is_live(),
            due: entry.due(),
        });
        entries.collect()
    }

    /// Returns how many sessions the pool has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.registry().len()
    }

    /// Returns whether the pool has no session.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many sessions are live.
    #[must_use]
    pub fn live(&self) -> usize {
        self.inner.registry().live()
    }

    /// Adds a stored session to the pool and opens it: a turn that a crash interrupted is closed, and
    /// inputs that wait are delivered. Its template is that of its id (`agent:T`). Does nothing if
    /// the pool has the session already.
    ///
    /// # Errors
    /// As [`Pool::create`], and if the session does not exist or another process has it open.
    pub async fn resume(
        &self,
        id: impl Into<SessionId>,
        options: PoolAgentOptions,
    ) -> Result<PoolAgent, PoolError> {
        let id = id.into();
        let template = template_of(&id)?;
        match self.add(&id, &template, options) {
            Ok(_) => {}
            Err(PoolError::Exists(_)) => return Ok(self.handle(id)),
            Err(error) => return Err(error),
        }
        let agent = self.handle(id.clone());
        // The entry exists without an open session; it must not stay if the session cannot be
        // opened.
        if let Err(error) = agent.session().await {
            self.inner.registry().remove(&id);
            return Err(error);
        }
        Ok(agent)
    }

    /// Adds stored sessions whose ids begin with a prefix to the pool. Those that have something to
    /// do (an input, an interrupted turn) are opened; the others stay passive and wake when a message
    /// or a schedule needs them. Sessions without a template of this pool are left out. A session that
    /// fails does not hold up the others.
    ///
    /// # Errors
    /// If the store cannot be listed, or the pool is full or closing. The sessions that were added
    /// until then stay in the pool.
    pub async fn resume_all(&self, prefix: &str) -> Result<ResumedAll, PoolError> {
        let mut filter =
            SessionFilter { prefix: Some(prefix.to_owned()), ..SessionFilter::default() };
        let mut resumed = ResumedAll::default();
        loop {
            let page = self.inner.store.list(&filter).await?;
            let known = page.sessions.iter().filter(|head| {
                !head.foreign
                    && template_of(&head.session)
                        .is_ok_and(|template| self.inner.templates.contains_key(&template))
            });
            let ids: Vec<SessionId> = known.map(|head| head.session.clone()).collect();
            let adopted = futures::stream::iter(ids)
                .map(|id| async move { (id.clone(), self.adopt(&id).await) })
                .buffer_unordered(OPENING);
            // All of them, also after an error: one that is dropped in the middle would be in the pool
            // without its due time.
            for (id, result) in adopted.collect::<Vec<_>>().await {
                match result {
                    Ok(Adopted::Known) => {}
                    Ok(Adopted::Added(None)) => resumed.added += 1,
                    Ok(Adopted::Added(Some(error))) => {
                        resumed.added += 1;
                        resumed.failed.push((id, error));
                    }
                    Err(error @ (PoolError::Full { .. } | PoolError::Closing)) => {
                        return Err(error);
                    }
                    Err(error) => resumed.failed.push((id, error)),
                }
            }
            match page.next {
                // By the mark of the last session, not by a number: sessions may be added and
                // deleted meanwhile.
                Some(next) => filter.after = Some(next),
                None => break,
            }
        }
        for (session, error) in &resumed.failed {
            tracing::warn!(%session, %error, "a stored session could not be resumed");
        }
        Ok(resumed)
    }

    /// Adds a stored session without opening it, unless it has something to do.
    async fn adopt(&self, id: &SessionId) -> Result<Adopted, PoolError> {
        let entry = match self.add(id, &template_of(id)?, PoolAgentOptions::default()) {
            Ok(entry) => entry,
            Err(PoolError::Exists(_)) => return Ok(Adopted::Known),
            Err(error) => return Err(error),
        };
        let state = match state_of(&*self.inner.store, id).await {
            Ok(state) => state,
            Err(error) => {
                self.inner.registry().remove(id);
                return Err(error.into());
            }
        };
        self.inner.registry().set_due(id, &entry, first_due(&state));
        self.inner.changed.notify_one();
        let mut failed = None;
        if !state.inputs.is_empty() || state.turn.is_some() {
            failed = self.handle(id.clone()).session().await.err();
        }
        Ok(Adopted::Added(failed))
    }

    /// Closes a session, after the running turn was stopped, and removes it from the pool. Its
    /// journal stays. Returns whether the pool had it.
    ///
    /// # Errors
    /// If the end could not be written.
    pub async fn remove(&self, id: &SessionId) -> Result<bool, PoolError> {
        let Some(entry) = self.inner.registry().get(id) else { return Ok(false) };
        let mut slot = entry.slot.lock().await;
        let closed = match std::mem::replace(&mut *slot, Slot::Removed) {
            Slot::Live(session) => session.shutdown("removed from the pool").await,
            Slot::Passive | Slot::Removed => Ok(()),
        };
        self.inner.registry().remove(id);
        Ok(closed.map(|()| true)?)
    }

    /// Removes a session from the pool and deletes its journal. Returns whether it existed.
    ///
    /// # Errors
    /// If it could not be closed or deleted.
    pub async fn delete(&self, id: &SessionId) -> Result<bool, PoolError> {
        self.remove(id).await?;
        Ok(self.inner.store.delete(id).await?)
    }

    /// Closes sessions that are idle and not in use, without waiting until they were idle for a
    /// while. Returns how many.
    pub async fn passivate_idle(&self) -> usize {
        let live = self.inner.registry().live_entries();
        let mut closed = 0;
        for (id, entry) in live {
            closed += usize::from(self.inner.passivate(&id, &entry).await);
        }
        closed
    }

    fn handle(&self, id: SessionId) -> PoolAgent {
        PoolAgent::new(self.clone(), id)
    }

    /// Adds a passive entry, if the limits allow it.
    fn add(
        &self,
        id: &SessionId,
        template: &str,
        options: PoolAgentOptions,
    ) -> Result<Arc<Entry>, PoolError> {
        self.inner.require_open()?;
        let known = self.inner.templates.get(template);
        let template = known.cloned().ok_or_else(|| PoolError::NoTemplate(template.to_owned()))?;
        let options = (options != PoolAgentOptions::default()).then(|| Box::new(options));
        self.inner.registry().add(id, Entry::new(template, options), &self.inner.limits)
    }
}

/// Returns the template that the id of a session names.
fn template_of(id: &SessionId) -> Result<String, PoolError> {
    match SessionName::parse(id.as_str()) {
        Ok(SessionName::Path(path)) => Ok(path.agent),
        Ok(_) => Err(PoolError::Unstructured(id.clone())),
        Err(error) => {
            Err(PoolError::Session(robota_core::journal::JournalError::from(error).into()))
        }
    }
}
