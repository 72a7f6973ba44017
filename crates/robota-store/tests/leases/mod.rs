//! Tests of leases on two stores that share a database.
#![allow(dead_code, reason = "each database needs a part of this")]

use std::sync::Arc;
use std::time::Duration;

use robota_core::event::Durability;
use robota_core::ids::SessionId;
use robota_core::journal::{Journal, JournalError, JournalStore, LostReason};
use robota_store::SqlOptions;
use robota_testkit::FakeClock;
use robota_testkit::store_suite::{envelope, events};

pub(crate) const LEASE: Duration = Duration::from_secs(30);

pub(crate) fn clock() -> FakeClock {
    FakeClock::fixed()
}

pub(crate) fn options(clock: &FakeClock) -> SqlOptions {
    SqlOptions { lease: LEASE, clock: Some(Arc::new(clock.clone())), ..SqlOptions::default() }
}

/// Stops tokio's paused clock from advancing automatically, which it does only while nothing
/// blocks.
struct FrozenTime(
    /// Ends the wait when it is dropped.
    std::sync::mpsc::Sender<()>,
);

impl FrozenTime {
    fn new() -> Self {
        let (hold, held) = std::sync::mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || held.recv());
        Self(hold)
    }
}

fn session() -> SessionId {
    SessionId::from("s")
}

fn next(epoch: u32, seq: u64) -> [Arc<robota_core::event::Envelope>; 1] {
    [envelope(epoch, seq, robota_core::event::Renamed { name: format!("in {epoch}") })]
}

/// Checks that the session was lost to another writer, which may have closed it.
fn taken_over(error: &JournalError, closed: bool) {
    let JournalError::Lost { reason: LostReason::TakenOver { owner }, .. } = error else {
        panic!("{error}");
    };
    let pid = owner.as_ref().and_then(|owner| owner.pid);
    assert_eq!(pid, (!closed).then(std::process::id), "{error}");
}

pub(crate) async fn a_writer_whose_session_was_taken_over_is_refused(
    first: &dyn JournalStore,
    second: &dyn JournalStore,
    clock: &FakeClock,
) {
    let mut away = first.create(&session()).await.unwrap();
    away.append(&events(1..=1), Durability::Synced).await.unwrap();
    let error = second.open(&session()).await.err().unwrap();
    let JournalError::Locked { owner, .. } = &error else { panic!("{error}") };
    assert_eq!(owner.pid, Some(std::process::id()));
    assert!(owner.process.is_some() && owner.since.is_some(), "{owner:?}");

    // The lease has expired but no other writer took it: the writer continues, and has the lease
    // again.
    clock.advance(LEASE + Duration::from_secs(1));
    away.append(&events(2..=2), Durability::Synced).await.unwrap();
    assert!(!away.lost().is_cancelled());
    let error = second.open(&session()).await.err().unwrap();
    assert!(matches!(error, JournalError::Locked { .. }), "{error}");

    // Another writer opens and closes the session: every append of the first one is refused.
    clock.advance(LEASE + Duration::from_secs(1));
    let mut taken = second.open(&session()).await.unwrap();
    taken.append(&next(2, 3), Durability::Synced).await.unwrap();
    assert_eq!(away.lost_error(), None);
    taken_over(&away.append(&next(1, 9), Durability::Synced).await.unwrap_err(), false);
    assert!(away.lost().is_cancelled());
    drop(taken);
    let error = away.append(&next(1, 4), Durability::Synced).await.unwrap_err();
    assert_eq!(away.lost_error(), Some(error));
    // Dropping it does not affect the new writer.
    let mut third = second.open(&session()).await.unwrap();
    drop(away);
    third.append(&next(3, 4), Durability::Synced).await.unwrap();
    let epochs: Vec<_> =
        first.read(&session(), 0, 9).await.unwrap().iter().map(|event| event.epoch).collect();
    assert_eq!(epochs, [1, 1, 2, 3]);
}

