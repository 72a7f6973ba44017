//! Journals in memory.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{
    Journal, JournalError, JournalStore, Order, SessionFilter, SessionHead, SessionPage, follows,
};
use crate::blob::Blobs;
use crate::event::{Cursor, Durability, Envelope};
use crate::ids::{SessionId, SessionName};
use crate::message::BlobRef;

/// A journal that lives as long as its process. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal {
    events: Arc<Mutex<Vec<Arc<Envelope>>>>,
}

impl MemoryJournal {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What it holds, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<Arc<Envelope>> {
        locked(&self.events).clone()
    }
}

#[async_trait::async_trait]
impl Journal for MemoryJournal {
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        _durability: Durability,
    ) -> Result<(), JournalError> {
        locked(&self.events).extend_from_slice(events);
        Ok(())
    }
}

/// Sessions that live as long as their process. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    shelves: Arc<Mutex<HashMap<SessionId, Shelf>>>,
    blobs: Arc<Mutex<Blobshelf>>,
}

/// Blobs, and which session refers to which.
#[derive(Debug, Default)]
struct Blobshelf {
    bytes: HashMap<String, Vec<u8>>,
    refs: HashMap<SessionId, HashSet<String>>,
}

impl Blobshelf {
    fn forget(&mut self, session: &SessionId) {
        for hash in self.refs.remove(session).unwrap_or_default() {
            if !self.refs.values().any(|refs| refs.contains(&hash)) {
                self.bytes.remove(&hash);
            }
        }
    }
}

#[derive(Debug, Default)]
struct Shelf {
    events: Vec<Arc<Envelope>>,
    head: Option<SessionHead>,
    open: bool,
}

impl Shelf {
    fn order(&self) -> Order {
        self.events.last().map_or(Order::Empty, |event| Order::After(event.cursor()))
    }

    fn extend(&mut self, session: &SessionId, events: &[Arc<Envelope>]) {
        for event in events {
            match &mut self.head {
                Some(head) => head.apply(event),
                None => self.head = Some(SessionHead::begin(session.clone(), event)),
            }
        }
        self.events.extend_from_slice(events);
    }
}

impl MemoryStore {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn with<T>(
        &self,
        session: &SessionId,
        read: impl FnOnce(&mut Shelf) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        match locked(&self.shelves).get_mut(session) {
            Some(shelf) if !shelf.events.is_empty() => read(shelf),
            _ => Err(JournalError::NotFound(session.clone())),
        }
    }

    fn writer(&self, session: &SessionId) -> Box<dyn Journal> {
        Box::new(Writer { shelves: Arc::clone(&self.shelves), session: session.clone() })
    }
}

struct Writer {
    shelves: Arc<Mutex<HashMap<SessionId, Shelf>>>,
    session: SessionId,
}

#[async_trait::async_trait]
impl Journal for Writer {
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        _durability: Durability,
    ) -> Result<(), JournalError> {
        match locked(&self.shelves).get_mut(&self.session) {
            Some(shelf) => {
                follows(&self.session, shelf.order(), events.iter().map(|event| &**event))?;
                shelf.extend(&self.session, events);
                Ok(())
            }
            None => Err(JournalError::NotFound(self.session.clone())),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut shelves = locked(&self.shelves);
        if let Some(shelf) = shelves.get_mut(&self.session) {
            shelf.open = false;
            if shelf.events.is_empty() {
                shelves.remove(&self.session);
            }
        }
    }
}

