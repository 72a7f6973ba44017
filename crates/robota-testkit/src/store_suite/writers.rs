//! Locking, concurrent writers and followers.

use std::task::{Context, Waker};

use robota_core::event::Durability;
use robota_core::journal::{JournalError, JournalStore};

use super::{create_session, envelope, events, id, rejected, seqs};

/// The error for a second writer names the owner of the lock; readers are not blocked.
pub async fn kode_12_one_writer_at_a_time(store: &dyn JournalStore) {
    let session = id("s");
    let mut first = create_session(store, &session, 1).await;
    for refusal in [
        rejected(store.open(&session).await),
        rejected(store.create(&session).await),
        rejected(store.delete(&session).await),
    ] {
        let JournalError::Locked { session: locked, owner } = &refusal else {
            panic!("{refusal}");
        };
        assert_eq!(*locked, session);
        assert_eq!(owner.pid, Some(std::process::id()));
    }
    assert_eq!(seqs(store, &session).await, [1]);
    first.append(&events(2..=2), Durability::Synced).await.expect("the first writer continues");
    assert!(!first.lost().is_cancelled());
    drop(first);
    let mut second = store.open(&session).await.expect("unlocked");
    let next = envelope(2, 3, robota_core::event::Renamed { name: "second".to_owned() });
    second.append(&[next], Durability::Synced).await.expect("append");
    assert_eq!(seqs(store, &session).await, [1, 2, 3]);
}

/// An append whose future was dropped is stored completely or not at all, and the writer continues.
pub async fn kode_12_a_dropped_append_is_atomic(store: &dyn JournalStore) {
    let session = id("s");
    let mut journal = create_session(store, &session, 1).await;
    {
        let batch = events(2..=4);
        let mut append = journal.append(&batch, Durability::Synced);
        // Polled once, so that it has started, and then dropped.
        let _ = append.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    // Repeats the start of the batch, which may be stored or not.
    journal.append(&events(2..=2), Durability::Synced).await.expect("append");
    let exists = seqs(store, &session).await.len();
    assert!(exists == 2 || exists == 4, "half of a batch: {exists}");
    // Repeats the whole batch, with more events.
    journal.append(&events(2..=5), Durability::Synced).await.expect("append");
    assert_eq!(seqs(store, &session).await, (1..=5).collect::<Vec<_>>());
}

/// Several sessions can be written at the same time.
pub async fn kode_12_sessions_are_written_concurrently(store: &dyn JournalStore) {
    let sessions: Vec<_> = (0..8).map(|number| id(&format!("session-{number}"))).collect();
    let write = async |session| {
        let mut journal = store.create(session).await.expect("create");
        for seq in 1..=20 {
            journal.append(&events(seq..=seq), Durability::Synced).await.expect("append");
        }
    };
    futures::future::join_all(sessions.iter().map(write)).await;
    for session in &sessions {
        assert_eq!(seqs(store, session).await, (1..=20).collect::<Vec<_>>());
    }
}

/// A reader receives the events that another task appends, and notices that the session is deleted.
pub async fn kode_12_a_session_can_be_followed(store: &dyn JournalStore) {
    let session = id("s");
    let error = rejected(store.wait_past(&session, 0).await);
    assert_eq!(error, JournalError::NotFound(session.clone()));
    let mut journal = create_session(store, &session, 2).await;
    store.wait_past(&session, 1).await.expect("an event is stored already");
    let follow = async {
        let mut seen = 0;
        while seen < 12 {
            store.wait_past(&session, seen).await.expect("the session exists");
            let events = store.read(&session, seen, usize::MAX).await.expect("read");
            seen = events.last().map_or(seen, |event| event.seq);
        }
    };
    let write = async {
        for seq in 3..=12 {
            let durability = if seq % 2 == 0 { Durability::Synced } else { Durability::Written };
            journal.append(&events(seq..=seq), durability).await.expect("append");
            // Lets the follower run between two appends.
            tokio::task::yield_now().await;
        }
    };
    futures::future::join(follow, write).await;
    drop(journal);
    let delete = async {
        assert!(store.delete(&session).await.expect("delete"));
    };
    let (error, ()) = futures::future::join(store.wait_past(&session, 12), delete).await;
    assert_eq!(rejected(error), JournalError::NotFound(session));
}

/// Different ids are different sessions, also on file systems that fold case or limit the length of
/// names. Ids that could escape the store's folder are rejected.
pub async fn kode_11_ids_are_distinct_and_hostile_ids_are_rejected(store: &dyn JournalStore) {
    let long = format!("agent:a/session:b{}", "/fork:cccccccccccccccccccc".repeat(30));
    let ids =
        ["a", "A", "agent:a/session:x", "agent:A/session:x", "agent:a/session:x.y", "con", &long];
    for (number, name) in (1..).zip(ids) {
        drop(create_session(store, &id(name), number).await);
    }
    for (number, name) in (1..).zip(ids) {
        assert_eq!(seqs(store, &id(name)).await.len(), number, "{name}");
    }
    for hostile in
        ["", "..", "../x", "/etc/passwd", "a\0b", "a b", "-x", "agent:a/session:..", "a%2fb"]
    {
        let error = rejected(store.create(&id(hostile)).await);
        assert!(matches!(error, JournalError::BadId { .. }), "{hostile:?}: {error}");
        let at = super::cursor(1, 1);
        let error = rejected(store.fork(&id("a"), at, &id(hostile), &[]).await);
        assert!(matches!(error, JournalError::BadId { .. }), "{hostile:?}: {error}");
        let error = rejected(store.open(&id(hostile)).await);
        assert!(matches!(error, JournalError::NotFound(_)), "{hostile:?}: {error}");
    }
}
