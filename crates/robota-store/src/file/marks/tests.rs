use std::sync::Arc;

use robota_core::event::{Durability, Envelope, Renamed};
use robota_core::ids::SessionId;

use super::super::{FileStore, Files, segment};
use super::*;
use crate::sim::SimDisk;

fn event(seq: u64) -> Arc<Envelope> {
    Arc::new(Envelope {
        seq,
        epoch: 1,
        ts: jiff::Timestamp::UNIX_EPOCH,
        turn: None,
        event: Renamed { name: format!("{seq} {}", "x".repeat(500)) }.into(),
        min_reader: None,
    })
}

fn long(disk: &SimDisk) -> (Arc<Files>, SessionId) {
    let store = FileStore::new("/s").with_segment_bytes(200 * 1024);
    let files = store.with_disk(Arc::new(disk.clone())).files;
    let session = SessionId::from("s");
    let mut writer = files.create(&session).unwrap();
    for seq in 1..=1000 {
        writer.append(&[event(seq)], Durability::Written).unwrap();
    }
    (files, session)
}

#[test]
fn every_event_is_found_with_and_without_marks_and_with_wrong_ones() {
    let disk = SimDisk::new();
    let (files, session) = long(&disk);
    let folder = files.folder(&session);
    let segments = segment::list(&disk, &folder).unwrap();
    assert!(segments.len() > 2, "{segments:?}");
    let all: Vec<u64> = (1..=1000).rev().step_by(7).collect();
    let check = |what: &str| {
        let events = files.read_events(&session, &all).unwrap();
        let seqs: Vec<_> = events.iter().map(|event| event.seq).collect();
        assert_eq!(seqs, all, "{what}");
    };
    for segment in &segments {
        let marks = load(&disk, segment).unwrap();
        assert!(segment.first > 900 || marks.len() > 8, "{}: {}", segment.first, marks.len());
    }
    check("as written");
    for segment in &segments {
        disk.remove(&path(segment)).unwrap();
    }
    check("deleted");
    for segment in &segments {
        let closed = segment != segments.last().unwrap();
        assert_eq!(
            load(&disk, segment).is_some(),
            closed,
            "the marks of closed segments are rebuilt"
        );
        let wrong = [
            Mark { seq: segment.first + 1, offset: 17 },
            Mark { seq: segment.first + 9, offset: 1_000 },
        ];
        save(&disk, segment, &wrong).unwrap();
    }
    check("wrong");
    for segment in &segments {
        save(&disk, segment, &[Mark { seq: segment.first + 1, offset: u64::MAX / 2 }]).unwrap();
    }
    check("beyond the end");
}

#[test]
fn a_writer_that_continues_a_segment_keeps_its_marks() {
    let disk = SimDisk::new();
    let (files, session) = long(&disk);
    let last = segment::list(&disk, &files.folder(&session)).unwrap().pop().unwrap();
    let before = load(&disk, &last).unwrap();
    for deleted in [false, true] {
        if deleted {
            disk.remove(&path(&last)).unwrap();
        }
        drop(files.open(&session).unwrap());
        assert_eq!(load(&disk, &last).unwrap(), before, "deleted: {deleted}");
    }
    let mut writer = files.open(&session).unwrap();
    for seq in 1001..=1060 {
        writer.append(&[event(seq)], Durability::Written).unwrap();
    }
    let after = load(&disk, &last).unwrap();
    assert!(after.len() > before.len());
    assert_eq!(after[..before.len()], before);
}