pub(crate) async fn losing_a_lease_is_reported(
    first: &dyn JournalStore,
    second: &dyn JournalStore,
    clock: &FakeClock,
) {
    let _frozen = FrozenTime::new();
    let mut away = first.create(&session()).await.unwrap();
    away.append(&events(1..=1), Durability::Synced).await.unwrap();
    let lost = away.lost();
    clock.advance(LEASE * 2);
    let _taken = second.open(&session()).await.unwrap();
    assert!(!lost.is_cancelled());
    // The writer does not append: the renewal finds out.
    tokio::time::advance(LEASE / 3 + Duration::from_millis(1)).await;
    lost.cancelled().await;
    taken_over(&away.lost_error().unwrap(), false);
}

/// The process did not run for longer than a lease, and opened the session again before its old lease
/// was renewed: the new lease does not keep the old one alive.
pub(crate) async fn a_lease_that_its_own_store_took_over_is_lost(
    store: &dyn JournalStore,
    clock: &FakeClock,
) {
    let _frozen = FrozenTime::new();
    let mut old = store.create(&session()).await.unwrap();
    old.append(&events(1..=1), Durability::Synced).await.unwrap();
    clock.advance(LEASE * 2);
    let new = store.open(&session()).await.unwrap();
    tokio::time::advance(LEASE / 3 + Duration::from_millis(1)).await;
    // The renewal is submitted by now, and done before the next write.
    tokio::task::yield_now().await;
    let _ = store.delete(&SessionId::from("missing")).await.unwrap();
    tokio::task::yield_now().await;
    taken_over(&old.lost_error().unwrap(), false);
    assert!(!new.lost().is_cancelled());
}

/// With `block`, no lease can be renewed.
pub(crate) async fn an_expired_lease_that_no_writer_took_is_renewed(
    store: &dyn JournalStore,
    clock: &FakeClock,
    block: impl AsyncFn(bool),
) {
    let _frozen = FrozenTime::new();
    let mut writer = store.create(&session()).await.unwrap();
    writer.append(&events(1..=1), Durability::Synced).await.unwrap();
    block(true).await;
    for _ in 0..12 {
        clock.advance(LEASE / 3);
        tokio::time::advance(LEASE / 3 + Duration::from_millis(1)).await;
        tokio::task::yield_now().await;
        let _ = store.delete(&SessionId::from("missing")).await.unwrap();
        tokio::task::yield_now().await;
    }
    block(false).await;
    assert!(!writer.lost().is_cancelled());
    writer.append(&events(2..=2), Durability::Synced).await.unwrap();
}

pub(crate) async fn a_lease_is_renewed_for_as_long_as_its_writer_lives(
    first: &dyn JournalStore,
    second: &dyn JournalStore,
    clock: &FakeClock,
) {
    let _frozen = FrozenTime::new();
    let mut writer = first.create(&session()).await.unwrap();
    writer.append(&events(1..=1), Durability::Synced).await.unwrap();
    for _ in 0..12 {
        // The clock of the leases and the clock of the timers advance together.
        clock.advance(LEASE / 3);
        tokio::time::advance(LEASE / 3 + Duration::from_millis(1)).await;
        // The renewal is submitted by now, and done before the next write.
        tokio::task::yield_now().await;
        let _ = first.delete(&SessionId::from("missing")).await.unwrap();
        // The task has its answer, and waits for the next interval.
        tokio::task::yield_now().await;
    }
    let error = second.open(&session()).await.err().unwrap();
    assert!(matches!(error, JournalError::Locked { .. }), "{error}");
    writer.append(&events(2..=2), Durability::Synced).await.unwrap();
    assert!(!writer.lost().is_cancelled());
}

pub(crate) async fn two_stores_take_turns(first: &dyn JournalStore, second: &dyn JournalStore) {
    let write = async |store: &dyn JournalStore, name: &str| {
        let session = SessionId::from(name);
        let mut journal = store.create(&session).await.unwrap();
        for seq in 1..=40 {
            journal.append(&events(seq..=seq), Durability::Written).await.unwrap();
        }
    };
    tokio::join!(write(first, "a"), write(second, "b"), write(first, "c"), write(second, "d"));
    for (store, name) in [(first, "b"), (second, "a"), (first, "d"), (second, "c")] {
        assert_eq!(store.read(&SessionId::from(name), 0, 99).await.unwrap().len(), 40);
    }
}

