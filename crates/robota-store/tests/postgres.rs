//! Runs the store suite on PostgreSQL, with a real server that the tests start.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod leases;
mod postgres_blobs;
mod version1;

use robota_core::clock::Clock as _;
use robota_core::event::Durability;
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore as _, LostReason};
use robota_store::{PostgresStore, SqlOptions};
use robota_testkit::postgres::{CutPoint, PostgresServer, Proxy};
use robota_testkit::store_suite::{TestStore, events};
use tokio_postgres::NoTls;

fn server() -> Option<PostgresServer> {
    PostgresServer::start().unwrap()
}

#[tokio::test]
async fn kode_12_every_case_of_the_suite() {
    let Some(server) = server() else { return };
    let make =
        async || TestStore::new(PostgresStore::connect(&server.database().unwrap()).await.unwrap());
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
    leases::a_writer_whose_session_was_taken_over_is_refused(&first, &second, &clock).await;
    let (first, second) = pair(&server, leases::options(&clock)).await;
    leases::two_stores_take_turns(&first, &second).await;
    let (first, second) = pair(&server, leases::options(&clock)).await;
    leases::a_writer_of_a_session_that_was_deleted_and_created_again_is_refused(
        &first, &second, &clock,
    )
    .await;
}

#[tokio::test]
async fn kode_12_a_release_that_the_database_missed_does_not_block_the_next_writer() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let first = PostgresStore::connect(&address).await.unwrap();
    let second = PostgresStore::connect(&address).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
    tokio::spawn(connection);
    // A sequence is not rolled back: it counts how often a release was tried.
    let sql = "CREATE SEQUENCE tried; \
               CREATE FUNCTION block() RETURNS trigger LANGUAGE plpgsql \
               AS $$ BEGIN PERFORM nextval('tried'); RAISE EXCEPTION 'blocked'; END $$";
    client.batch_execute(sql).await.unwrap();
    let jams = std::sync::atomic::AtomicI64::new(0);
    let tried = async || {
        let row = client.query_one("SELECT last_value, is_called FROM tried", &[]).await.unwrap();
        if row.get::<_, bool>(1) { row.get::<_, i64>(0) } else { 0 }
    };
    let block = async |on: bool| {
        let jams = jams.fetch_add(i64::from(on), std::sync::atomic::Ordering::SeqCst);
        while tried().await < jams {
            tokio::task::yield_now().await;
        }
        let sql = if on {
            "CREATE TRIGGER block BEFORE UPDATE ON robota_sessions FOR EACH ROW \
             WHEN (NEW.lease IS NULL) EXECUTE FUNCTION block()"
        } else {
            "DROP TRIGGER block ON robota_sessions"
        };
        client.batch_execute(sql).await.unwrap();
    };
    leases::a_release_that_the_database_missed_does_not_block_the_next_writer(
        &first, &second, block,
    )
    .await;
}

#[tokio::test]
async fn kode_12_a_session_whose_writer_ended_while_the_server_was_down_can_be_opened_immediately()
{
    let Some(mut server) = server() else { return };
    let store = PostgresStore::connect(&server.database().unwrap()).await.unwrap();
    let session = SessionId::from("s");
    let mut journal = store.create(&session).await.unwrap();
    journal.append(&events(1..=2), Durability::Synced).await.unwrap();
    // As many connections as the pool has, all to a server that is about to stop.
    let heads = (0..32).map(|_| store.head(&session));
    for head in futures::future::join_all(heads).await {
        assert_eq!(head.unwrap().last.seq, 2);
    }
    server.kill().unwrap();
    drop(journal);
    let error = store.head(&session).await.unwrap_err();
    assert!(matches!(error, JournalError::Io { .. }), "{error}");
    server.restart().unwrap();
    let mut journal = store.open(&session).await.unwrap();
    journal.append(&events(3..=3), Durability::Synced).await.unwrap();
    assert_eq!(store.read(&session, 0, 99).await.unwrap().len(), 3);
}

