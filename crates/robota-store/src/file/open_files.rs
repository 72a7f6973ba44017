//! Limits how many files with unsynced events are open at the same time.
//!
//! A writer closes its file when everything in it is synced. Sessions that only wrote events that
//! need not be synced, such as `opened`, would keep theirs open. Above a limit, the file that was
//! written least recently is synced and closed; the next append opens it again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::writer::Writer;

/// How many files may be open.
const LIMIT: usize = 64;

/// The writers whose files are open, least recently written first.
#[derive(Default)]
pub(super) struct OpenFiles {
    writers: Mutex<VecDeque<Weak<Mutex<Writer>>>>,
}

impl OpenFiles {
    /// Notes whether the file of a writer is open, and closes another one if there are too many.
    /// Blocks. The caller must not hold a lock of a writer.
    pub(super) fn note(&self, writer: &Arc<Mutex<Writer>>, is_open: bool) {
        let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        let this = Arc::downgrade(writer);
        // A writer that appends again and again is at the end already.
        if writers.back().is_some_and(|last| last.ptr_eq(&this)) {
            if !is_open {
                writers.pop_back();
            }
            return;
        }
        if !is_open && writers.is_empty() {
            return;
        }
        writers.retain(|other| !other.ptr_eq(&this) && other.strong_count() > 0);
        if is_open {
            writers.push_back(this);
        }
        let oldest = if writers.len() > LIMIT { writers.pop_front() } else { None };
        drop(writers);
        let Some(oldest) = oldest.and_then(|oldest| oldest.upgrade()) else { return };
        if let Ok(mut writer) = oldest.try_lock() {
            writer.close_file();
            return;
        }
        // It is appending now, perhaps on the thread of its caller, which does not note it.
        self.writers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back(Arc::downgrade(&oldest));
    }
}

#[cfg(test)]
mod tests;
