//! Runs the store suite on files: on a real disk, on one that folds case, and at every level.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod sim;

use robota_store::{DurabilityLevel, FileStore};
use robota_testkit::store_suite::TestStore;

fn below_a_folder(change: impl FnOnce(FileStore) -> FileStore) -> TestStore {
    let folder = tempfile::tempdir().unwrap();
    TestStore::with_guard(change(FileStore::new(folder.path().join("sessions"))), folder)
}

mod real {
    use super::*;

    async fn make() -> TestStore {
        below_a_folder(|store| store)
    }

    robota_testkit::store_suite!(make);
}

mod small_segments_and_a_key {
    use super::*;

    async fn make() -> TestStore {
        below_a_folder(|store| store.with_segment_bytes(2000).with_owner_key("secret"))
    }

    robota_testkit::store_suite!(make);
}

mod relaxed {
    use super::*;

    async fn make() -> TestStore {
        below_a_folder(|store| store.with_level(DurabilityLevel::Relaxed))
    }

    robota_testkit::store_suite!(make);
}

mod folding_case {
    use std::sync::Arc;

    use super::sim::SimDisk;
    use super::*;

    async fn make() -> TestStore {
        let disk = Arc::new(SimDisk::folding_case());
        TestStore::new(FileStore::new("/Sessions").with_disk(disk))
    }

    robota_testkit::store_suite!(make);
}