/// Options without background traffic, so that counts are exact.
fn quiet() -> SqlOptions {
    let lease = std::time::Duration::from_secs(3_600);
    SqlOptions { lease, notify: false, ..SqlOptions::default() }
}

/// Does everything a writer does, and repeats each step until it succeeds. Returns the number of
/// repetitions.
async fn script(store: &PostgresStore, session: &SessionId) -> usize {
    let mut repeated = 0;
    let mut again = |error: JournalError| {
        assert!(matches!(error, JournalError::Io { .. }), "{error}");
        repeated += 1;
        assert!(repeated < 9, "{error}");
    };
    let mut journal = loop {
        match store.create(session).await {
            Ok(journal) => break journal,
            Err(error) => again(error),
        }
    };
    for (from, to) in [(1, 2), (3, 3), (4, 6), (7, 7)] {
        let durability = if from % 2 == 0 { Durability::Written } else { Durability::Synced };
        while let Err(error) = journal.append(&events(from..=to), durability).await {
            again(error);
        }
    }
    drop(journal);
    let mut journal = loop {
        match store.open(session).await {
            Ok(journal) => break journal,
            Err(error) => again(error),
        }
    };
    while let Err(error) = journal.append(&events(8..=9), Durability::Synced).await {
        again(error);
    }
    repeated
}

#[tokio::test]
async fn kode_12_a_connection_failure_around_any_commit_loses_and_repeats_nothing() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let direct = PostgresStore::connect_at(&address, quiet()).await.unwrap();
    for cut in [CutPoint::BeforeCommit, CutPoint::AfterCommit] {
        for count in [1, 3] {
            for nth in 1.. {
                let (proxy, address) = Proxy::new(&address).unwrap();
                let store = PostgresStore::connect_at(&address, quiet()).await.unwrap();
                let session = SessionId::from(format!("{cut:?}-{count}-{nth}"));
                proxy.cut(nth, count, cut);
                let repeated = script(&store, &session).await;
                let there = direct.read(&session, 0, 99).await.unwrap();
                let seqs: Vec<_> = there.iter().map(|event| event.seq).collect();
                assert_eq!(seqs, (1..=9).collect::<Vec<_>>(), "{session}");
                assert_eq!(direct.head(&session).await.unwrap().last.seq, 9, "{session}");
                if proxy.cuts() == 0 {
                    assert!(nth > 7, "create, four appends, release, open, append: {nth}");
                    break;
                }
                assert!(count == 1 || repeated > 0 || proxy.cuts() < 3, "{session}");
            }
        }
    }
}

#[tokio::test]
async fn kode_12_a_lease_whose_grant_was_not_acknowledged_counts_as_ended() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let other = PostgresStore::connect(&address).await.unwrap();
    let (proxy, address) = Proxy::new(&address).unwrap();
    let store = PostgresStore::connect_at(&address, quiet()).await.unwrap();
    let session = SessionId::from("s");
    let unheard = |error: JournalError| {
        assert!(matches!(error, JournalError::Io { .. }), "{error}");
        assert_eq!(proxy.cuts(), 1);
    };
    let locked = |error: JournalError| {
        assert!(matches!(error, JournalError::Locked { .. }), "{error}");
    };
    proxy.cut(1, 1, CutPoint::AfterCommit);
    unheard(store.create(&session).await.err().unwrap());
    locked(other.create(&session).await.err().unwrap());
    let mut journal = store.create(&session).await.unwrap();
    journal.append(&events(1..=2), Durability::Synced).await.unwrap();
    drop(journal);
    drop(store.open(&session).await.unwrap());
    // The next commit is the release; the one after it grants the lease.
    proxy.cut(2, 1, CutPoint::AfterCommit);
    unheard(store.open(&session).await.err().unwrap());
    locked(other.open(&session).await.err().unwrap());
    let mut journal = store.open(&session).await.unwrap();
    journal.append(&events(3..=3), Durability::Synced).await.unwrap();
}

