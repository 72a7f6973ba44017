use std::sync::Arc;

use robota_core::event::{Durability, Envelope, Renamed};
use robota_core::ids::SessionId;
use robota_core::journal::JournalError;

use super::super::{FileStore, Files};
use super::{Lines, Writer};
use crate::DurabilityLevel;
use crate::disk::CreateMode;
use crate::sim::SimDisk;

fn event(seq: u64) -> Arc<Envelope> {
    Arc::new(Envelope {
        seq,
        epoch: 1,
        ts: jiff::Timestamp::UNIX_EPOCH,
        turn: None,
        event: Renamed { name: format!("name {seq}") }.into(),
        min_reader: None,
    })
}

fn session() -> SessionId {
    SessionId::from("s")
}

fn files(disk: &SimDisk) -> Arc<Files> {
    FileStore::new("/sessions").with_disk(Arc::new(disk.clone())).files
}

/// Returns a writer of a session with one event.
fn writer(disk: &SimDisk) -> (Arc<Files>, Writer) {
    let files = files(disk);
    let mut writer = files.create(&session()).unwrap();
    writer.append(&[event(1)], Durability::Synced).unwrap();
    (files, writer)
}

fn seqs(files: &Files) -> Vec<u64> {
    files.read(&session(), 0, usize::MAX, true).unwrap().iter().map(|event| event.seq).collect()
}

#[test]
fn a_full_disk_leaves_nothing_behind_and_the_append_can_be_repeated() {
    let disk = SimDisk::new();
    let (files, mut writer) = writer(&disk);
    let before = disk.contents();
    for room in [0, 1, 40, 120, 200] {
        disk.faults(|faults| faults.room = Some(room));
        let error = writer.append(&[event(2), event(3)], Durability::Synced).unwrap_err();
        assert!(error.to_string().contains("no space left"), "{error}");
        assert_eq!(disk.contents(), before);
    }
    disk.faults(|faults| faults.room = None);
    writer.append(&[event(2), event(3)], Durability::Written).unwrap();
    assert_eq!(seqs(&files), [1, 2, 3]);
}

#[test]
fn an_append_that_cannot_be_undone_ends_the_writer_and_reopening_repairs_it() {
    let disk = SimDisk::new();
    let (files, mut writer) = writer(&disk);
    disk.faults(|faults| {
        faults.room = Some(10);
        faults.truncate_fails = true;
    });
    writer.append(&[event(2)], Durability::Written).unwrap_err();
    disk.faults(|faults| {
        faults.room = None;
        faults.truncate_fails = false;
    });
    let error = writer.append(&[event(2)], Durability::Written).unwrap_err().to_string();
    assert!(error.contains("could not be undone") && error.contains("opened again"), "{error}");
    assert_eq!(seqs(&files), [1]);
    drop(writer);
    let mut writer = files.open(&session()).unwrap();
    writer.append(&[event(2)], Durability::Synced).unwrap();
    assert_eq!(seqs(&files), [1, 2]);
}

#[test]
fn a_failed_sync_is_rolled_back_and_ends_the_writer() {
    let disk = SimDisk::new();
    let (files, mut writer) = writer(&disk);
    disk.faults(|faults| faults.sync_fails = true);
    writer.append(&[event(2)], Durability::Synced).unwrap_err();
    assert_eq!(seqs(&files), [1]);
    disk.faults(|faults| faults.sync_fails = false);
    let error = writer.append(&[event(2)], Durability::Written).unwrap_err().to_string();
    assert!(error.contains("sync failed"), "{error}");
}

#[test]
fn a_read_only_disk_is_a_clear_error_and_can_be_read() {
    let disk = SimDisk::new();
    let (files, mut writer) = writer(&disk);
    disk.faults(|faults| faults.read_only = true);
    let error = writer.append(&[event(2)], Durability::Synced).unwrap_err();
    assert!(error.to_string().contains("read-only file system"), "{error}");
    drop(writer);
    assert_eq!(seqs(&files), [1]);
    assert_eq!(files.head(&session()).unwrap().last.seq, 1);
    assert_eq!(files.list(&Default::default()).unwrap().sessions.len(), 1);
    for refused in [files.open(&session()).err(), files.create(&SessionId::from("t")).err()] {
        let error = refused.unwrap().to_string();
        assert!(error.contains("read-only file system"), "{error}");
    }
    disk.faults(|faults| faults.read_only = false);
    files.open(&session()).unwrap().append(&[event(2)], Durability::Synced).unwrap();
    assert_eq!(seqs(&files), [1, 2]);
}

