//! PostgreSQL is a journal store: a real server, which the tests start themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod leases;
mod proxy;

use robota_core::event::Durability;
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore as _};
use robota_store::{PostgresStore, SqlOptions};
use robota_testkit::postgres::PostgresServer;
use robota_testkit::store_suite::{Made, events};
use tokio_postgres::NoTls;

use proxy::Proxy;

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
    let (first, second) = pair(&server, leases::options(&clock)).await;
    leases::a_writer_of_a_session_that_was_begun_anew_is_refused(&first, &second, &clock).await;
}

#[tokio::test]
async fn kode_12_a_release_that_nobody_heard_is_made_up_for() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let first = PostgresStore::connect(&address).await.unwrap();
    let second = PostgresStore::connect(&address).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
    tokio::spawn(connection);
    let sql = "CREATE FUNCTION jam() RETURNS trigger LANGUAGE plpgsql \
               AS $$ BEGIN RAISE EXCEPTION 'jammed'; END $$";
    client.batch_execute(sql).await.unwrap();
    let jam = async |on: bool| {
        let sql = if on {
            "CREATE TRIGGER jam BEFORE UPDATE ON robota_sessions FOR EACH ROW \
             WHEN (NEW.lease IS NULL) EXECUTE FUNCTION jam()"
        } else {
            "DROP TRIGGER jam ON robota_sessions"
        };
        client.batch_execute(sql).await.unwrap();
    };
    leases::a_release_that_nobody_heard_is_made_up_for(&first, &second, jam).await;
}

#[tokio::test]
async fn kode_12_a_writer_that_ends_while_the_server_is_down_can_be_followed_at_once() {
    let Some(mut server) = server() else { return };
    let store = PostgresStore::connect(&server.database().unwrap()).await.unwrap();
    let session = SessionId::from("s");
    let mut journal = store.create(&session).await.unwrap();
    journal.append(&events(1..=2), Durability::Synced).await.unwrap();
    // As many connections as it ever has, all of them of a server that dies.
    let looks = (0..32).map(|_| store.head(&session));
    for head in futures::future::join_all(looks).await {
        assert_eq!(head.unwrap().last.seq, 2);
    }
    server.kill().unwrap();
    drop(journal);
    // Whoever asks waits for the release, which fails like everything else.
    let error = store.head(&session).await.unwrap_err();
    assert!(matches!(error, JournalError::Io { .. }), "{error}");
    server.restart().unwrap();
    let mut journal = store.open(&session).await.unwrap();
    journal.append(&events(3..=3), Durability::Synced).await.unwrap();
    assert_eq!(store.read(&session, 0, 99).await.unwrap().len(), 3);
}

#[tokio::test]
async fn kode_12_a_commit_whose_answer_was_lost_happened_once() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let other = PostgresStore::connect(&address).await.unwrap();
    let (proxy, address) = Proxy::new(&address);
    let store = PostgresStore::connect(&address).await.unwrap();
    let session = SessionId::from("s");
    let fails = |error: &JournalError| {
        assert!(matches!(error, JournalError::Io { .. }), "{error}");
        assert!(proxy.was_cut());
    };

    // A session that was begun, and nobody knows.
    proxy.cut_the_next_commit();
    fails(&store.create(&session).await.err().unwrap());
    let error = other.create(&session).await.err().unwrap();
    assert!(matches!(error, JournalError::Locked { .. }), "{error}");
    let mut journal = store.create(&session).await.unwrap();

    // Events that are there, and nobody knows.
    for seqs in [1..=3, 4..=4] {
        let events = events(seqs.clone());
        proxy.cut_the_next_commit();
        fails(&journal.append(&events, Durability::Synced).await.unwrap_err());
        assert_eq!(other.head(&session).await.unwrap().last.seq, *seqs.end());
        journal.append(&events, Durability::Synced).await.unwrap();
        let there = store.read(&session, 0, 99).await.unwrap();
        let there: Vec<_> = there.iter().map(|event| event.seq).collect();
        assert_eq!(there, (1..=*seqs.end()).collect::<Vec<_>>());
    }

    // A lease that was given, and nobody knows.
    drop(journal);
    store.head(&session).await.unwrap();
    proxy.cut_the_next_commit();
    fails(&store.open(&session).await.err().unwrap());
    let error = other.open(&session).await.err().unwrap();
    assert!(matches!(error, JournalError::Locked { .. }), "{error}");
    let mut journal = store.open(&session).await.unwrap();
    journal.append(&events(5..=5), Durability::Synced).await.unwrap();

    // One that was given back, and nobody knows.
    proxy.cut_the_next_commit();
    drop(journal);
    // The connection is lost with it; what comes next has another.
    store.head(&session).await.unwrap();
    assert!(proxy.was_cut());
    drop(store.open(&session).await.unwrap());
}

#[tokio::test]
async fn kode_12_connections_that_are_silent_are_given_up() {
    let Some(server) = server() else { return };
    let (proxy, address) = Proxy::new(&server.database().unwrap());
    // No renewal comes between.
    let options =
        SqlOptions { lease: std::time::Duration::from_secs(3_600), ..SqlOptions::default() };
    let store = PostgresStore::connect_with(&address, NoTls, options).await.unwrap();
    let session = SessionId::from("s");
    let mut journal = store.create(&session).await.unwrap();
    journal.append(&events(1..=1), Durability::Synced).await.unwrap();
    let looks = (0..4).map(|_| store.head(&session));
    futures::future::join_all(looks).await;
    let before = proxy.made();
    assert!(before > 1);
    proxy.silence();
    // Nothing happens until its patience is almost over, which need not be waited for; then time
    // goes on as it does.
    tokio::time::pause();
    tokio::spawn(async {
        tokio::time::sleep(std::time::Duration::from_millis(9_990)).await;
        tokio::time::resume();
    });
    assert_eq!(store.head(&session).await.unwrap().last.seq, 1);
    assert_eq!(proxy.made(), before + 1);
    journal.append(&events(2..=2), Durability::Synced).await.unwrap();
    assert_eq!(proxy.made(), before + 1);
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
