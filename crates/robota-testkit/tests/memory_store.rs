//! Runs the store suite on the store in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(feature = "store-suite")]

use robota_core::journal::MemoryStore;
use robota_testkit::store_suite::TestStore;

async fn make() -> TestStore {
    TestStore::new(MemoryStore::new())
}

robota_testkit::store_suite!(make);
