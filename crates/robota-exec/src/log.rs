//! The output of a running program, kept in a ring buffer that is read in pieces.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Keeps the last bytes of the output of a program. Readers address bytes by their offset in the
/// whole output.
#[derive(Debug)]
pub struct Log {
    ring: Mutex<Ring>,
    more: Notify,
}

#[derive(Debug)]
struct Ring {
    /// The offset of the first byte in the buffer.
    start: u64,
    bytes: VecDeque<u8>,
    capacity: usize,
}

/// Holds a piece of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogChunk {
    /// The bytes of the output, which may begin or end inside a character.
    pub bytes: Vec<u8>,
    /// The number of bytes before them that were overwritten before they were read.
    pub skipped: u64,
    /// The offset of the next piece.
    pub next: u64,
}

impl Log {
    /// Creates a log that keeps the last `capacity` bytes.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let ring = Ring { start: 0, bytes: VecDeque::new(), capacity };
        Self { ring: Mutex::new(ring), more: Notify::new() }
    }

    /// Returns the bytes from offset `from` on, at most `max_bytes` of them.
    #[must_use]
    pub fn read(&self, from: u64, max_bytes: usize) -> LogChunk {
        let ring = self.ring();
        let first = from.clamp(ring.start, ring.end());
        let offset = usize::try_from(first - ring.start).unwrap_or(usize::MAX);
        let bytes: Vec<u8> = ring.bytes.range(offset..).take(max_bytes).copied().collect();
        let next = first + bytes.len() as u64;
        LogChunk { bytes, skipped: first.saturating_sub(from), next }
    }

    /// Returns the number of bytes that were written so far.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.ring().end()
    }

    /// Waits until more than `offset` bytes were written.
    pub async fn wait_past(&self, offset: u64) {
        loop {
            // Created before the check: a push between the check and the await wakes it.
            let more = self.more.notified();
            if self.end() > offset {
                return;
            }
            more.await;
        }
    }

    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut ring = self.ring();
        let skip = bytes.len().saturating_sub(ring.capacity);
        let keep = &bytes[skip..];
        let excess = (ring.bytes.len() + keep.len()).saturating_sub(ring.capacity);
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
