//! Journals in memory.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::{
    Journal, JournalError, JournalStore, LeaseOwner, Order, SessionFilter, SessionHead,
    SessionPage, follows, repeated,
};
use crate::blob::Blobs;
use crate::event::{Cursor, Durability, Envelope};
use crate::ids::{SessionId, SessionName};
use crate::message::BlobRef;

/// A journal that exists as long as its process. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal {
    events: Arc<Mutex<Vec<Arc<Envelope>>>>,
}

impl MemoryJournal {
    /// Creates an empty journal.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a copy of the list of events, oldest first; the events themselves are shared.
    #[must_use]
    pub fn events(&self) -> Vec<Arc<Envelope>> {
        locked(&self.events).clone()
    }

    /// Drops the streamed chunks; later events contain the complete content.
    pub(crate) fn drop_chunks(&self) {
        locked(&self.events).retain(|envelope| !envelope.event.is_chunk());
    }
}

#[async_trait::async_trait]
impl Journal for MemoryJournal {
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        _durability: Durability,
    ) -> Result<(), JournalError> {
        events.iter().try_for_each(|event| event.event.check_storable())?;
        let mut stored = locked(&self.events);
        let skip = overlap(&SessionId::from("in memory"), &stored, events)?;
        stored.extend_from_slice(&events[skip..]);
        Ok(())
    }
}

/// Returns how many of the events to append are already stored.
fn overlap(
    session: &SessionId,
    stored: &[Arc<Envelope>],
    events: &[Arc<Envelope>],
) -> Result<usize, JournalError> {
    let order = stored.last().map_or(Order::Empty, |event| Order::After(event.cursor()));
    let count = repeated(session, order, events.iter().map(|event| &**event))?;
    let Some(first) = events.first().filter(|_| count > 0) else { return Ok(0) };
    // Not by index: chunks may have been dropped, so the position says nothing about the number.
    let from = stored.partition_point(|event| event.seq < first.seq);
    // The same allocation in most cases: the recorder repeats the envelopes that it kept.
    let same = |(a, b): (&Arc<Envelope>, &Arc<Envelope>)| Arc::ptr_eq(a, b) || a == b;
    if stored.len() - from >= count && events.iter().zip(&stored[from..]).all(same) {
        return Ok(count);
    }
    Err(order.refuse(session, first.cursor()))
}

/// A store that exists as long as its process. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    sessions: Arc<Mutex<HashMap<SessionId, MemorySession>>>,
    blobs: Arc<Mutex<BlobTable>>,
}

/// The blobs, and which session refers to which.
#[derive(Debug, Default)]
struct BlobTable {
    bytes: HashMap<String, Vec<u8>>,
    refs: HashMap<SessionId, HashSet<String>>,
}

impl BlobTable {
    fn forget(&mut self, session: &SessionId) {
        // Deleting is rare and a store in memory is small, so the references are searched, not
        // counted.
        for hash in self.refs.remove(session).unwrap_or_default() {
            if !self.refs.values().any(|refs| refs.contains(&hash)) {
                self.bytes.remove(&hash);
            }
        }
    }
}

#[derive(Debug, Default)]
struct MemorySession {
    events: Vec<Arc<Envelope>>,
    head: Option<SessionHead>,
    open: bool,
    /// The sequence number of the last event; the channel closes when the session is deleted.
    last: watch::Sender<u64>,
}

impl MemorySession {
    fn order(&self) -> Order {
        self.events.last().map_or(Order::Empty, |event| Order::After(event.cursor()))
    }

    fn extend(&mut self, session: &SessionId, events: &[Arc<Envelope>]) {
        for event in events {
            SessionHead::fold(&mut self.head, session, event);
        }
        self.events.extend_from_slice(events);
        self.last.send_replace(self.order().last().seq);
    }
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn with_session<T>(
        &self,
        session: &SessionId,
        read: impl FnOnce(&mut MemorySession) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        match locked(&self.sessions).get_mut(session) {
            Some(stored) if !stored.events.is_empty() => read(stored),
            _ => Err(JournalError::NotFound(session.clone())),
        }
    }

    fn writer(&self, session: &SessionId) -> Box<dyn Journal> {
        Box::new(Writer { sessions: Arc::clone(&self.sessions), session: session.clone() })
    }
}

struct Writer {
    sessions: Arc<Mutex<HashMap<SessionId, MemorySession>>>,
    session: SessionId,
}

#[async_trait::async_trait]
impl Journal for Writer {
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        _durability: Durability,
    ) -> Result<(), JournalError> {
        // As every other store, although nothing is encoded here.
        events.iter().try_for_each(|event| event.event.check_storable())?;
        match locked(&self.sessions).get_mut(&self.session) {
            Some(stored) => {
                let skip = overlap(&self.session, &stored.events, events)?;
                stored.extend(&self.session, &events[skip..]);
                Ok(())
            }
            None => Err(JournalError::Lost {
                session: self.session.clone(),
                reason: super::LostReason::Deleted,
            }),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut sessions = locked(&self.sessions);
        if let Some(stored) = sessions.get_mut(&self.session) {
            stored.open = false;
            // A session exists once it has an event; without one, its id is free again.
            if stored.events.is_empty() {
                sessions.remove(&self.session);
            }
        }
    }
}

