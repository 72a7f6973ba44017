//! Counts allocations, for `cargo xtask bench program` alone: it is built only with the feature
//! `count-allocations`, which the program that people get does not have.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::output;

static COUNT: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

struct Counting;

fn one_more() {
    COUNT.fetch_add(1, Ordering::Relaxed);
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its contract")]
// SAFETY: every call is handed on to the system's allocator exactly as it came, so its promises
// are ours.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        one_more();
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        one_more();
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        one_more();
        // SAFETY: the caller keeps the contract.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(place, layout) }
    }
}

/// Says how many there were, in the last line of standard error, to who sets this variable: tests
/// of all features see the program as it is.
#[expect(
    clippy::disallowed_methods,
    reason = "the bench speaks to the program it built, not to a user's"
)]
pub(crate) fn tell() {
    if std::env::var_os("ROBOTA_COUNT_ALLOCATIONS").is_none() {
        return;
    }
    output::note(&format!("allocations: {}", COUNT.load(Ordering::Relaxed)));
}
