//! Who may write.

use std::task::{Context, Waker};

use robota_core::event::Durability;
use robota_core::journal::{JournalError, JournalStore};

use super::{begun, envelope, events, id, refused, seqs};

/// A second writer is told who the first is; readers are not hindered.
pub async fn kode_12_one_writer_at_a_time(store: &dyn JournalStore) {
    let session = id("s");
    let mut first = begun(store, &session, 1).await;
    for refusal in [
        refused(store.open(&session).await),
        refused(store.create(&session).await),
        refused(store.delete(&session).await),
    ] {
        let JournalError::Locked { session: locked, owner } = &refusal else {
            panic!("{refusal}");
        };
        assert_eq!(*locked, session);
        assert!(!owner.is_empty());
    }
    assert_eq!(seqs(store, &session).await, [1]);
    first.append(&events(2..=2), Durability::Synced).await.expect("the first goes on");
    assert!(!first.lost().is_cancelled());
    drop(first);
    let mut second = store.open(&session).await.expect("free again");
    let next = envelope(2, 3, robota_core::event::Renamed { name: "second".to_owned() });
    second.append(&[next], Durability::Synced).await.expect("append");
    assert_eq!(seqs(store, &session).await, [1, 2, 3]);
}

/// An append whose caller went away is there whole or not at all, and the writer goes on.
pub async fn kode_12_a_forgotten_append_ends_whole(store: &dyn JournalStore) {
    let session = id("s");
    let mut journal = begun(store, &session, 1).await;
    {
        let batch = events(2..=4);
        let mut append = journal.append(&batch, Durability::Synced);
        // Polled once, so that it has begun, and then forgotten.
        let _ = append.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    // Whatever comes next is told what is there.
    let next = match journal.append(&events(2..=2), Durability::Synced).await {
        Ok(()) => 3,
        Err(JournalError::OutOfOrder { last, .. }) => last.seq + 1,
        Err(error) => panic!("{error}"),
    };
    journal.append(&events(next..=next), Durability::Synced).await.expect("append");
    assert_eq!(seqs(store, &session).await, (1..=next).collect::<Vec<_>>());
    assert!(next == 3 || next == 5, "half of a batch: {next}");
}

/// Sessions are written at the same time.
pub async fn kode_12_sessions_do_not_hinder_each_other(store: &dyn JournalStore) {
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

/// Ids that differ are different sessions, whatever the disk thinks; those that lead elsewhere are
/// no ids.
pub async fn kode_11_ids_are_told_apart_and_hostile_ones_refused(store: &dyn JournalStore) {
    let long = format!("agent:a/session:b{}", "/fork:cccccccccccccccccccc".repeat(30));
    let ids =
        ["a", "A", "agent:a/session:x", "agent:A/session:x", "agent:a/session:x.y", "con", &long];
    for (number, name) in (1..).zip(ids) {
        drop(begun(store, &id(name), number).await);
    }
    for (number, name) in (1..).zip(ids) {
        assert_eq!(seqs(store, &id(name)).await.len(), number, "{name}");
    }
    for hostile in
        ["", "..", "../x", "/etc/passwd", "a\0b", "a b", "-x", "agent:a/session:..", "a%2fb"]
    {
        let error = refused(store.create(&id(hostile)).await);
        assert!(matches!(error, JournalError::BadId { .. }), "{hostile:?}: {error}");
        let at = super::cursor(1, 1);
        let error = refused(store.fork(&id("a"), at, &id(hostile), &[]).await);
        assert!(matches!(error, JournalError::BadId { .. }), "{hostile:?}: {error}");
        let error = refused(store.open(&id(hostile)).await);
        assert!(matches!(error, JournalError::NotFound(_)), "{hostile:?}: {error}");
    }
}