#[async_trait::async_trait]
impl JournalStore for MemoryStore {
    async fn create(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError> {
        SessionName::parse(session.as_str())?;
        let mut sessions = locked(&self.sessions);
        match sessions.get(session) {
            None => {}
            // Open, and perhaps without an event: its id is taken nevertheless.
            Some(stored) if stored.open => return Err(already_open(session)),
            Some(_) => return Err(JournalError::Exists(session.clone())),
        }
        sessions.insert(session.clone(), MemorySession { open: true, ..MemorySession::default() });
        Ok(self.writer(session))
    }

    async fn open(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError> {
        self.with_session(session, |stored| {
            if std::mem::replace(&mut stored.open, true) {
                return Err(already_open(session));
            }
            Ok(())
        })?;
        Ok(self.writer(session))
    }

    async fn read(
        &self,
        session: &SessionId,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Envelope>, JournalError> {
        self.with_session(session, |stored| {
            let from = stored.events.partition_point(|event| event.seq <= after_seq);
            Ok(stored.events[from..].iter().take(limit).map(|event| (**event).clone()).collect())
        })
    }

    async fn read_events(
        &self,
        session: &SessionId,
        seqs: &[u64],
    ) -> Result<Vec<Envelope>, JournalError> {
        self.with_session(session, |stored| {
            seqs.iter()
                .map(|seq| {
                    let at = stored.events.binary_search_by_key(seq, |event| event.seq);
                    at.map(|at| (*stored.events[at]).clone()).map_err(|_| {
                        let at = Cursor { epoch: 0, seq: *seq };
                        JournalError::NoSuchEvent { session: session.clone(), at }
                    })
                })
                .collect()
        })
    }

    async fn head(&self, session: &SessionId) -> Result<SessionHead, JournalError> {
        self.with_session(session, |stored| {
            stored.head.clone().ok_or_else(|| JournalError::NotFound(session.clone()))
        })
    }

    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, JournalError> {
        let sessions = locked(&self.sessions);
        Ok(filter.page(sessions.values().filter_map(|stored| stored.head.clone())))
    }

    async fn fork(
        &self,
        parent: &SessionId,
        at: Cursor,
        child: &SessionId,
        first: &[Arc<Envelope>],
    ) -> Result<Box<dyn Journal>, JournalError> {
        SessionName::parse(child.as_str())?;
        let mut stored = self.with_session(parent, |stored| {
            let to = stored.events.partition_point(|event| event.seq <= at.seq);
            let events = stored.events[..to].to_vec();
            if events.last().map(|event| event.cursor()) != Some(at) {
                return Err(JournalError::NoSuchEvent { session: parent.clone(), at });
            }
            let mut copy = MemorySession { open: true, ..MemorySession::default() };
            copy.extend(child, &events);
            Ok(copy)
        })?;
        // `SessionHead::fork` expects the head of the parent; the copied events made one of `child`.
        stored.head = stored.head.map(|head| SessionHead { session: parent.clone(), ..head });
        stored.head = stored.head.map(|head| head.fork(child.clone(), at));
        follows(child, stored.order(), first.iter().map(|event| &**event))?;
        stored.extend(child, first);
        let mut sessions = locked(&self.sessions);
        match sessions.get(child) {
            None => {}
            Some(stored) if stored.open => return Err(already_open(child)),
            Some(_) => return Err(JournalError::Exists(child.clone())),
        }
        sessions.insert(child.clone(), stored);
        let mut blobs = locked(&self.blobs);
        if let Some(refs) = blobs.refs.get(parent).cloned() {
            blobs.refs.insert(child.clone(), refs);
        }
        Ok(self.writer(child))
    }

    async fn delete(&self, session: &SessionId) -> Result<bool, JournalError> {
        let mut sessions = locked(&self.sessions);
        if sessions.get(session).is_some_and(|stored| stored.open) {
            return Err(already_open(session));
        }
        // Lock order: sessions before blobs, as in `fork`.
        locked(&self.blobs).forget(session);
        Ok(sessions.remove(session).is_some())
    }

    async fn wait_past(&self, session: &SessionId, seq: u64) -> Result<(), JournalError> {
        let mut last = self.with_session(session, |stored| Ok(stored.last.subscribe()))?;
        match last.wait_for(|last| *last > seq).await {
            Ok(_) => Ok(()),
            Err(_) => Err(JournalError::NotFound(session.clone())),
        }
    }

    fn blobs(&self, session: &SessionId) -> Arc<dyn Blobs> {
        Arc::new(MemoryBlobs { all: Arc::clone(&self.blobs), session: session.clone() })
    }
}

struct MemoryBlobs {
    all: Arc<Mutex<BlobTable>>,
    session: SessionId,
}

#[async_trait::async_trait]
impl Blobs for MemoryBlobs {
    async fn put(&self, bytes: &[u8]) -> Result<BlobRef, JournalError> {
        let blob = BlobRef::checked(bytes)?;
        let mut all = locked(&self.all);
        all.refs.entry(self.session.clone()).or_default().insert(blob.sha256.clone());
        all.bytes.insert(blob.sha256.clone(), bytes.to_vec());
        Ok(blob)
    }

    async fn get(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(locked(&self.all).bytes.get(&blob.sha256).cloned())
    }
}

fn already_open(session: &SessionId) -> JournalError {
    let owner = LeaseOwner { pid: Some(std::process::id()), ..LeaseOwner::default() };
    JournalError::Locked { session: session.clone(), owner }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
