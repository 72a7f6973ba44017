//! A database with the tables of version 1: two sessions, one of them a fork, one leased.

use robota_core::event::Renamed;
use robota_core::ids::SessionId;
use robota_core::journal::SessionHead;
use robota_testkit::store_suite::{envelope, events};

/// The tables, without what only PostgreSQL needs.
pub(crate) const TABLES: &str = "
    CREATE TABLE robota_version (version BIGINT NOT NULL);
    INSERT INTO robota_version (version) VALUES (1);
    CREATE TABLE robota_journals (
        id BIGINT PRIMARY KEY, parent BIGINT REFERENCES robota_journals (id), parent_at BIGINT
    );
    CREATE INDEX robota_journals_parent ON robota_journals (parent);
    CREATE TABLE robota_sessions (
        session TEXT PRIMARY KEY, journal BIGINT NOT NULL REFERENCES robota_journals (id),
        head TEXT, updated BIGINT, cwd TEXT, last_seq BIGINT, last_epoch BIGINT,
        bytes BIGINT NOT NULL DEFAULT 0, lease TEXT, lease_process TEXT,
        lease_token BIGINT NOT NULL DEFAULT 0, lease_expires BIGINT
    );
    CREATE INDEX robota_sessions_updated ON robota_sessions (updated);
    CREATE INDEX robota_sessions_journal ON robota_sessions (journal);
    CREATE TABLE robota_events (
        journal BIGINT NOT NULL, seq BIGINT NOT NULL, line BYTEA NOT NULL,
        PRIMARY KEY (journal, seq)
    );
    CREATE TABLE robota_heads (
        journal BIGINT NOT NULL, seq BIGINT NOT NULL, head TEXT NOT NULL,
        PRIMARY KEY (journal, seq)
    );
    CREATE TABLE robota_blobs (sha256 TEXT PRIMARY KEY, bytes BYTEA NOT NULL);
    CREATE TABLE robota_refs (
        session TEXT NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (session, sha256)
    );
    CREATE INDEX robota_refs_sha256 ON robota_refs (sha256);
    CREATE TABLE robota_raw (
        journal BIGINT NOT NULL, sha256 TEXT NOT NULL, bytes BYTEA NOT NULL,
        PRIMARY KEY (journal, sha256)
    );
    INSERT INTO robota_journals (id, parent, parent_at) VALUES (1, NULL, NULL), (2, 1, 2);
";

pub(crate) fn parent() -> SessionId {
    SessionId::from("parent")
}

pub(crate) fn fork() -> SessionId {
    SessionId::from("fork")
}

/// Returns the rows of `robota_events`: journal, sequence number, line.
pub(crate) fn lines() -> Vec<(i64, i64, Vec<u8>)> {
    let mut rows: Vec<_> = (1..).zip(events(1..=3)).map(|(seq, event)| (1, seq, event)).collect();
    rows.push((2, 3, envelope(2, 3, Renamed { name: "fork".to_owned() })));
    let line = |event: &robota_core::event::Envelope| event.to_line().into_bytes();
    rows.into_iter().map(|(journal, seq, event)| (journal, seq, line(&event))).collect()
}

/// Returns a row of `robota_sessions` for each: session, journal, head, last epoch. Both end at
/// event 3.
pub(crate) fn sessions() -> [(String, i64, String, i64); 2] {
    let mut head = SessionHead::begin(parent(), &events(1..=1)[0]);
    for event in events(2..=3) {
        head.apply(&event);
    }
    let at = events(2..=2)[0].cursor();
    let mut forked = head.fork(fork(), at);
    forked.apply(&envelope(2, 3, Renamed { name: "fork".to_owned() }));
    let json = |head: &SessionHead| serde_json::to_string(head).unwrap();
    [(parent().to_string(), 1, json(&head), 1), (fork().to_string(), 2, json(&forked), 2)]
}

/// Checks the database after this version opened it.
pub(crate) async fn check(store: &dyn robota_core::journal::JournalStore) {
    use robota_core::event::Durability;
    use robota_core::journal::JournalError;
    let epochs = async |session| -> Vec<u32> {
        let events = store.read(&session, 0, usize::MAX).await.unwrap();
        events.iter().map(|event| event.epoch).collect()
    };
    assert_eq!(epochs(parent()).await, [1, 1, 1]);
    assert_eq!(epochs(fork()).await, [1, 1, 2]);
    let head = store.head(&fork()).await.unwrap();
    assert_eq!((head.name.as_deref(), head.last.seq), (Some("fork"), 3));
    assert_eq!(store.list(&Default::default()).await.unwrap().sessions.len(), 2);
    // The other process still holds its lease.
    let error = store.open(&fork()).await.err().unwrap();
    let JournalError::Locked { owner, .. } = &error else { panic!("{error}") };
    assert_eq!((owner.pid, owner.host.as_deref()), (Some(7), Some("elsewhere")));
    let mut journal = store.open(&parent()).await.unwrap();
    journal.append(&events(3..=5), Durability::Synced).await.unwrap();
    assert_eq!(epochs(parent()).await.len(), 5);
    let child = SessionId::from("child");
    drop(store.fork(&fork(), head.last, &child, &[]).await.unwrap());
    assert_eq!(epochs(child).await, [1, 1, 2]);
}