#[test]
fn a_failure_at_any_step_leaves_nothing_half_written() {
    // A script with segment changes, a fork, blobs and a delete; each operation of it fails once.
    let script = |disk: &SimDisk| -> Result<(), JournalError> {
        let store = FileStore::new("/sessions").with_segment_bytes(200);
        let files = store.with_disk(Arc::new(disk.clone())).files;
        let mut writer = files.create(&session())?;
        for seq in 1..=6 {
            writer.append(&[event(seq)], Durability::Synced)?;
        }
        let at = event(4).cursor();
        let child = SessionId::from("child");
        drop(files.fork(&session(), at, &child, &[event(5)])?);
        drop(writer);
        files.open(&session())?.append(&[event(7)], Durability::Synced)?;
        files.delete(&child)?;
        Ok(())
    };
    let healthy = SimDisk::new();
    script(&healthy).unwrap();
    let operations = healthy.operations();
    assert!(operations > 60, "{operations}");
    for at in 1..=operations {
        let disk = SimDisk::new();
        disk.faults(|faults| faults.fail_at = Some(at));
        let result = script(&disk);
        disk.faults(|faults| faults.fail_at = None);
        let files = files(&disk);
        let read = |name: &str| files.read(&SessionId::from(name), 0, usize::MAX, true);
        for name in ["s", "child"] {
            match read(name) {
                Ok(events) => {
                    let seqs: Vec<_> = events.iter().map(|event| event.seq).collect();
                    let last = seqs.len() as u64;
                    assert_eq!(seqs, (1..=last).collect::<Vec<_>>(), "step {at}");
                    assert!(name == "s" || last == 5, "half a fork, step {at}");
                    // After every failure the session can be continued.
                    let mut writer = files.open(&SessionId::from(name)).unwrap();
                    writer.append(&[event(last + 1)], Durability::Synced).unwrap();
                    assert_eq!(read(name).unwrap().len() as u64, last + 1);
                }
                Err(JournalError::NotFound(_)) => {}
                Err(error) => panic!("step {at}: {error}"),
            }
        }
        // Failures of optional files, such as indexes, are ignored.
        if let Err(error) = result {
            assert!(error.to_string().contains("input/output error"), "step {at}: {error}");
        }
    }
}

#[test]
fn each_durability_level_syncs_as_documented() {
    let syncs = |level| {
        let disk = SimDisk::new();
        let store = FileStore::new("/sessions").with_level(level);
        let files = store.with_disk(Arc::new(disk.clone())).files;
        let mut writer = files.create(&session()).unwrap();
        writer.append(&[event(1)], Durability::Synced).unwrap();
        let begun = disk.syncs();
        writer.append(&[event(2)], Durability::Written).unwrap();
        let written = disk.syncs() - begun;
        writer.append(&[event(3)], Durability::Synced).unwrap();
        let synced = disk.syncs() - begun - written;
        writer.append(&[event(4)], Durability::Written).unwrap();
        let before = disk.syncs();
        // No new events, but those that were only written before must be synced now.
        writer.append(&[], Durability::Synced).unwrap();
        (written, synced, disk.syncs() - before)
    };
    assert_eq!(syncs(DurabilityLevel::Strict), (1, 1, 0));
    assert_eq!(syncs(DurabilityLevel::Barrier), (0, 1, 1));
    assert_eq!(syncs(DurabilityLevel::Relaxed), (0, 0, 0));
}

#[test]
fn the_file_is_open_only_while_something_in_it_is_not_synced() {
    let disk = SimDisk::new();
    let (files, mut writer) = writer(&disk);
    assert!(!writer.has_open_file());
    writer.append(&[event(2)], Durability::Written).unwrap();
    assert!(writer.has_open_file());
    writer.append(&[event(3)], Durability::Written).unwrap();
    let synced = disk.syncs();
    writer.close_file();
    assert!(!writer.has_open_file() && disk.syncs() > synced, "what it closes is synced");
    writer.append(&[event(4)], Durability::Synced).unwrap();
    assert_eq!(files.read(&session(), 0, usize::MAX, true).unwrap().len(), 4);
    // Another program wrote to the file: nothing may follow what this writer does not know.
    let names = files.disk.names(&files.folder(&session())).unwrap();
    let segment = names.iter().find(|name| name.ends_with(".jsonl")).unwrap();
    let path = files.folder(&session()).join(segment);
    files.disk.open_append(&path, CreateMode::Never).unwrap().write(b"x").unwrap();
    let refused = writer.append(&[event(5)], Durability::Synced).unwrap_err();
    assert!(matches!(refused, JournalError::MustReopen { .. }), "{refused}");
}

#[test]
fn the_index_is_written_when_a_list_would_change() {
    let disk = SimDisk::new();
    let (files, mut writer) = writer(&disk);
    let index =
        |disk: &SimDisk| disk.contents()[&files.folder(&session()).join("head.json")].clone();
    let before = index(&disk);
    // A list would show the new name, but the event is not synced yet, so the index is not written.
    writer.append(&[event(2)], Durability::Written).unwrap();
    assert_eq!(index(&disk), before);
    writer.append(&[event(3)], Durability::Synced).unwrap();
    assert_ne!(index(&disk), before);
    let listed = files.list(&Default::default()).unwrap().sessions;
    assert_eq!(listed[0].name.as_deref(), Some("name 3"));
}

#[test]
fn a_short_append_writes_no_head_record() {
    let disk = SimDisk::new();
    let (files, mut writer) = writer(&disk);
    writer.append(&[event(2)], Durability::Written).unwrap();
    let record = files.folder(&session()).join("1.head");
    let (mut short, mut left) = (0, 0);
    for seq in 3..=400 {
        let (events, before) = ([event(seq)], disk.contents().remove(&record));
        match writer.append_short(&events, Durability::Written) {
            Some(appended) => {
                appended.unwrap();
                assert_eq!(disk.contents().remove(&record), before, "event {seq}");
                short += 1;
            }
            None => {
                writer.append(&events, Durability::Written).unwrap();
                assert_ne!(disk.contents().remove(&record), before, "event {seq}");
                left += 1;
            }
        }
    }
    assert!(left > 1 && short > 50 * left, "{short} short, {left} left");
    assert_eq!(seqs(&files).len(), 400);
}

#[test]
fn nothing_is_acknowledged_that_has_no_file() {
    let (_files, mut writer) = writer(&SimDisk::new());
    assert!(!writer.has_open_file(), "it was synced");
    let events = [event(2)];
    let lines = Lines::of(&events).unwrap();
    let refused = writer.write(&events, &lines, Durability::Written).unwrap_err();
    assert!(matches!(refused, JournalError::MustReopen { .. }), "{refused}");
}
