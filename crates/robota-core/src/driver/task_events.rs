//! The side queue: what running calls report beside their results. That is output, processes, files
//! about to change, raw payloads and retries. One queue per turn keeps them in order.
//!
//! Output that comes faster than the journal can be written is cut, and the journal says by how
//! much. Nothing else is dropped while the turn runs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use tokio::sync::{Notify, oneshot};

use crate::error::{Diagnose as _, ErrorData, ErrorKind};
use crate::event::{Event, ToolOutput};
use crate::ids::CallId;
use crate::journal::JournalError;

/// At most this many bytes of output wait to be appended.
const MAX_WAITING: usize = 1024 * 1024;
/// Output that waits is joined to events of at most this size.
const CHUNK: usize = 8 * 1024;

/// Receives the result of the append that contains its event.
pub(super) type Ack = oneshot::Sender<Result<(), JournalError>>;

/// Clones are the same queue.
#[derive(Clone, Default)]
pub(super) struct TaskEventQueue(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    ready: Notify,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<(Event, Option<Ack>)>,
    /// Bytes of output among them.
    output: usize,
    /// Bytes of output that were dropped, by call.
    dropped: IndexMap<CallId, u64>,
    /// The turn is over.
    closed: bool,
}

impl TaskEventQueue {
    /// Adds an event.
    pub(super) fn push(&self, event: Event) {
        let mut queue = self.lock();
        if !queue.closed {
            queue.items.push_back((event, None));
            self.0.ready.notify_one();
        }
    }

    /// Adds an event and waits until it is appended.
    ///
    /// # Errors
    /// When the journal cannot be written, or the turn is over.
    pub(super) async fn append(&self, event: Event) -> Result<(), ErrorData> {
        let (ack, appended) = oneshot::channel();
        {
            let mut queue = self.lock();
            if queue.closed {
                drop(ack);
            } else {
                queue.items.push_back((event, Some(ack)));
                self.0.ready.notify_one();
            }
        }
        match appended.await {
            Ok(result) => result.map_err(|error| error.to_data()),
            Err(_) => Err(ErrorData::new(ErrorKind::Storage, "the turn of this call is over")),
        }
    }

    /// Adds output of a call, unless too much waits already.
    pub(super) fn push_output(&self, call: &CallId, text: String) {
        if text.is_empty() {
            return;
        }
        let mut queue = self.lock();
        if queue.closed {
            return;
        }
        if queue.output + text.len() > MAX_WAITING {
            *queue.dropped.entry(call.clone()).or_default() += text.len() as u64;
            return;
        }
        // Where output was dropped, the next piece says so.
        queue.mark_dropped(call);
        queue.output += text.len();
        match queue.items.back_mut() {
            Some((Event::ToolOutput(last), None))
                if last.call == *call && last.text.len() + text.len() <= CHUNK =>
            {
                last.text.push_str(&text);
            }
            _ => queue.items.push_back((ToolOutput { call: call.clone(), text }.into(), None)),
        }
        self.0.ready.notify_one();
    }

    /// Takes everything that waits.
    pub(super) fn take(&self) -> Vec<(Event, Option<Ack>)> {
        let mut queue = self.lock();
        let calls: Vec<CallId> = queue.dropped.keys().cloned().collect();
        for call in calls {
            queue.mark_dropped(&call);
        }
        queue.output = 0;
        queue.items.drain(..).collect()
    }

    /// Returns when something waits. Cancel safe.
    pub(super) async fn ready(&self) {
        while self.lock().items.is_empty() {
            self.0.ready.notified().await;
        }
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().items.is_empty()
    }

    /// The turn is over: what waits is dropped, and nothing more is taken.
    pub(super) fn close(&self) {
        let mut queue = self.lock();
        queue.closed = true;
        queue.items.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn mark_dropped(&mut self, call: &CallId) {
        let Some(bytes) = self.dropped.shift_remove(call) else { return };
        let text = format!("\n[... {bytes} bytes of output were not recorded ...]\n");
        self.items.push_back((ToolOutput { call: call.clone(), text }.into(), None));
    }
}

#[cfg(test)]
mod tests;
