//! PostgreSQL is a journal store: a real server, which the tests start themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod leases;

use robota_core::event::Durability;
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore as _};
use robota_store::{PostgresStore, SqlOptions};
use robota_testkit::postgres::PostgresServer;
use robota_testkit::store_suite::{Made, events};
use tokio_postgres::NoTls;

/// A server, or a word on why there is none.
fn server() -> Option<PostgresServer> {
    let server = PostgresServer::start().unwrap();
    if server.is_none() {
        println!("NOT TESTED: PostgreSQL is not installed; `cargo xtask setup` installs it");
    }
    server
}

#[tokio::test]
async fn kode_12_every_case_of_the_suite() {
    let Some(server) = server() else { return };
    let make =
        async || Made::new(PostgresStore::connect(&server.database().unwrap()).await.unwrap());
    robota_testkit::store_suite!(@list all make);
}

async fn pair(server: &PostgresServer, options: SqlOptions) -> (PostgresStore, PostgresStore) {
    let address = server.database().unwrap();
    let connect = async || PostgresStore::connect_with(&address, NoTls, options.clone()).await;
    (connect().await.unwrap(), connect().await.unwrap())
}

#[tokio::test]
async fn kode_12_leases() {
    let Some(server) = server() else { return };
    let clock = leases::clock();
    let (first, second) = pair(&server, leases::options(&clock)).await;
    leases::a_writer_that_was_away_for_too_long_is_refused(&first, &second, &clock).await;
    let (first, second) = pair(&server, leases::options(&clock)).await;
    leases::two_stores_take_turns(&first, &second).await;
}

#[tokio::test]
async fn kode_12_leases_are_measured_by_the_servers_clock() {
    let Some(server) = server() else { return };
    let (first, second) = pair(&server, SqlOptions::default()).await;
    let mut writer = first.create(&SessionId::from("s")).await.unwrap();
    writer.append(&events(1..=1), Durability::Synced).await.unwrap();
    let error = second.open(&SessionId::from("s")).await.err().unwrap();
    assert!(matches!(error, JournalError::Locked { .. }), "{error}");
    // One that is over before it begins.
    let short = SqlOptions { lease: std::time::Duration::ZERO, ..SqlOptions::default() };
    let (first, second) = pair(&server, short).await;
    let mut writer = first.create(&SessionId::from("s")).await.unwrap();
    let error = writer.append(&events(1..=1), Durability::Synced).await.unwrap_err();
    assert!(matches!(error, JournalError::Lost { .. }), "{error}");
    drop(second.create(&SessionId::from("s")).await.unwrap());
}

#[tokio::test]
async fn kode_12_what_was_synced_survives_the_death_of_the_server() {
    let Some(mut server) = server() else { return };
    let store = PostgresStore::connect(&server.database().unwrap()).await.unwrap();
    let session = SessionId::from("s");
    let mut journal = store.create(&session).await.unwrap();
    for round in 0..3 {
        let first = round * 4 + 1;
        journal.append(&events(first..=first + 2), Durability::Synced).await.unwrap();
        server.kill().unwrap();
        let error = journal.append(&events(first + 3..=first + 3), Durability::Synced).await;
        assert!(matches!(error, Err(JournalError::Io { .. })), "{error:?}");
        server.restart().unwrap();
        // The same events again, whether or not they were committed.
        journal.append(&events(first + 3..=first + 3), Durability::Synced).await.unwrap();
        let there = store.read(&session, 0, 99).await.unwrap();
        assert_eq!(there.len() as u64, first + 3);
    }
}

#[tokio::test]
async fn an_address_that_is_none_does_not_show_its_password() {
    let error = PostgresStore::connect("postgres://me:hunter2@host:port/db").await.unwrap_err();
    assert!(!error.to_string().contains("hunter2"), "{error}");
    let nowhere = "host=/nonexistent user=me password=hunter2 dbname=x";
    let error = PostgresStore::connect(nowhere).await.unwrap_err();
    assert!(!format!("{error:?}").contains("hunter2"), "{error}");
    assert!(error.to_string().contains("/nonexistent"), "{error}");
}