#[tokio::test]
async fn kode_12_an_append_is_one_round_trip() {
    let Some(server) = server() else { return };
    let (proxy, address) = Proxy::new(&server.database().unwrap()).unwrap();
    let options = SqlOptions { connections: 1, ..quiet() };
    let store = PostgresStore::connect_at(&address, options).await.unwrap();
    let session = SessionId::from("s");
    let mut journal = store.create(&session).await.unwrap();
    let mut seq = 0;
    let mut append = async |count: u64, durability| {
        let before = proxy.round_trips();
        journal.append(&events(seq + 1..=seq + count), durability).await.unwrap();
        seq += count;
        proxy.round_trips() - before
    };
    // The first statement of each kind on a connection is prepared.
    assert_eq!(append(1, Durability::Synced).await, 2);
    assert_eq!(append(1, Durability::Written).await, 2);
    for count in [1, 7, 300, 1, 1] {
        for durability in [Durability::Synced, Durability::Written] {
            assert_eq!(append(count, durability).await, 1, "{count} {durability:?}");
        }
    }
    // Reads of a page, heads and single events take one round trip too, once they are prepared.
    for _ in 0..2 {
        store.head(&session).await.unwrap();
        store.read_events(&session, &[1, 5, 9]).await.unwrap();
        store.read(&session, 0, 10).await.unwrap();
    }
    let before = proxy.round_trips();
    store.read_events(&session, &(1..=200).collect::<Vec<_>>()).await.unwrap();
    assert_eq!(proxy.round_trips() - before, 1);
    store.read(&session, 0, 10).await.unwrap();
    assert_eq!(proxy.round_trips() - before, 3);
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn kode_12_appends_leave_no_dead_rows_in_an_index() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let store = PostgresStore::connect_at(&address, quiet()).await.unwrap();
    let mut journal = store.create(&SessionId::from("s")).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
    tokio::spawn(connection);
    let size = async || {
        let sql = "SELECT pg_relation_size('robota_leases_pkey'), \
                   pg_relation_size('robota_leases')";
        let row = client.query_one(sql, &[]).await.unwrap();
        (row.get::<_, i64>(0), row.get::<_, i64>(1))
    };
    journal.append(&events(1..=1), Durability::Synced).await.unwrap();
    let before = size().await;
    for seq in 2..=1_500 {
        journal.append(&events(seq..=seq), Durability::Written).await.unwrap();
    }
    assert_eq!(size().await, before, "every update is a HOT update");
}

#[tokio::test]
async fn kode_12_connections_that_do_not_answer_are_closed() {
    let Some(server) = server() else { return };
    let (proxy, address) = Proxy::new(&server.database().unwrap()).unwrap();
    let store = PostgresStore::connect_at(&address, quiet()).await.unwrap();
    let session = SessionId::from("s");
    let mut journal = store.create(&session).await.unwrap();
    journal.append(&events(1..=1), Durability::Synced).await.unwrap();
    let heads = (0..4).map(|_| store.head(&session));
    futures::future::join_all(heads).await;
    // Each way to use a connection detects the failure.
    for seq in 2..=4 {
        let before = proxy.connections();
        proxy.silence();
        // Nothing happens until shortly before the timeout, so that time is skipped; then the clock
        // runs normally.
        tokio::time::pause();
        tokio::spawn(async {
            tokio::time::sleep(std::time::Duration::from_millis(9_990)).await;
            tokio::time::resume();
        });
        match seq {
            2 => assert_eq!(store.head(&session).await.unwrap().last.seq, 1),
            3 => assert!(!store.delete(&SessionId::from("missing")).await.unwrap()),
            _ => {}
        }
        journal.append(&events(seq..=seq), Durability::Synced).await.unwrap();
        assert_eq!(proxy.connections(), before + 1);
    }
}

