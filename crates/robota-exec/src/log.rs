//! The output of a running program, read bit by bit.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The last bytes of output, each with its place in the whole.
#[derive(Debug)]
pub struct Log {
    ring: Mutex<Ring>,
    more: Notify,
}

#[derive(Debug)]
struct Ring {
    /// The place of the first byte that is kept.
    start: u64,
    bytes: VecDeque<u8>,
    most: usize,
}

/// A part of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogChunk {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How many bytes before them are gone, because nobody read them in time.
    pub skipped: u64,
    /// Where to go on.
    pub next: u64,
}

impl Log {
    /// Keeps so many bytes.
    #[must_use]
    pub fn new(most: usize) -> Self {
        let ring = Ring { start: 0, bytes: VecDeque::new(), most };
        Self { ring: Mutex::new(ring), more: Notify::new() }
    }

    /// What was written from that place on, at most `most` bytes of it.
    #[must_use]
    pub fn read(&self, from: u64, most: usize) -> LogChunk {
        let ring = self.ring();
        let first = from.clamp(ring.start, ring.end());
        let offset = usize::try_from(first - ring.start).unwrap_or(usize::MAX);
        let bytes: Vec<u8> = ring.bytes.range(offset..).take(most).copied().collect();
        let next = first + bytes.len() as u64;
        LogChunk { bytes, skipped: first.saturating_sub(from), next }
    }

    /// How many bytes were written.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.ring().end()
    }

    /// Waits until more than that many bytes were written.
    pub async fn past(&self, place: u64) {
        loop {
            let more = self.more.notified();
            if self.end() > place {
                return;
            }
            more.await;
        }
    }

    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut ring = self.ring();
        let skip = bytes.len().saturating_sub(ring.most);
        let keep = &bytes[skip..];
        let excess = (ring.bytes.len() + keep.len()).saturating_sub(ring.most);
        ring.bytes.drain(..excess);
        ring.bytes.extend(keep);
        ring.start += (skip + excess) as u64;
        drop(ring);
        self.more.notify_waiters();
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

#[cfg(test)]
mod tests;
