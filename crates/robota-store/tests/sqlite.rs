//! Runs the store suite and the lease tests on SQLite.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod leases;
mod version1;

use robota_store::{SqlOptions, SqliteStore};
use robota_testkit::store_suite::TestStore;

async fn make() -> TestStore {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
    TestStore::with_guard(store, folder)
}

robota_testkit::store_suite!(make);

/// Opens two stores on one database, as two processes do.
async fn pair(options: SqlOptions) -> (SqliteStore, SqliteStore, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let first = SqliteStore::open_with(&path, options.clone()).await.unwrap();
    (first, SqliteStore::open_with(&path, options).await.unwrap(), folder)
}

#[tokio::test]
async fn kode_12_a_writer_whose_session_was_taken_over_is_refused() {
    let clock = leases::clock();
    let (first, second, _folder) = pair(leases::options(&clock)).await;
    leases::a_writer_whose_session_was_taken_over_is_refused(&first, &second, &clock).await;
}

#[tokio::test(start_paused = true)]
async fn kode_12_losing_a_lease_is_reported() {
    let clock = leases::clock();
    let (first, second, _folder) = pair(leases::options(&clock)).await;
    leases::losing_a_lease_is_reported(&first, &second, &clock).await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_its_own_store_took_over_is_lost() {
    let clock = leases::clock();
    let (store, _, _folder) = pair(leases::options(&clock)).await;
    leases::a_lease_that_its_own_store_took_over_is_lost(&store, &clock).await;
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
async fn kode_12_a_release_that_the_database_missed_does_not_block_the_next_writer() {
    let clock = leases::clock();
    let (first, second, folder) = pair(leases::options(&clock)).await;
    let path = folder.path().join("sessions.db");
    let block = async |on: bool| {
        let sql = if on {
            "CREATE TRIGGER block BEFORE UPDATE ON robota_sessions WHEN NEW.lease IS NULL \
             BEGIN SELECT RAISE(ABORT, 'blocked'); END"
        } else {
            "DROP TRIGGER block"
        };
        rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    };
    leases::a_release_that_the_database_missed_does_not_block_the_next_writer(
        &first, &second, block,
    )
    .await;
}

#[tokio::test]
async fn kode_12_a_writer_of_a_session_that_was_deleted_and_created_again_is_refused() {
    let clock = leases::clock();
    let (first, second, _folder) = pair(leases::options(&clock)).await;
    leases::a_writer_of_a_session_that_was_deleted_and_created_again_is_refused(
        &first, &second, &clock,
    )
    .await;
}

#[tokio::test]
async fn kode_12_a_released_session_can_be_opened_by_another_store() {
    let (first, second, _folder) = pair(SqlOptions::default()).await;
    leases::a_released_session_can_be_opened_by_another_store(&first, &second).await;
}

#[tokio::test(start_paused = true)]
async fn kode_12_an_expired_lease_that_no_writer_took_is_renewed() {
    let clock = leases::clock();
    let (first, _second, folder) = pair(leases::options(&clock)).await;
    let path = folder.path().join("sessions.db");
    let block = async |on: bool| {
        let sql = if on {
            "CREATE TRIGGER block BEFORE UPDATE ON robota_leases \
             BEGIN SELECT RAISE(ABORT, 'blocked'); END"
        } else {
            "DROP TRIGGER block"
        };
        rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    };
    leases::an_expired_lease_that_no_writer_took_is_renewed(&first, &clock, block).await;
}

#[tokio::test]
async fn kode_12_a_database_of_version_1_is_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch(version1::TABLES).unwrap();
    for (journal, seq, line) in version1::lines() {
        let sql = "INSERT INTO robota_events (journal, seq, line) VALUES (?1, ?2, ?3)";
        database.execute(sql, (journal, seq, line)).unwrap();
    }
    for (session, journal, head, epoch) in version1::sessions() {
        let sql = "INSERT INTO robota_sessions (session, journal, head, updated, last_seq, \
                   last_epoch, bytes) VALUES (?1, ?2, ?3, 1, 3, ?4, 99)";
        database.execute(sql, (session, journal, head, epoch)).unwrap();
    }
    let sql = "UPDATE robota_sessions SET lease = 'pid 7 on elsewhere since 2026-01-01 10:00:00Z', \
               lease_token = 5, lease_expires = 9000000000000 WHERE session = 'fork'";
    database.execute(sql, ()).unwrap();
    drop(database);
    version1::check(&SqliteStore::open(&path).await.unwrap()).await;
}

#[tokio::test]
async fn kode_12_a_second_handle_follows_the_first() {
    let (first, second, _folder) = pair(SqlOptions::default()).await;
    leases::a_second_store_follows_the_first(&first, &second).await;
}