#[tokio::test]
async fn kode_12_leases_are_measured_by_the_servers_clock() {
    let Some(server) = server() else { return };
    let (first, second) = pair(&server, SqlOptions::default()).await;
    let mut writer = first.create(&SessionId::from("s")).await.unwrap();
    writer.append(&events(1..=1), Durability::Synced).await.unwrap();
    let error = second.open(&SessionId::from("s")).await.err().unwrap();
    assert!(matches!(error, JournalError::Locked { .. }), "{error}");
    // A lease with no duration can be taken immediately.
    let short = SqlOptions { lease: std::time::Duration::ZERO, ..SqlOptions::default() };
    let (first, second) = pair(&server, short).await;
    let _writer = first.create(&SessionId::from("s")).await.unwrap();
    drop(second.create(&SessionId::from("s")).await.unwrap());
}

#[tokio::test]
async fn kode_12_all_leases_are_renewed_by_one_statement_outside_the_pool() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let other = PostgresStore::connect(&address).await.unwrap();
    let (proxy, address) = Proxy::new(&address).unwrap();
    let lease = std::time::Duration::from_millis(600);
    let options = SqlOptions { lease, connections: 1, ..quiet() };
    let store = PostgresStore::connect_at(&address, options).await.unwrap();
    let mut writers = Vec::new();
    for number in 0..20 {
        let session = SessionId::from(format!("s{number}"));
        let mut writer = store.create(&session).await.unwrap();
        writer.append(&events(1..=1), Durability::Synced).await.unwrap();
        writers.push((session, writer));
    }
    // One connection, and nothing but renewals for longer than a lease.
    let before = proxy.commits();
    while proxy.commits() < before + 5 {
        tokio::task::yield_now().await;
    }
    assert_eq!(proxy.connections(), 2);
    for (session, writer) in &writers {
        assert!(!writer.lost().is_cancelled());
        let error = other.open(session).await.err().unwrap();
        assert!(matches!(error, JournalError::Locked { .. }), "{error}");
    }
}

/// The lease expires by the clock of the leases, as on a machine that was suspended, and no other
/// writer comes: the next renewal takes it again, without an append.
#[tokio::test]
async fn kode_12_an_expired_lease_that_no_writer_took_is_renewed() {
    let Some(server) = server() else { return };
    let clock = leases::clock();
    let lease = std::time::Duration::from_secs(6);
    let options = SqlOptions { lease, ..leases::options(&clock) };
    let address = server.database().unwrap();
    let connect = async || PostgresStore::connect_with(&address, NoTls, options.clone()).await;
    let (first, second) = (connect().await.unwrap(), connect().await.unwrap());
    let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
    tokio::spawn(connection);
    let session = SessionId::from("s");
    let mut writer = first.create(&session).await.unwrap();
    writer.append(&events(1..=1), Durability::Synced).await.unwrap();

    clock.advance(lease * 3);
    let now = clock.now().as_millisecond();
    let expires = async || {
        let row = client.query_one("SELECT expires FROM robota_leases", &[]).await.unwrap();
        row.get::<_, i64>(0)
    };
    assert!(expires().await < now, "it has expired");
    while expires().await < now {
        tokio::task::yield_now().await;
    }
    assert!(!writer.lost().is_cancelled());
    let error = second.open(&session).await.err().unwrap();
    assert!(matches!(error, JournalError::Locked { .. }), "{error}");
    writer.append(&events(2..=2), Durability::Synced).await.unwrap();
}

#[tokio::test]
async fn kode_12_a_released_session_can_be_opened_by_another_store() {
    let Some(server) = server() else { return };
    let (first, second) = pair(&server, SqlOptions::default()).await;
    leases::a_released_session_can_be_opened_by_another_store(&first, &second).await;
}

