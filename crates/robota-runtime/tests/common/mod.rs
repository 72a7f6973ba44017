//! What the tests of the runtime share.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use robota_core::clock::Clock;
use robota_core::event::{Durability, Envelope, Event};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore, MemoryStore, read_all};
use robota_core::scripted::{Script, ScriptedProvider};
use robota_session::{Session, SessionBuilder};
use tokio::time::Instant;

/// A clock that follows tokio's time, which tests pause.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokioClock {
    start: Timestamp,
    began: Instant,
}

impl TokioClock {
    pub(crate) fn starting(at: &str) -> Self {
        Self { start: at.parse().unwrap(), began: Instant::now() }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.began.elapsed()).unwrap();
        self.start.checked_add(elapsed).unwrap()
    }
}

pub(crate) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Returns a model that always answers the same.
pub(crate) fn model() -> ScriptedProvider {
    ScriptedProvider::new(Script::new().text("Done.").looped())
}

pub(crate) fn builder(clock: impl Clock + 'static) -> SessionBuilder {
    Session::builder(model(), "some-model").clock(Arc::new(clock) as Arc<dyn Clock>)
}

/// Returns all events of a journal.
pub(crate) async fn events(store: &dyn JournalStore, id: &SessionId) -> Vec<Envelope> {
    read_all(store, id, 0).await.unwrap()
}

/// Copies the first events of journals into a new store: what a process leaves that crashes there.
pub(crate) async fn crash_after(
    store: &dyn JournalStore,
    journals: &[(&SessionId, usize)],
) -> Arc<MemoryStore> {
    let after = MemoryStore::new();
    for (id, count) in journals {
        let kept: Vec<Arc<Envelope>> =
            events(store, id).await.into_iter().take(*count).map(Arc::new).collect();
        if kept.is_empty() {
            continue;
        }
        let mut journal = after.create(id).await.unwrap();
        journal.append(&kept, Durability::Synced).await.unwrap();
    }
    Arc::new(after)
}

/// Copies journals as they are now: what a process leaves that crashes now.
pub(crate) async fn crash(store: &dyn JournalStore, ids: &[&SessionId]) -> Arc<MemoryStore> {
    let journals: Vec<_> = ids.iter().map(|id| (*id, usize::MAX)).collect();
    crash_after(store, &journals).await
}

/// Returns the texts of the user messages that begin with a prefix.
pub(crate) fn said(events: &[Envelope], prefix: &str) -> Vec<String> {
    let messages = events.iter().filter_map(|envelope| match &envelope.event {
        Event::UserMessage(data) => Some(data.message.text()),
        _ => None,
    });
    messages.filter(|text| text.starts_with(prefix)).collect()
}
