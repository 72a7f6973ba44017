//! What a pool knows about its sessions, live and passive.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};

use jiff::Timestamp;
use robota_core::ids::SessionId;
use tokio::sync::Mutex;

use super::limits::tenant_of;
use super::live::Slot;
use super::{PoolAgentOptions, PoolError, PoolLimits};
use crate::template::Template;

/// One session of a pool.
pub(super) struct Entry {
    pub(super) template: Arc<Template>,
    pub(super) options: Option<Box<PoolAgentOptions>>,
    /// The open session. Opening and closing it requires this lock.
    pub(super) slot: Mutex<Slot>,
    /// How many users the open session has. It only rises while the slot is locked.
    pub(super) pins: AtomicUsize,
    /// When it was used last, in milliseconds since the pool started.
    pub(super) used: AtomicU64,
    live: AtomicBool,
    due: SyncMutex<Option<Timestamp>>,
}

impl Entry {
    pub(super) fn new(
        template: Arc<Template>,
        options: Option<Box<PoolAgentOptions>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            template,
            options,
            slot: Mutex::new(Slot::Passive),
            pins: AtomicUsize::new(0),
            used: AtomicU64::new(0),
            live: AtomicBool::new(false),
            due: SyncMutex::new(None),
        })
    }

    pub(super) fn is_live(&self) -> bool {
        self.live.load(Ordering::Relaxed)
    }

    pub(super) fn due(&self) -> Option<Timestamp> {
        *self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sessions of a pool.
#[derive(Default)]
pub(super) struct Registry {
    entries: BTreeMap<SessionId, Arc<Entry>>,
    live: HashMap<SessionId, Arc<Entry>>,
    tenants: HashMap<String, usize>,
    /// The next due times of passive sessions.
    due: BTreeSet<(Timestamp, SessionId)>,
}

impl Registry {
    pub(super) fn get(&self, id: &SessionId) -> Option<Arc<Entry>> {
        self.entries.get(id).cloned()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn live(&self) -> usize {
        self.live.len()
    }

    pub(super) fn live_entries(&self) -> Vec<(SessionId, Arc<Entry>)> {
        self.live.iter().map(|(id, entry)| (id.clone(), Arc::clone(entry))).collect()
    }

    /// Returns the sessions whose ids begin with a prefix, sorted by id.
    pub(super) fn below<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a SessionId, &'a Arc<Entry>)> {
        self.entries
            .range(SessionId::from(prefix)..)
            .take_while(move |(id, _)| id.as_str().starts_with(prefix))
    }

    /// Adds a passive session if the limits allow it.
    pub(super) fn add(
        &mut self,
        id: &SessionId,
        entry: Arc<Entry>,
        limits: &PoolLimits,
    ) -> Result<Arc<Entry>, PoolError> {
        if self.entries.contains_key(id) {
            return Err(PoolError::Exists(id.clone()));
        }
        if self.entries.len() >= limits.max_sessions {
            return Err(PoolError::Full { limit: limits.max_sessions });
        }
        let tenant = tenant_of(id);
        let count = self.tenants.entry(tenant.clone()).or_default();
        if *count >= limits.max_per_tenant {
            return Err(PoolError::TenantFull { tenant, limit: limits.max_per_tenant });
        }
        *count += 1;
        self.entries.insert(id.clone(), Arc::clone(&entry));
        Ok(entry)
    }

    pub(super) fn remove(&mut self, id: &SessionId) {
        let Some(entry) = self.entries.remove(id) else { return };
        self.set_due(id, &entry, None);
        self.set_passive(id, &entry);
        let tenant = tenant_of(id);
        if let Some(count) = self.tenants.get_mut(&tenant) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.tenants.remove(&tenant);
            }
        }
    }

    /// Counts a session as live, if there is room for it.
    pub(super) fn set_live(&mut self, id: &SessionId, entry: &Arc<Entry>, limit: usize) -> bool {
        if !self.live.contains_key(id) && self.live.len() >= limit {
            return false;
        }
        self.live.insert(id.clone(), Arc::clone(entry));
        entry.live.store(true, Ordering::Relaxed);
        true
    }

    pub(super) fn set_passive(&mut self, id: &SessionId, entry: &Entry) {
        self.live.remove(id);
        // A map that once was large keeps its memory otherwise.
        if self.live.capacity() > 4 * self.live.len() + 64 {
            self.live.shrink_to_fit();
        }
        entry.live.store(false, Ordering::Relaxed);
    }

    /// Sets when the next schedule of a passive session is due.
    pub(super) fn set_due(&mut self, id: &SessionId, entry: &Entry, due: Option<Timestamp>) {
        let mut known = entry.due.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = std::mem::replace(&mut *known, due) {
            self.due.remove(&(before, id.clone()));
        }
        if let Some(due) = due {
            self.due.insert((due, id.clone()));
        }
    }

    /// Returns the passive sessions that are due, and when the next one is.
    pub(super) fn due_at(&self, now: Timestamp) -> (Vec<SessionId>, Option<Timestamp>) {
        let due = self.due.iter().take_while(|(due, _)| *due <= now);
        let due: Vec<SessionId> = due.map(|(_, id)| id.clone()).collect();
        let next = self.due.iter().nth(due.len()).map(|(due, _)| *due);
        (due, next)
    }
}