/// The process did not run for longer than a lease, as after SIGSTOP, and no other writer came: the
/// database decides, and it still has the token.
#[tokio::test]
async fn kode_12_a_process_that_was_stopped_for_longer_than_its_lease_keeps_it() {
    let Some(server) = server() else { return };
    let (proxy, address) = Proxy::new(&server.database().unwrap()).unwrap();
    let lease = std::time::Duration::from_secs(3);
    for closed in [false, true] {
        let options = SqlOptions { lease, ..quiet() };
        let store = PostgresStore::connect_at(&address, options).await.unwrap();
        let session = SessionId::from(format!("s{closed}"));
        let mut writer = store.create(&session).await.unwrap();
        writer.append(&events(1..=1), Durability::Synced).await.unwrap();
        let before = proxy.commits();
        if closed {
            // Its connections were closed meanwhile too.
            proxy.refuse(true);
            proxy.refuse(false);
        }
        tokio::time::pause();
        tokio::time::advance(lease * 10).await;
        tokio::time::resume();
        while proxy.commits() == before && !writer.lost().is_cancelled() {
            tokio::task::yield_now().await;
        }
        writer.append(&events(2..=2), Durability::Synced).await.unwrap();
        assert!(!writer.lost().is_cancelled(), "{:?}", writer.lost_error());
    }
}

/// As above, but another writer took the session meanwhile: of another store, or of the same one.
#[tokio::test]
async fn kode_12_a_process_that_was_stopped_finds_out_that_its_session_was_taken() {
    let Some(server) = server() else { return };
    let clock = leases::clock();
    for same_store in [false, true] {
        let (first, second) = pair(&server, leases::options(&clock)).await;
        let session = SessionId::from("s");
        let mut writer = first.create(&session).await.unwrap();
        writer.append(&events(1..=1), Durability::Synced).await.unwrap();
        clock.advance(leases::LEASE * 2);
        let taken = if same_store { &first } else { &second }.open(&session).await.unwrap();
        tokio::time::pause();
        tokio::time::advance(leases::LEASE * 2).await;
        tokio::time::resume();
        let limit = std::time::Duration::from_secs(60);
        tokio::time::timeout(limit, writer.lost().cancelled()).await.expect("it is lost");
        let error = writer.lost_error().unwrap();
        let JournalError::Lost { reason: LostReason::TakenOver { owner }, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(owner.as_ref().and_then(|owner| owner.pid), Some(std::process::id()), "{error}");
        assert!(!taken.lost().is_cancelled());
    }
}

/// A writer learns at its next renewal that its session was taken or deleted, also if many were, and
/// if their rows are locked; the other leases are renewed meanwhile.
#[tokio::test]
async fn kode_12_leases_that_were_taken_end_at_once_and_do_not_delay_the_others() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
    tokio::spawn(connection);
    let lease = std::time::Duration::from_secs(6);
    let store = PostgresStore::connect_at(&address, SqlOptions { lease, ..quiet() }).await.unwrap();
    let mut writers = Vec::new();
    for number in 0..20 {
        let mut writer = store.create(&SessionId::from(format!("s{number}"))).await.unwrap();
        writer.append(&events(1..=1), Durability::Synced).await.unwrap();
        writers.push(writer);
    }
    let mut kept = writers.pop().unwrap();
    let sql = "UPDATE robota_leases SET token = 7 WHERE journal IN \
                  (SELECT journal FROM robota_sessions WHERE session <> 's19'); \
               UPDATE robota_sessions SET lease = 'pid 7 on elsewhere' WHERE session = 's0'; \
               WITH gone AS (DELETE FROM robota_sessions WHERE session = 's1' RETURNING journal) \
                  DELETE FROM robota_leases USING gone WHERE robota_leases.journal = gone.journal";
    client.batch_execute(sql).await.unwrap();
    // A reader does not wait for these locks, and neither does the renewal, whose tokens are others.
    let sql = "BEGIN; SELECT 1 FROM robota_leases WHERE token = 7 FOR UPDATE";
    client.batch_execute(sql).await.unwrap();
    let limit = std::time::Duration::from_secs(15);
    let lost = writers.iter().map(|writer| writer.lost());
    let lost = futures::future::join_all(lost.map(async |lost| lost.cancelled().await));
    tokio::time::timeout(limit, lost).await.expect("all are lost");
    for (number, writer) in writers.iter().enumerate() {
        let JournalError::Lost { reason, .. } = writer.lost_error().unwrap() else { panic!() };
        match reason {
            LostReason::Deleted => assert_eq!(number, 1),
            LostReason::TakenOver { owner } if number == 0 => {
                assert_eq!(owner.and_then(|owner| owner.pid), Some(7));
            }
            LostReason::TakenOver { .. } if number > 1 => {}
            reason => panic!("s{number}: {reason:?}"),
        }
    }
    assert_eq!(kept.lost_error(), None);
    kept.append(&events(2..=2), Durability::Synced).await.unwrap();
}

