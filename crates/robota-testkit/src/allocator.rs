//! An allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

static BYTES: AtomicI64 = AtomicI64::new(0);

/// The system's allocator, which counts the bytes that the program has allocated.
/// A program uses it as its `#[global_allocator]`.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountingAllocator;

impl CountingAllocator {
    /// Returns how many bytes are allocated now.
    #[must_use]
    pub fn allocated() -> i64 {
        BYTES.load(Ordering::Relaxed)
    }
}

fn count(bytes: usize, sign: i64) {
    // Relaxed: the number is a statistic, and orders nothing else.
    BYTES.fetch_add(sign * i64::try_from(bytes).unwrap_or(i64::MAX), Ordering::Relaxed);
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its contract")]
// SAFETY: every call is passed to the system allocator unchanged, so its guarantees hold here.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        unsafe { System.dealloc(place, layout) }
    }
}
