//! The number of syncs that a turn costs a file store.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod sim;

use std::sync::Arc;

use robota_core::gate::AllowAll;
use robota_core::ids::SessionId;
use robota_core::journal::JournalStore as _;
use robota_core::permission::Class;
use robota_store::{DurabilityLevel, FileStore};
use robota_testkit::{FailingJournal, Run, fn_tool};

use sim::SimDisk;

/// Counts how often a turn with that many rounds, each with one call, waits for the disk.
async fn syncs(rounds: usize, class: Class, level: DurabilityLevel) -> u64 {
    let round = "- {text: On it., tools: [{tool: act, input: {}}]}\n";
    let script = format!("{}- {{text: Done.}}\n", round.repeat(rounds));
    let journal = FailingJournal::new();
    let ran = Run::script(&script)
        .tool(fn_tool("act", class, |_| async { "done".to_owned() }))
        .gate(AllowAll)
        .max_rounds(0)
        .journal(journal.clone())
        .prompt("Go.")
        .await;
    assert_eq!(ran.requests.len(), rounds + 1);
    let disk = SimDisk::new();
    let store = FileStore::new("/s").with_disk(Arc::new(disk.clone())).with_level(level);
    let mut writer = store.create(&SessionId::from("s")).await.unwrap();
    for append in journal.appends() {
        writer.append(&append.events, append.durability).await.unwrap();
    }
    disk.syncs()
}

async fn per_round(class: Class, level: DurabilityLevel) -> u64 {
    // So few events that no snapshot is written, which would be another append.
    let more = syncs(15, class, level).await - syncs(5, class, level).await;
    assert_eq!(more % 10, 0);
    more / 10
}

#[tokio::test]
async fn kode_12_a_round_with_effects_syncs_twice_and_one_without_never() {
    assert_eq!(per_round(Class::Execute, DurabilityLevel::Barrier).await, 2);
    assert_eq!(per_round(Class::Inspect, DurabilityLevel::Barrier).await, 0);
    assert_eq!(per_round(Class::Execute, DurabilityLevel::Relaxed).await, 0);
    assert!(per_round(Class::Execute, DurabilityLevel::Strict).await > 2);
}