/// The row of a session is locked by a client that does nothing: opening the session fails after some
/// seconds instead of waiting for that client.
#[tokio::test]
async fn kode_12_a_row_that_stays_locked_is_reported() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
    tokio::spawn(connection);
    let store = PostgresStore::connect_at(&address, quiet()).await.unwrap();
    let session = SessionId::from("s");
    let mut writer = store.create(&session).await.unwrap();
    writer.append(&events(1..=1), Durability::Synced).await.unwrap();
    writer.release().await;
    client.batch_execute("BEGIN; SELECT 1 FROM robota_leases FOR UPDATE").await.unwrap();
    let limit = std::time::Duration::from_secs(60);
    let opened = tokio::time::timeout(limit, store.open(&session)).await.expect("it ends");
    let error = opened.err().unwrap();
    assert!(error.to_string().contains("lock timeout"), "{error}");
    client.batch_execute("ROLLBACK").await.unwrap();
    store.open(&session).await.unwrap();
}

/// The server stops answering in the middle of a transaction, without closing the connection.
#[tokio::test]
async fn kode_12_a_transaction_that_is_not_answered_fails() {
    let Some(server) = server() else { return };
    let (proxy, address) = Proxy::new(&server.database().unwrap()).unwrap();
    let store = PostgresStore::connect_at(&address, quiet()).await.unwrap();
    let session = SessionId::from("s");
    let mut writer = store.create(&session).await.unwrap();
    writer.append(&events(1..=1), Durability::Synced).await.unwrap();
    writer.release().await;
    proxy.cut(1, 1, CutPoint::Silent);
    let limit = std::time::Duration::from_secs(60);
    let opened = tokio::time::timeout(limit, store.open(&session)).await.expect("it ends");
    let error = opened.err().unwrap();
    assert!(error.to_string().contains("no answer within 10 s"), "{error}");
    assert_eq!(proxy.cuts(), 1);
    // On another connection. The server still holds the locks of the silent one until it notices that
    // its client is gone.
    assert_eq!(store.head(&session).await.unwrap().last.seq, 1);
    proxy.refuse(true);
    proxy.refuse(false);
    store.open(&session).await.unwrap();
}

#[tokio::test]
async fn kode_12_a_writer_that_is_cut_off_stops_when_its_lease_is_over() {
    let Some(server) = server() else { return };
    let (proxy, address) = Proxy::new(&server.database().unwrap()).unwrap();
    let lease = std::time::Duration::from_secs(1);
    let options = SqlOptions { lease, ..quiet() };
    let store = PostgresStore::connect_at(&address, options).await.unwrap();
    let session = SessionId::from("s");
    let mut journal = store.create(&session).await.unwrap();
    journal.append(&events(1..=1), Durability::Synced).await.unwrap();
    proxy.refuse(true);
    let error = journal.append(&events(2..=2), Durability::Synced).await.unwrap_err();
    assert!(matches!(error, JournalError::Io { .. }), "{error}");
    journal.lost().cancelled().await;
    let error = journal.lost_error().unwrap();
    let JournalError::Lost { reason: LostReason::NotRenewed { elapsed }, .. } = &error else {
        panic!("{error}");
    };
    assert!(*elapsed >= lease, "{elapsed:?}");
    assert!(error.to_string().contains("could not renew its lease for 1 s"), "{error}");
    // Its work was stopped, so it does not continue when the server is back.
    proxy.refuse(false);
    let again = journal.append(&events(2..=2), Durability::Synced).await.unwrap_err();
    assert_eq!(again, error);
    drop(journal);
    let mut journal = store.open(&session).await.unwrap();
    journal.append(&events(2..=2), Durability::Synced).await.unwrap();
}

