//! What is sent to a task: it is kept until the task reads it, and refused once the task ends.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The texts that users and agents send to a task. Clones are handles to the same texts; only the
/// runner of the task reads them.
#[derive(Debug, Clone, Default)]
pub struct TaskInputs(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    more: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    texts: VecDeque<String>,
    closed: bool,
}

impl TaskInputs {
    /// Adds a text. Returns false if the task takes no more.
    pub(crate) fn send(&self, text: String) -> bool {
        let mut queue = self.lock();
        if queue.closed {
            return false;
        }
        queue.texts.push_back(text);
        drop(queue);
        self.0.more.notify_one();
        true
    }

    /// Waits for the next text; none if the task takes no more. Cancel safe.
    pub async fn recv(&self) -> Option<String> {
        loop {
            {
                let mut queue = self.lock();
                if let Some(text) = queue.texts.pop_front() {
                    return Some(text);
                }
                if queue.closed {
                    return None;
                }
            }
            self.0.more.notified().await;
        }
    }

    /// Returns the texts that wait.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        self.lock().texts.drain(..).collect()
    }

    /// Returns texts that were read but not used: they are read again, before all others.
    pub(crate) fn put_back(
        &self,
        texts: impl IntoIterator<Item = String, IntoIter: DoubleEndedIterator>,
    ) {
        let mut queue = self.lock();
        for text in texts.into_iter().rev() {
            queue.texts.push_front(text);
        }
        drop(queue);
        self.0.more.notify_one();
    }

    /// Takes no more texts from now on. What waits can still be read.
    pub fn close(&self) {
        self.lock().closed = true;
        self.0.more.notify_one();
    }

    /// Returns the texts that wait. If there are none, takes no more from now on: a sender knows for
    /// each text whether the task reads it.
    #[must_use]
    pub fn take_or_close(&self) -> Vec<String> {
        let mut queue = self.lock();
        queue.closed |= queue.texts.is_empty();
        queue.texts.drain(..).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
