//! SQLite is a journal store; what a lease means is tested here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod leases;

use robota_store::{SqlOptions, SqliteStore};
use robota_testkit::store_suite::Made;

async fn make() -> Made {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
    Made::keeping(store, folder)
}

robota_testkit::store_suite!(make);

/// Two stores on one database, as two processes have them.
async fn pair(options: SqlOptions) -> (SqliteStore, SqliteStore, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let first = SqliteStore::open_with(&path, options.clone()).await.unwrap();
    (first, SqliteStore::open_with(&path, options).await.unwrap(), folder)
}

#[tokio::test]
async fn kode_12_a_writer_that_was_away_for_too_long_is_refused() {
    let clock = leases::clock();
    let (first, second, _folder) = pair(leases::options(&clock)).await;
    leases::a_writer_that_was_away_for_too_long_is_refused(&first, &second, &clock).await;
}

#[tokio::test(start_paused = true)]
async fn kode_12_losing_a_lease_is_told() {
    let clock = leases::clock();
    let (first, second, _folder) = pair(leases::options(&clock)).await;
    leases::losing_a_lease_is_told(&first, &second, &clock).await;
}

#[tokio::test(start_paused = true)]
async fn kode_12_a_lease_is_renewed_for_as_long_as_its_writer_lives() {
    let clock = leases::clock();
    let (first, second, _folder) = pair(leases::options(&clock)).await;
    leases::a_lease_is_renewed_for_as_long_as_its_writer_lives(&first, &second, &clock).await;
}

#[tokio::test]
async fn kode_12_two_stores_on_one_file_take_turns() {
    let clock = leases::clock();
    let (first, second, _folder) = pair(leases::options(&clock)).await;
    leases::two_stores_take_turns(&first, &second).await;
}

#[tokio::test]
async fn kode_12_a_release_that_nobody_heard_is_made_up_for() {
    let clock = leases::clock();
    let (first, second, folder) = pair(leases::options(&clock)).await;
    let path = folder.path().join("sessions.db");
    let jam = async |on: bool| {
        let sql = if on {
            "CREATE TRIGGER jam BEFORE UPDATE ON robota_sessions WHEN NEW.lease IS NULL \
             BEGIN SELECT RAISE(ABORT, 'jammed'); END"
        } else {
            "DROP TRIGGER jam"
        };
        rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    };
    leases::a_release_that_nobody_heard_is_made_up_for(&first, &second, jam).await;
}

#[tokio::test]
async fn kode_12_a_writer_of_a_session_that_was_begun_anew_is_refused() {
    let clock = leases::clock();
    let (first, second, _folder) = pair(leases::options(&clock)).await;
    leases::a_writer_of_a_session_that_was_begun_anew_is_refused(&first, &second, &clock).await;
}