#[tokio::test]
async fn kode_12_a_second_store_follows_the_first() {
    let Some(server) = server() else { return };
    for notify in [true, false] {
        let options = SqlOptions { notify, ..SqlOptions::default() };
        let (first, second) = pair(&server, options).await;
        leases::a_second_store_follows_the_first(&first, &second).await;
    }
}

#[tokio::test]
async fn kode_12_notifications_are_sent_for_many_appends_at_once() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let store = PostgresStore::connect(&address).await.unwrap();
    let (client, mut connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
    let (sender, mut notifications) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut messages = futures::stream::poll_fn(move |cx| connection.poll_message(cx));
        while let Some(Ok(message)) = futures::StreamExt::next(&mut messages).await {
            if let tokio_postgres::AsyncMessage::Notification(notification) = message {
                let _ = sender.send(notification.payload().to_owned());
            }
        }
    });
    client.batch_execute("LISTEN robota_events").await.unwrap();
    let mut journal = store.create(&SessionId::from("s")).await.unwrap();
    let started = std::time::Instant::now();
    for seq in 1..=200 {
        journal.append(&events(seq..=seq), Durability::Written).await.unwrap();
    }
    // A notification that is sent after the last append arrives after all earlier ones.
    let id = client.query_one("SELECT journal FROM robota_leases", &[]).await.unwrap();
    let id = id.get::<_, i64>(0).to_string();
    assert_eq!(notifications.recv().await.unwrap(), id);
    client.batch_execute("NOTIFY robota_events, 'end'").await.unwrap();
    let mut count = 1;
    while notifications.recv().await.unwrap() != "end" {
        count += 1;
    }
    // One immediately, and then at most one in 50 ms.
    assert!(count <= 2 + started.elapsed().as_millis() / 50, "{count}");
}

#[tokio::test]
async fn kode_12_events_that_the_server_lost_are_appended_again() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let store = PostgresStore::connect_at(&address, quiet()).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
    tokio::spawn(connection);
    let session = SessionId::from("s");
    let mut journal = store.create(&session).await.unwrap();
    journal.append(&events(1..=3), Durability::Synced).await.unwrap();
    journal.append(&events(4..=6), Durability::Written).await.unwrap();
    let head = store.head(&session).await.unwrap();
    assert_eq!((head.last.seq, head.name), (6, Some("name 6\n\u{1F680}".to_owned())));
    // Deletes events, as a crash of the server does with what it did not sync.
    let forget = async |last: i64| {
        let sql = format!(
            "DELETE FROM robota_events WHERE seq > {last}; \
             UPDATE robota_leases SET last_seq = {last}, last_epoch = {}",
            i64::from(last > 0)
        );
        client.batch_execute(&sql).await.unwrap();
    };
    forget(3).await;
    let error = journal.append(&events(7..=7), Durability::Synced).await.unwrap_err();
    let JournalError::OutOfOrder { found, last, .. } = &error else { panic!("{error}") };
    assert_eq!((found.seq, last.seq), (7, 3));
    journal.append(&events(4..=7), Durability::Synced).await.unwrap();
    assert_eq!(store.read(&session, 0, 99).await.unwrap().len(), 7);
    // All of them.
    forget(0).await;
    client.batch_execute("UPDATE robota_sessions SET head = NULL").await.unwrap();
    let error = journal.append(&events(8..=8), Durability::Synced).await.unwrap_err();
    let JournalError::OutOfOrder { last, .. } = &error else { panic!("{error}") };
    assert_eq!((last.epoch, last.seq), (0, 0));
    journal.append(&events(1..=8), Durability::Synced).await.unwrap();
    assert_eq!(store.read(&session, 0, 99).await.unwrap().len(), 8);
    assert_eq!(store.head(&session).await.unwrap().last.seq, 8);
}

