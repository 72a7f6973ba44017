//! The order of the messages of one session.
//!
//! The editor's messages are read one after the other, but requests take long and run in tasks, which
//! can run in any order. Messages that change the session (prompts, modes, options, closing) are applied
//! in the order in which they were read: each has a [`Turn`]. A cancellation does not wait: it concerns
//! the prompts that were read before it and no later one.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedRwLockReadGuard, RwLock};
use tokio_util::sync::{CancellationToken, DropGuard};

/// The prompts between two cancellations.
#[derive(Clone, Default)]
struct Group {
    cancelled: CancellationToken,
    /// Read by each prompt until its response was sent.
    running: Arc<RwLock<()>>,
    /// The groups before it that have not ended.
    earlier: Vec<Arc<RwLock<()>>>,
}

impl Group {
    /// Returns a place in this group. A group gets no place once the next one waits for its end, so
    /// the lock is free to read.
    fn place(&self) -> PromptPlace {
        PromptPlace {
            cancelled: self.cancelled.clone(),
            earlier: self.earlier.clone(),
            _running: self.running.clone().try_read_owned().ok(),
        }
    }
}

/// Orders the messages of a session.
#[derive(Default)]
pub(super) struct MessageOrder {
    prompts: Mutex<Group>,
    /// The messages that were read and are not applied yet.
    changes: Mutex<Vec<CancellationToken>>,
}

impl MessageOrder {
    /// Takes the place of a prompt that was read now.
    pub(super) fn accept(&self) -> PromptPlace {
        self.prompts.lock().unwrap_or_else(PoisonError::into_inner).place()
    }

    /// Takes the turn of a message that was read now.
    pub(super) fn turn(&self) -> Turn {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.retain(|applied| !applied.is_cancelled());
        let earlier = changes.clone();
        let applied = CancellationToken::new();
        // The guard cancels the token when the turn is dropped, also if the task of the message
        // panics or is aborted.
        changes.push(applied.clone());
        Turn { earlier, _applied: applied.drop_guard() }
    }

    /// Cancels all prompts that were accepted so far. Later prompts wait until the returned place is
    /// dropped.
    pub(super) fn cancel(&self) -> PromptPlace {
        let mut group = self.prompts.lock().unwrap_or_else(PoisonError::into_inner);
        let place = group.place();
        let mut earlier = std::mem::take(&mut group.earlier);
        // Groups that have ended are dropped; the write lock is free once no prompt reads it.
        earlier.retain(|running| running.try_write().is_err());
        earlier.push(group.running.clone());
        // Before the token is cancelled: a prompt that is read from now on belongs to the new
        // group.
        *group = Group { earlier, ..Group::default() };
        place.cancelled.cancel();
        place
    }
}

/// The turn of a message among those that change the session. The message is applied when it is dropped.
pub(super) struct Turn {
    earlier: Vec<CancellationToken>,
    _applied: DropGuard,
}

impl Turn {
    /// Waits until the messages before this one are applied.
    pub(super) async fn wait(&self) {
        for applied in &self.earlier {
            applied.cancelled().await;
        }
    }
}

/// The place of a prompt. It ends when it is dropped.
pub(super) struct PromptPlace {
    cancelled: CancellationToken,
    earlier: Vec<Arc<RwLock<()>>>,
    _running: Option<OwnedRwLockReadGuard<()>>,
}

impl PromptPlace {
    /// Returns whether a cancellation was read after the prompt.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// Waits until the prompts that were cancelled before this one was read have ended.
    pub(super) async fn wait_for_earlier(&self) {
        for earlier in &self.earlier {
            drop(earlier.write().await);
        }
    }
}

#[cfg(test)]
mod tests;
