//! Blobs in PostgreSQL: the locks of clients that store and delete them.

use std::time::Duration;

use robota_core::event::Durability;
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore as _};
use robota_store::PostgresStore;
use robota_testkit::store_suite::events;
use tokio_postgres::NoTls;

use super::{quiet, server};

#[tokio::test]
async fn storing_a_blob_waits_for_the_deletion_of_a_long_session() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let store = PostgresStore::connect_with(&address, NoTls, quiet()).await.unwrap();
    let session = SessionId::from("s");
    drop(store.create(&session).await.unwrap());
    let (mut client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
    tokio::spawn(connection);
    // What a deletion holds while it removes its rows, for longer than any row is waited for.
    let sweep = client.transaction().await.unwrap();
    let lock = i64::from_be_bytes(*b"robota\0\x02");
    sweep.execute("SELECT pg_advisory_xact_lock($1)::TEXT", &[&lock]).await.unwrap();
    let blobs = store.blobs(&session);
    let release = async {
        sweep.execute("SELECT pg_sleep(6)::TEXT", &[]).await.unwrap();
        // More blobs wait than the pool has connections, and appends need one.
        let mut journal = store.create(&SessionId::from("other")).await.unwrap();
        journal.append(&events(1..=1), Durability::Synced).await.unwrap();
        sweep.commit().await.unwrap();
    };
    let many = (0..20_u8).map(|byte| {
        let blobs = &blobs;
        async move { blobs.put(&[byte]).await }
    });
    let (stored, ()) = tokio::join!(futures::future::join_all(many), release);
    for (byte, stored) in (0..20_u8).zip(stored) {
        assert_eq!(blobs.get(&stored.unwrap()).await.unwrap(), Some(vec![byte]));
    }
}

/// A client lost power while it stored a blob, and the server still has its lock.
#[tokio::test]
async fn a_dead_client_that_stored_a_blob_blocks_neither_deletions_nor_other_blobs() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let store = PostgresStore::connect_at(&address, quiet()).await.unwrap();
    let (first, second) = (SessionId::from("first"), SessionId::from("second"));
    for session in [&first, &second] {
        let mut journal = store.create(session).await.unwrap();
        journal.append(&events(1..=1), Durability::Synced).await.unwrap();
        journal.release().await;
    }
    let shared = store.blobs(&first).put(b"of both").await.unwrap();
    store.blobs(&second).put(b"of both").await.unwrap();
    let own = store.blobs(&first).put(b"of the first").await.unwrap();
    let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
    tokio::spawn(connection);
    let lock = i64::from_be_bytes(*b"robota\0\x02");
    client
        .batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock_shared({lock})"))
        .await
        .unwrap();
    let blobs = store.blobs(&second);
    let work = async {
        let (deleted, stored) = tokio::join!(store.delete(&first), blobs.put(b"of the second"));
        stored.unwrap();
        deleted.unwrap()
    };
    let limit = Duration::from_secs(60);
    assert!(tokio::time::timeout(limit, work).await.expect("they do not wait for the client"));
    assert!(matches!(store.head(&first).await, Err(JournalError::NotFound(_))));
    // The next deletion removes what this one could not.
    client.batch_execute("ROLLBACK").await.unwrap();
    assert!(!store.delete(&SessionId::from("missing")).await.unwrap());
    let third = store.create(&SessionId::from("third")).await.unwrap();
    let only = store.blobs(&SessionId::from("third")).put(b"of the third").await.unwrap();
    drop(third);
    assert!(blobs.get(&shared).await.unwrap().is_some(), "the second session has it");
    assert!(store.delete(&second).await.unwrap());
    for blob in [&own, &shared] {
        assert_eq!(blobs.get(blob).await.unwrap(), None);
    }
    assert!(blobs.get(&only).await.unwrap().is_some());
}

/// The server ends the transactions of clients that are gone: of those that send a large blob after a
/// longer time, because that much may pass between two of their statements.
#[tokio::test]
async fn the_server_limits_how_long_a_transaction_waits_for_its_client() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let store = PostgresStore::connect_at(&address, quiet()).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
    tokio::spawn(connection);
    let sql = "CREATE TABLE limits (id SERIAL, idle TEXT); \
               CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                  INSERT INTO limits (idle) \
                     VALUES (current_setting('idle_in_transaction_session_timeout')); \
                  RETURN NEW; END $$; \
               CREATE TRIGGER note AFTER INSERT ON robota_blobs FOR EACH ROW EXECUTE FUNCTION note()";
    client.batch_execute(sql).await.unwrap();
    let blobs = store.blobs(&SessionId::from("s"));
    blobs.put(b"short").await.unwrap();
    blobs.put(&vec![7; 2 * 1024 * 1024]).await.unwrap();
    let rows = client.query("SELECT idle FROM limits ORDER BY id", &[]).await.unwrap();
    let limits: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(limits, ["15s", "1h"]);
}