#[tokio::test]
async fn kode_12_a_writer_that_ends_does_not_list_events_that_the_server_lost() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let store = PostgresStore::connect_at(&address, quiet()).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
    tokio::spawn(connection);
    let session = SessionId::from("s");
    let mut journal = store.create(&session).await.unwrap();
    journal.append(&events(1..=3), Durability::Synced).await.unwrap();
    journal.append(&events(4..=6), Durability::Written).await.unwrap();
    let sql = "DELETE FROM robota_events WHERE seq > 3; UPDATE robota_leases SET last_seq = 3";
    client.batch_execute(sql).await.unwrap();
    drop(journal);
    let mut journal = store.open(&session).await.unwrap();
    assert_eq!(store.head(&session).await.unwrap().last.seq, 3);
    journal.append(&events(4..=4), Durability::Synced).await.unwrap();
    assert_eq!(store.read(&session, 0, 99).await.unwrap().len(), 4);
}

#[tokio::test]
async fn kode_12_a_list_lags_behind_by_the_unsynced_events() {
    let Some(server) = server() else { return };
    let store = PostgresStore::connect(&server.database().unwrap()).await.unwrap();
    let session = SessionId::from("s");
    let mut journal = store.create(&session).await.unwrap();
    let listed = async || {
        let page = store.list(&Default::default()).await.unwrap();
        page.sessions[0].last.seq
    };
    journal.append(&events(1..=1), Durability::Written).await.unwrap();
    assert_eq!(listed().await, 1, "a session is listed from its first event");
    journal.append(&events(2..=9), Durability::Written).await.unwrap();
    assert_eq!((listed().await, store.head(&session).await.unwrap().last.seq), (1, 9));
    let behind = store.bytes(&session).await.unwrap();
    journal.append(&events(10..=10), Durability::Synced).await.unwrap();
    assert_eq!(listed().await, 10);
    let line = events(10..=10)[0].to_line().len() as u64 + 1;
    assert_eq!(store.bytes(&session).await.unwrap(), behind + line);
    journal.append(&events(11..=11), Durability::Written).await.unwrap();
    drop(journal);
    drop(store.open(&session).await.unwrap());
    assert_eq!(listed().await, 11, "a writer that ends completes it");
}

#[tokio::test]
async fn kode_12_a_database_of_version_1_is_migrated() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(version1::TABLES).await.unwrap();
    client.batch_execute("CREATE SEQUENCE robota_journal_ids START 3").await.unwrap();
    for (journal, seq, line) in version1::lines() {
        let sql = "INSERT INTO robota_events (journal, seq, line) VALUES ($1, $2, $3)";
        client.execute(sql, &[&journal, &seq, &line]).await.unwrap();
    }
    for (session, journal, head, epoch) in version1::sessions() {
        let sql = "INSERT INTO robota_sessions (session, journal, head, updated, last_seq, \
                   last_epoch, bytes) VALUES ($1, $2, $3, 1, 3, $4, 99)";
        client.execute(sql, &[&session, &journal, &head, &epoch]).await.unwrap();
    }
    let sql = "UPDATE robota_sessions SET lease = 'pid 7 on elsewhere since 2026-01-01 10:00:00Z', \
               lease_token = 5, lease_expires = 9000000000000 WHERE session = 'fork'";
    client.batch_execute(sql).await.unwrap();
    version1::check(&PostgresStore::connect(&address).await.unwrap()).await;
}

#[tokio::test]
async fn kode_12_synced_events_survive_a_crash_of_the_server() {
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
async fn the_error_for_an_invalid_address_does_not_contain_its_password() {
    let error = PostgresStore::connect("postgres://me:hunter2@host:port/db").await.unwrap_err();
    assert!(!error.to_string().contains("hunter2"), "{error}");
    let nowhere = "host=/nonexistent user=me password=hunter2 dbname=x";
    let error = PostgresStore::connect(nowhere).await.unwrap_err();
    assert!(!format!("{error:?}").contains("hunter2"), "{error}");
    assert!(error.to_string().contains("/nonexistent"), "{error}");
}
