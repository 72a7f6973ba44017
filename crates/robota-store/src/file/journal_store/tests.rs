use std::future::Future as _;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Waker};

use robota_core::event::{Durability, Envelope, Renamed};
use robota_core::ids::SessionId;
use robota_core::journal::{Journal, JournalStore as _};

use super::{APPENDS_AFTER_SLOW, FileJournal, FileStore};
use crate::sim::SimDisk;

fn event(seq: u64, name: &str) -> Arc<Envelope> {
    let ts = jiff::Timestamp::UNIX_EPOCH;
    let event = Renamed { name: name.to_owned() }.into();
    Arc::new(Envelope { seq, epoch: 1, ts, turn: None, event, min_reader: None })
}

/// Returns whether the append finishes without waiting for another thread.
fn is_immediate(journal: &mut FileJournal, event: Arc<Envelope>, durability: Durability) -> bool {
    let events = [event];
    let append = pin!(journal.append(&events, durability));
    match append.poll(&mut Context::from_waker(Waker::noop())) {
        std::task::Poll::Ready(appended) => appended.is_ok(),
        std::task::Poll::Pending => false,
    }
}

/// The only blocking thread of the runtime is occupied: what is done at once was done by the caller.
#[test]
fn short_appends_without_a_sync_need_no_other_thread() {
    let builder = &mut tokio::runtime::Builder::new_current_thread();
    let runtime = builder.max_blocking_threads(1).build().unwrap();
    let store = FileStore::new("/sessions").with_disk(Arc::new(SimDisk::new()));
    let id = SessionId::from("s");
    let mut journal = runtime.block_on(async {
        let writer = store.files.create(&id).unwrap();
        let mut journal = FileJournal::new(&store.files, writer);
        // The first append creates the segment.
        journal.append(&[event(1, "first")], Durability::Written).await.unwrap();
        journal
    });
    let (release, occupied) = mpsc::channel::<()>();
    let blocker = runtime.spawn_blocking(move || occupied.recv().unwrap());
    let entered = runtime.enter();

    assert!(is_immediate(&mut journal, event(2, "short"), Durability::Written));
    // A busy machine may have made that append a slow one.
    journal.after_slow = 0;
    let long = "x".repeat(100_000);
    assert!(!is_immediate(&mut journal, event(3, &long), Durability::Written));
    release.send(()).unwrap();
    runtime.block_on(blocker).unwrap();

    // The append whose future was dropped has finished; the same events are accepted again.
    let again = [event(3, &long)];
    runtime.block_on(journal.append(&again, Durability::Written)).unwrap();
    let (release, occupied) = mpsc::channel::<()>();
    let blocker = runtime.spawn_blocking(move || occupied.recv().unwrap());
    journal.after_slow = 0;
    assert!(is_immediate(&mut journal, event(4, "short"), Durability::Written));
    journal.after_slow = APPENDS_AFTER_SLOW;
    assert!(!is_immediate(&mut journal, event(5, "after a slow one"), Durability::Written));
    // Not because of the slow one: a sync waits for the disk.
    journal.after_slow = 0;
    assert!(!is_immediate(&mut journal, event(5, "after a slow one"), Durability::Synced));
    release.send(()).unwrap();
    runtime.block_on(blocker).unwrap();
    drop(entered);
    let events = runtime.block_on(store.read(&id, 0, 10)).unwrap();
    let seqs: Vec<_> = events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, [1, 2, 3, 4, 5]);
}
