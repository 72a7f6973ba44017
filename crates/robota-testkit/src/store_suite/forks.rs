//! Forks.

use robota_core::event::{Durability, Parent, Renamed};
use robota_core::journal::{JournalError, JournalStore};

use super::{
    create_session, created, cursor, envelope, event, events, id, input_event, rejected, seqs,
    turn_finished,
};

/// A fork has the events of its parent up to the fork, and both continue independently.
pub async fn kode_04_a_fork_diverges_from_its_parent(store: &dyn JournalStore) {
    let (parent, child) = (id("agent:a/session:p"), id("agent:a/session:p/fork:c"));
    let mut writer = store.create(&parent).await.expect("create");
    let beginning = [
        envelope(1, 1, created(&parent, "/work", None)),
        envelope(1, 2, input_event("build it")),
        envelope(1, 3, turn_finished()),
        envelope(1, 4, Renamed { name: "the parent".to_owned() }),
        envelope(1, 5, turn_finished()),
    ];
    writer.append(&beginning, Durability::Synced).await.expect("append");

    let at = cursor(1, 4);
    let origin = Parent { session: parent.clone(), at };
    let first = [envelope(2, 5, created(&child, "/work", Some(origin)))];
    let mut fork = store.fork(&parent, at, &child, &first).await.expect("fork");
    writer.append(&[envelope(1, 6, turn_finished())], Durability::Synced).await.expect("append");
    fork.append(&[envelope(2, 6, input_event("no, this"))], Durability::Synced)
        .await
        .expect("append");

    let read = store.read(&child, 0, usize::MAX).await.expect("read");
    assert_eq!(read[..4], beginning[..4].iter().map(|event| (**event).clone()).collect::<Vec<_>>());
    assert_eq!(read[4], *first[0]);
    assert_eq!(read[5].cursor(), cursor(2, 6));
    assert_eq!(read.len(), 6);
    let parent_events = store.read(&parent, 0, usize::MAX).await.expect("read");
    assert_eq!(parent_events.iter().map(|event| event.epoch).collect::<Vec<_>>(), [1; 6]);
    let events = store.read_events(&child, &[6, 2, 5]).await.expect("read_events");
    assert_eq!(
        events.iter().map(|event| event.cursor()).collect::<Vec<_>>(),
        [cursor(2, 6), cursor(1, 2), cursor(2, 5)]
    );

    let head = store.head(&child).await.expect("head");
    assert_eq!(head.session, child);
    assert_eq!(head.parent.map(|parent| (parent.session, parent.at)), Some((parent.clone(), at)));
    assert_eq!((head.turns, head.title.as_deref()), (1, Some("build it")));
    assert_eq!((head.name, head.last), (None, cursor(2, 6)));
    let parent_events = store.head(&parent).await.expect("head");
    assert_eq!((parent_events.turns, parent_events.name.as_deref()), (3, Some("the parent")));
    assert!(parent_events.parent.is_none());

    // The caller of `fork` holds the writer.
    assert!(matches!(rejected(store.open(&child).await), JournalError::Locked { .. }));
    drop(fork);
    let mut fork = store.open(&child).await.expect("open");
    fork.append(&[envelope(3, 7, turn_finished())], Durability::Synced).await.expect("append");
    assert_eq!(seqs(store, &child).await, [1, 2, 3, 4, 5, 6, 7]);
}

/// A fork does not need its ancestors: they can be deleted.
pub async fn kode_04_a_fork_of_a_fork_outlives_both(store: &dyn JournalStore) {
    let (one, two, three) = (id("one"), id("two"), id("three"));
    drop(create_session(store, &one, 10).await);
    let next = |epoch, seq| [envelope(epoch, seq, Renamed { name: format!("in {epoch}") })];
    let mut fork = store.fork(&one, cursor(1, 8), &two, &next(2, 9)).await.expect("fork");
    fork.append(&next(2, 10), Durability::Synced).await.expect("append");
    drop(fork);
    // From its own events, and from those that it shares.
    drop(store.fork(&two, cursor(2, 9), &three, &next(3, 10)).await.expect("fork"));
    drop(store.fork(&two, cursor(1, 5), &id("four"), &next(4, 6)).await.expect("fork"));
    for parent in [&one, &two] {
        assert!(store.delete(parent).await.expect("delete"));
        assert!(matches!(rejected(store.read(parent, 0, 1).await), JournalError::NotFound(_)));
    }
    let epochs = async |session| -> Vec<u32> {
        let events = store.read(&session, 0, usize::MAX).await.expect("read");
        events.iter().map(|event| event.epoch).collect()
    };
    assert_eq!(epochs(three.clone()).await, [1, 1, 1, 1, 1, 1, 1, 1, 2, 3]);
    assert_eq!(epochs(id("four")).await, [1, 1, 1, 1, 1, 4]);
    let mut writer = store.open(&three).await.expect("open");
    writer.append(&next(4, 11), Durability::Synced).await.expect("append");
    assert_eq!(seqs(store, &three).await.len(), 11);
    // A freed id can be used for a new session.
    drop(create_session(store, &one, 2).await);
    assert_eq!(seqs(store, &one).await, [1, 2]);
    assert_eq!(epochs(three).await.len(), 11);
}

/// A fork starts at an existing event, under an unused id.
pub async fn kode_04_a_fork_needs_an_existing_event_and_a_free_id(store: &dyn JournalStore) {
    let (parent, child) = (id("parent"), id("child"));
    drop(create_session(store, &parent, 5).await);
    for at in [cursor(1, 6), cursor(2, 3), cursor(1, 0)] {
        let first = [envelope(2, at.seq + 1, Renamed { name: "x".to_owned() })];
        let error = rejected(store.fork(&parent, at, &child, &first).await);
        assert_eq!(error, JournalError::NoSuchEvent { session: parent.clone(), at });
    }
    let error = rejected(store.fork(&parent, cursor(1, 3), &child, &[event(5)]).await);
    assert!(matches!(error, JournalError::OutOfOrder { .. }), "{error}");
    let error = rejected(store.fork(&id("nobody"), cursor(1, 3), &child, &[event(4)]).await);
    assert_eq!(error, JournalError::NotFound(id("nobody")));
    assert!(matches!(rejected(store.open(&child).await), JournalError::NotFound(_)));
    drop(create_session(store, &child, 1).await);
    let error = rejected(store.fork(&parent, cursor(1, 3), &child, &[event(4)]).await);
    assert_eq!(error, JournalError::Exists(child.clone()));
    let error = rejected(store.fork(&parent, cursor(1, 3), &parent, &[event(4)]).await);
    assert_eq!(error, JournalError::Exists(parent.clone()));
    // A fork without a first event of its own ends where its parent did.
    let bare = id("bare");
    let mut fork = store.fork(&parent, cursor(1, 5), &bare, &[]).await.expect("fork");
    fork.append(&events(6..=6), Durability::Synced).await.expect("append");
    assert_eq!(seqs(store, &bare).await.len(), 6);
    assert_eq!(seqs(store, &parent).await.len(), 5);
}
