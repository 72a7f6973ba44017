//! Events that the tasks of a turn report while they run: output, processes and file changes of
//! tool calls, raw payloads and retries of model calls. One queue per turn preserves their order.
//!
//! When output arrives faster than the journal can be written, the queue drops output and the
//! journal records how many bytes are missing. It drops nothing else while the turn runs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use tokio::sync::{Notify, oneshot};

use crate::error::{Diagnose as _, ErrorData, ErrorKind};
use crate::event::{Event, ToolOutput};
use crate::ids::CallId;
use crate::journal::JournalError;

/// The maximum number of bytes of output that wait to be appended.
// A command can print faster than a journal is written. Its complete output is kept by the tool;
// this is what people watch.
const MAX_WAITING: usize = 1024 * 1024;
/// Waiting output is joined into events of at most this many bytes.
const CHUNK: usize = 8 * 1024;

/// Receives the result of the append that contains its event.
pub(super) type Ack = oneshot::Sender<Result<(), JournalError>>;

/// The queue of one turn. Clones share it: tasks hold clones, and the drive takes the events.
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
    /// The number of bytes of output among the items.
    output: usize,
    /// The number of bytes of output that were dropped, by call.
    dropped: IndexMap<CallId, u64>,
    /// The turn is over.
    closed: bool,
}

impl TaskEventQueue {
    /// Adds an event without waiting until it is appended; ignored once the turn is over.
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
            // Checked under the lock that `close` takes: an event that gets in before is dropped by
            // `close` together with its ack.
            if queue.closed {
                // Dropped at once, so that the caller below gets its error.
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

    /// Adds output of a call, or drops it if too much is waiting.
    pub(super) fn push_output(&self, call: &CallId, text: String) {
        if text.is_empty() {
            return;
        }
        let mut queue = self.lock();
        if queue.closed {
            return;
        }
        // Whole pieces: a cut could separate an escape sequence from its end.
        if queue.output + text.len() > MAX_WAITING {
            *queue.dropped.entry(call.clone()).or_default() += text.len() as u64;
            return;
        }
        // The next piece after a gap starts with a note of how much was dropped.
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

    /// Takes all waiting events, including the notes about dropped output.
    pub(super) fn take(&self) -> Vec<(Event, Option<Ack>)> {
        let mut queue = self.lock();
        let calls: Vec<CallId> = queue.dropped.keys().cloned().collect();
        for call in calls {
            queue.mark_dropped(&call);
        }
        queue.output = 0;
        queue.items.drain(..).collect()
    }

    /// Returns when an event is waiting. Cancel safe.
    pub(super) async fn ready(&self) {
        // Asked again after each wake-up: `Notify` stores one permit, which an earlier event may
        // have left.
        while self.lock().items.is_empty() {
            self.0.ready.notified().await;
        }
    }

    /// Returns true if no event is waiting.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().items.is_empty()
    }

    /// Ends the queue: waiting events are dropped and new ones are ignored.
    pub(super) fn close(&self) {
        let mut queue = self.lock();
        queue.closed = true;
        // Dropping the acks wakes the tasks that wait for them.
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