/// A store that did not open the session can open it as soon as the release has returned.
pub(crate) async fn a_released_session_can_be_opened_by_another_store(
    first: &dyn JournalStore,
    second: &dyn JournalStore,
) {
    let mut writer = first.create(&session()).await.unwrap();
    writer.append(&events(1..=1), Durability::Synced).await.unwrap();
    writer.release().await;
    for (epoch, store) in (2..).zip([second, first].into_iter().cycle().take(20)) {
        let mut writer = store.open(&session()).await.unwrap();
        writer.append(&next(epoch, u64::from(epoch)), Durability::Written).await.unwrap();
        writer.release().await;
    }
    // Without an event there is no session, and its id is free.
    first.create(&SessionId::from("empty")).await.unwrap().release().await;
    second.create(&SessionId::from("empty")).await.unwrap().release().await;
}

/// With `block`, no lease can be released.
pub(crate) async fn a_release_that_the_database_missed_does_not_block_the_next_writer(
    first: &dyn JournalStore,
    second: &dyn JournalStore,
    block: impl AsyncFn(bool),
) {
    let end_unheard = async |writer: Box<dyn Journal>| {
        block(true).await;
        drop(writer);
        // SQLite runs jobs in order, so a later call shows that the release was tried; other
        // databases count the tries.
        let _ = first.delete(&SessionId::from("missing")).await.unwrap();
        block(false).await;
    };
    let mut writer = first.create(&session()).await.unwrap();
    writer.append(&events(1..=2), Durability::Synced).await.unwrap();
    end_unheard(writer).await;
    // Other stores cannot know that the writer ended.
    let error = second.open(&session()).await.err().unwrap();
    assert!(matches!(error, JournalError::Locked { .. }), "{error}");
    let mut writer = first.open(&session()).await.unwrap();
    writer.append(&next(2, 3), Durability::Synced).await.unwrap();
    // A live writer keeps its session, even against its own store.
    for store in [first, second] {
        let error = store.open(&session()).await.err().unwrap();
        assert!(matches!(error, JournalError::Locked { .. }), "{error}");
        let error = store.delete(&session()).await.unwrap_err();
        assert!(matches!(error, JournalError::Locked { .. }), "{error}");
    }
    writer.append(&next(2, 4), Durability::Synced).await.unwrap();
    end_unheard(writer).await;
    let error = second.delete(&session()).await.unwrap_err();
    assert!(matches!(error, JournalError::Locked { .. }), "{error}");
    assert!(first.delete(&session()).await.unwrap());
}

pub(crate) async fn a_writer_of_a_session_that_was_deleted_and_created_again_is_refused(
    first: &dyn JournalStore,
    second: &dyn JournalStore,
    clock: &FakeClock,
) {
    let mut away = first.create(&session()).await.unwrap();
    away.append(&events(1..=1), Durability::Synced).await.unwrap();
    clock.advance(LEASE + Duration::from_secs(1));
    assert!(second.delete(&session()).await.unwrap());
    let mut recreated = second.create(&session()).await.unwrap();
    recreated.append(&events(1..=1), Durability::Synced).await.unwrap();
    // The event would follow the stored one.
    let error = away.append(&events(2..=2), Durability::Synced).await.unwrap_err();
    assert!(matches!(error, JournalError::Lost { .. }), "{error}");
    drop(away);
    let error = first.open(&session()).await.err().unwrap();
    assert!(matches!(error, JournalError::Locked { .. }), "{error}");
    recreated.append(&events(2..=2), Durability::Synced).await.unwrap();
}

/// A reader with another handle receives the appended events, in order and once.
pub(crate) async fn a_second_store_follows_the_first(
    first: &dyn JournalStore,
    second: &dyn JournalStore,
) {
    let mut writer = first.create(&session()).await.unwrap();
    writer.append(&events(1..=1), Durability::Written).await.unwrap();
    for seq in 1..=5 {
        let append = async {
            let next = events(seq + 1..=seq + 1);
            writer.append(&next, Durability::Written).await.unwrap();
        };
        let follow = async {
            second.wait_past(&session(), seq).await.unwrap();
            second.read(&session(), seq, 9).await.unwrap().len()
        };
        assert_eq!(futures::future::join(follow, append).await.0, 1);
    }
}