#[async_trait::async_trait]
impl JournalStore for MemoryStore {
    async fn create(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError> {
        SessionName::parse(session.as_str())?;
        let mut shelves = locked(&self.shelves);
        match shelves.get(session) {
            None => {}
            Some(shelf) if shelf.open => return Err(open_here(session)),
            Some(_) => return Err(JournalError::Exists(session.clone())),
        }
        shelves.insert(session.clone(), Shelf { open: true, ..Shelf::default() });
        Ok(self.writer(session))
    }

    async fn open(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError> {
        self.with(session, |shelf| {
            if std::mem::replace(&mut shelf.open, true) {
                return Err(open_here(session));
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
        self.with(session, |shelf| {
            let from = shelf.events.partition_point(|event| event.seq <= after_seq);
            Ok(shelf.events[from..].iter().take(limit).map(|event| (**event).clone()).collect())
        })
    }

    async fn pick(&self, session: &SessionId, seqs: &[u64]) -> Result<Vec<Envelope>, JournalError> {
        self.with(session, |shelf| {
            seqs.iter()
                .map(|seq| {
                    let at = shelf.events.binary_search_by_key(seq, |event| event.seq);
                    at.map(|at| (*shelf.events[at]).clone()).map_err(|_| {
                        let at = Cursor { epoch: 0, seq: *seq };
                        JournalError::NoSuchEvent { session: session.clone(), at }
                    })
                })
                .collect()
        })
    }

    async fn head(&self, session: &SessionId) -> Result<SessionHead, JournalError> {
        self.with(session, |shelf| {
            shelf.head.clone().ok_or_else(|| JournalError::NotFound(session.clone()))
        })
    }

    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, JournalError> {
        let shelves = locked(&self.shelves);
        Ok(filter.page(shelves.values().filter_map(|shelf| shelf.head.clone())))
    }

    async fn fork(
        &self,
        parent: &SessionId,
        at: Cursor,
        child: &SessionId,
        first: &[Arc<Envelope>],
    ) -> Result<Box<dyn Journal>, JournalError> {
        SessionName::parse(child.as_str())?;
        let mut shelf = self.with(parent, |shelf| {
            let to = shelf.events.partition_point(|event| event.seq <= at.seq);
            let events = shelf.events[..to].to_vec();
            if events.last().map(|event| event.cursor()) != Some(at) {
                return Err(JournalError::NoSuchEvent { session: parent.clone(), at });
            }
            let mut copy = Shelf { open: true, ..Shelf::default() };
            copy.extend(child, &events);
            Ok(copy)
        })?;
        shelf.head = shelf.head.map(|head| SessionHead { session: parent.clone(), ..head });
        shelf.head = shelf.head.map(|head| head.fork(child.clone(), at));
        follows(child, shelf.order(), first.iter().map(|event| &**event))?;
        shelf.extend(child, first);
        let mut shelves = locked(&self.shelves);
        match shelves.get(child) {
            None => {}
            Some(shelf) if shelf.open => return Err(open_here(child)),
            Some(_) => return Err(JournalError::Exists(child.clone())),
        }
        shelves.insert(child.clone(), shelf);
        let mut blobs = locked(&self.blobs);
        if let Some(refs) = blobs.refs.get(parent).cloned() {
            blobs.refs.insert(child.clone(), refs);
        }
        Ok(self.writer(child))
    }

    async fn delete(&self, session: &SessionId) -> Result<bool, JournalError> {
        let mut shelves = locked(&self.shelves);
        if shelves.get(session).is_some_and(|shelf| shelf.open) {
            return Err(open_here(session));
        }
        locked(&self.blobs).forget(session);
        Ok(shelves.remove(session).is_some())
    }

    fn blobs(&self, session: &SessionId) -> Arc<dyn Blobs> {
        Arc::new(MemoryBlobs { shelf: Arc::clone(&self.blobs), session: session.clone() })
    }
}

/// The blobs of a session.
struct MemoryBlobs {
    shelf: Arc<Mutex<Blobshelf>>,
    session: SessionId,
}

#[async_trait::async_trait]
impl Blobs for MemoryBlobs {
    async fn put(&self, bytes: &[u8]) -> Result<BlobRef, JournalError> {
        let blob = BlobRef::checked(bytes)?;
        let mut shelf = locked(&self.shelf);
        shelf.refs.entry(self.session.clone()).or_default().insert(blob.sha256.clone());
        shelf.bytes.insert(blob.sha256.clone(), bytes.to_vec());
        Ok(blob)
    }

    async fn get(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(locked(&self.shelf).bytes.get(&blob.sha256).cloned())
    }
}

fn open_here(session: &SessionId) -> JournalError {
    JournalError::Locked { session: session.clone(), owner: "this process".to_owned() }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
