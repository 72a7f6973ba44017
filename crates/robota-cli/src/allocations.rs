//! Counts allocations for `cargo xtask bench allocations`. Built only with the feature
//! `count-allocations`, which released programs do not have.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::output;

static COUNT: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

struct Counting;

fn count_one() {
    COUNT.fetch_add(1, Ordering::Relaxed);
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its contract")]
// SAFETY: every call is passed to the system allocator unchanged, so its guarantees hold here.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_one();
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        unsafe { System.dealloc(place, layout) }
    }
}

/// Prints the number of allocations as the last line of standard error, if
/// `ROBOTA_COUNT_ALLOCATIONS` is set. Without the variable the output stays as it is, so that
/// tests with all features see the normal program.
#[expect(
    clippy::disallowed_methods,
    reason = "only the benchmark sets this variable; it is not a setting"
)]
pub(crate) fn report() {
    if std::env::var_os("ROBOTA_COUNT_ALLOCATIONS").is_none() {
        return;
    }
    output::note(&format!("allocations: {}", COUNT.load(Ordering::Relaxed)));
}
