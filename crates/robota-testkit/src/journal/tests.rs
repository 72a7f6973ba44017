use robota_core::event::Renamed;

use super::*;
use crate::FakeClock;

fn envelope(seq: u64) -> Arc<Envelope> {
    let event = Renamed { name: seq.to_string() }.into();
    Arc::new(Envelope { seq, epoch: 1, ts: FakeClock::START, turn: None, event, min_reader: None })
}

/// Returns which of five appends fail. A failed event is appended again.
async fn failures(journal: &FailingJournal) -> Vec<u64> {
    let mut failed = Vec::new();
    let mut seq = 1;
    for nth in 1..=5 {
        match journal.clone().append(&[envelope(seq)], Durability::Written).await {
            Ok(()) => seq += 1,
            Err(_) => failed.push(nth),
        }
    }
    failed
}

#[tokio::test]
async fn the_selected_appends_fail() {
    assert!(failures(&FailingJournal::new()).await.is_empty());
    assert_eq!(failures(&FailingJournal::new().fail_once(1)).await, [1]);
    assert_eq!(failures(&FailingJournal::new().fail_once(3)).await, [3]);
    assert_eq!(failures(&FailingJournal::new().fail_from(3)).await, [3, 4, 5]);
}

#[tokio::test]
async fn a_failed_append_leaves_nothing_behind() {
    let memory = MemoryJournal::new();
    let mut journal = FailingJournal::wrapping(memory.clone()).fail_from(2);
    journal.append(&[envelope(1)], Durability::Written).await.unwrap();
    let error = journal.append(&[envelope(2), envelope(3)], Durability::Synced).await.unwrap_err();
    assert!(error.to_string().contains("append 2 fails"), "{error}");
    assert_eq!(memory.events(), [envelope(1)]);
    journal.heal();
    journal.append(&[envelope(2)], Durability::Synced).await.unwrap();
    assert_eq!(journal.events(), [envelope(1), envelope(2)]);

    let asked: Vec<_> = journal
        .appends()
        .iter()
        .map(|one| (one.events.len(), one.durability, one.failed))
        .collect();
    assert_eq!(
        asked,
        [
            (1, Durability::Written, false),
            (2, Durability::Synced, true),
            (1, Durability::Synced, false)
        ]
    );
    assert_eq!(journal.appends()[1].kinds(), ["renamed", "renamed"]);
}
