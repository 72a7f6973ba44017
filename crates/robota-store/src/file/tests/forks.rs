//! The cost of a fork, and which files it shares.

use robota_core::event::{Durability, FORMAT, Parent, SessionCreated};

use super::*;
use crate::file::segment;
use crate::file::writer::Writer;

fn parent(disk: &SimDisk, last: u64) -> Arc<Files> {
    let files = files(disk);
    let mut writer = files.create(&id("parent")).unwrap();
    for seq in 1..=last {
        writer.append(&[event(seq)], Durability::Synced).unwrap();
    }
    files
}

#[test]
fn kode_04_a_fork_shares_the_segments_of_its_parent() {
    let disk = SimDisk::new();
    let files = parent(&disk, 40);
    let segments = segment::list(&disk, &files.folder(&id("parent"))).unwrap();
    assert!(segments.len() > 5);
    let before = disk.contents();
    let mut fork =
        files.fork(&id("parent"), event(38).cursor(), &id("child"), &[event(39)]).unwrap();
    // All segments before the one with the point, each with its two index files; the first has no
    // head.
    let shared = segments.iter().filter(|segment| segment.first < 38).count() - 1;
    assert!(disk.shared_files() >= shared, "{} of {shared}", disk.shared_files());
    fork.append(&[event(40)], Durability::Synced).unwrap();
    fork.append(&[event(41)], Durability::Synced).unwrap();
    for (path, bytes) in before {
        assert_eq!(disk.contents().get(&path), Some(&bytes), "{}", path.display());
    }
    assert_eq!(read(&files, &id("child")).len(), 41);
}

/// One long segment, of which the last events are only written, and not synced.
fn unsynced_tail(disk: &SimDisk, synced: u64, last: u64) -> (Arc<Files>, Writer) {
    let files = FileStore::new("/home/sessions").with_disk(Arc::new(disk.clone())).files;
    let mut writer = files.create(&id("parent")).unwrap();
    for seq in 1..=last {
        let durability = if seq <= synced { Durability::Synced } else { Durability::Written };
        writer.append(&[event(seq)], durability).unwrap();
    }
    (files, writer)
}

/// Returns the segments of a session, with how many lines their files have.
fn lines(disk: &SimDisk, files: &Files, session: &SessionId) -> Vec<(String, usize)> {
    let contents = disk.contents();
    let segments = segment::list(disk, &files.folder(session)).unwrap();
    let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    let name = |path: &std::path::Path| path.file_name().unwrap().to_string_lossy().into_owned();
    segments.iter().map(|it| (name(&it.path), lines(&contents[&it.path]))).collect()
}

#[test]
fn kode_04_of_an_open_segment_only_what_is_not_synced_is_copied() {
    let disk = SimDisk::new();
    let (files, mut writer) = unsynced_tail(&disk, 30, 40);
    let forks = [25_u64, 30, 31, 40].map(|at| (at, id(&format!("child-{at}"))));
    for (at, child) in &forks {
        let first = envelope(2, at + 1, Renamed { name: "child".to_owned() });
        drop(files.fork(&id("parent"), event(*at).cursor(), child, &[first]).unwrap());
    }
    let expected = [
        [("1-26.jsonl", 40), ("26.jsonl", 1)],
        [("1-31.jsonl", 40), ("31.jsonl", 1)],
        [("1-31.jsonl", 40), ("31.jsonl", 2)],
        [("1-31.jsonl", 40), ("31.jsonl", 11)],
    ];
    for ((_, child), expected) in forks.iter().zip(expected) {
        let expected = expected.map(|(name, lines)| (name.to_owned(), lines));
        assert_eq!(lines(&disk, &files, child), expected, "{child}");
    }
    // An append of the parent that fails is undone, and the next one repairs what could not be.
    disk.faults(|faults| faults.room = Some(10));
    writer.append(&[event(41)], Durability::Written).unwrap_err();
    disk.faults(|faults| faults.truncate_fails = true);
    writer.append(&[event(41)], Durability::Written).unwrap_err();
    disk.faults(|faults| (faults.room, faults.truncate_fails) = (None, false));
    drop(writer);
    let mut writer = files.open(&id("parent")).unwrap();
    writer.append(&[event(41)], Durability::Synced).unwrap();
    assert_eq!(read(&files, &id("parent")).len(), 41);
    drop(writer);
    // The parent grows and goes, and so do the forks' caches: the forks stay as they are.
    for round in 0..3 {
        for (at, child) in &forks {
            let events = read(&files, child);
            let shared: Vec<_> = (1..=*at).map(|seq| (*event(seq)).clone()).collect();
            assert_eq!(&events[..events.len() - 1], shared, "{child}, {round}");
            assert_eq!(events.last().unwrap().cursor(), files.head(child).unwrap().last);
            let seqs: Vec<u64> = (1..=at + 1).collect();
            assert_eq!(files.read_events(child, &seqs).unwrap(), events);
            let grandchild = id(&format!("{child}-{round}"));
            for from in events.iter().rev().take(3) {
                let first = envelope(9, from.seq + 1, Renamed { name: "x".to_owned() });
                let first = std::slice::from_ref(&first);
                drop(files.fork(child, from.cursor(), &grandchild, first).unwrap());
                assert_eq!(read(&files, &grandchild).last(), Some(&*first[0]));
                assert!(files.delete(&grandchild).unwrap());
            }
        }
        drop(files.open(&forks[round].1).unwrap());
        if round == 0 {
            assert!(files.delete(&id("parent")).unwrap());
        }
        for path in disk.contents().into_keys() {
            let name = path.to_string_lossy();
            if round == 1 && [".head", ".idx", "head.json"].iter().any(|end| name.ends_with(end)) {
                crate::disk::Disk::remove(&disk, &path).unwrap();
            }
        }
    }
}

#[test]
fn kode_04_a_fork_of_a_long_session_writes_as_much_as_one_of_a_short_session() {
    let cost = |events: u64, back: u64| {
        let disk = SimDisk::new();
        let (files, _writer) = unsynced_tail(&disk, events - 5, events);
        let (before, at) = (disk.operations(), events - back);
        let first = [event(at + 1)];
        drop(files.fork(&id("parent"), event(at).cursor(), &id("child"), &first).unwrap());
        let (_, own) = lines(&disk, &files, &id("child")).pop().unwrap();
        (disk.operations() - before, own)
    };
    for back in [0, 3, 10, 40] {
        assert_eq!(cost(5_000, back), cost(500, back), "{back} events before the end");
    }
}

#[test]
fn kode_04_a_fork_at_any_event_is_right() {
    let disk = SimDisk::new();
    let files = parent(&disk, 20);
    for at in 1..=20 {
        let child = id(&format!("child-{at}"));
        let first = envelope(2, at + 1, Renamed { name: "child".to_owned() });
        drop(files.fork(&id("parent"), event(at).cursor(), &child, &[first]).unwrap());
        let events = read(&files, &child);
        assert_eq!(events.len() as u64, at + 1);
        assert_eq!(events.last().unwrap().epoch, 2);
        // It can be opened and appended to, and its parent does not change.
        let mut writer = files.open(&child).unwrap();
        writer
            .append(&[envelope(3, at + 2, Renamed { name: "x".to_owned() })], Durability::Synced)
            .unwrap();
        assert_eq!(read(&files, &child).len() as u64, at + 2);
        assert_eq!(read(&files, &id("parent")).len(), 20);
    }
}

#[test]
fn kode_04_a_fork_in_a_closed_segment_copies_no_event() {
    let disk = SimDisk::new();
    let files = parent(&disk, 40);
    let segments = segment::list(&disk, &files.folder(&id("parent"))).unwrap();
    // In the middle of a segment.
    let at = segments[3].first;
    assert!(segments[4].first > at + 1);
    drop(files.fork(&id("parent"), event(at).cursor(), &id("child"), &[event(at + 1)]).unwrap());
    let of_child = segment::list(&disk, &files.folder(&id("child"))).unwrap();
    let contents = disk.contents();
    for (own, parents) in of_child.iter().zip(&segments[..4]) {
        assert_eq!(contents[&own.path], contents[&parents.path]);
    }
    let lines = |path| contents[path].iter().filter(|byte| **byte == b'\n').count();
    assert_eq!((of_child.len(), lines(&of_child[4].path)), (5, 1));

    // Which lines of which files are its events.
    let store = FileStore { files: Arc::clone(&files) };
    let mut events = Vec::new();
    for (file, shared) in store.journal_files(&id("child")).unwrap() {
        let lines = contents[&file].split_inclusive(|byte| *byte == b'\n');
        let shared = shared.map_or(usize::MAX, |lines| usize::try_from(lines).unwrap());
        events.extend(lines.take(shared).map(|line| Envelope::decode(line).unwrap()));
    }
    assert_eq!(events, read(&files, &id("child")));

    // A fork of the fork, at a point that it shares and at one of its own.
    let grandchildren = [at - 1, at, at + 1].map(|at| {
        let name = id(&format!("grandchild-{at}"));
        let first = [envelope(2, at + 1, Renamed { name: "x".to_owned() })];
        drop(files.fork(&id("child"), event(at).cursor(), &name, &first).unwrap());
        (name, at)
    });
    assert!(files.delete(&id("parent")).unwrap());
    assert_eq!(
        read(&files, &id("child")),
        (1..=at + 1).map(|n| (*event(n)).clone()).collect::<Vec<_>>()
    );
    for (name, at) in grandchildren {
        let mut writer = files.open(&name).unwrap();
        let next = [envelope(3, at + 2, Renamed { name: "y".to_owned() })];
        writer.append(&next, Durability::Synced).unwrap();
        let events = read(&files, &name);
        assert_eq!(events.len() as u64, at + 2);
        assert_eq!(files.head(&name).unwrap().last, next[0].cursor());
        let seqs: Vec<u64> = (1..=at + 2).collect();
        assert_eq!(files.read_events(&name, &seqs).unwrap(), events);
    }
}

#[test]
fn a_fork_that_lost_its_own_events_does_not_change_its_parent() {
    let disk = SimDisk::new();
    let files = parent(&disk, 40);
    let at = segment::list(&disk, &files.folder(&id("parent"))).unwrap()[3].first;
    drop(files.fork(&id("parent"), event(at).cursor(), &id("child"), &[event(at + 1)]).unwrap());
    let own = segment::list(&disk, &files.folder(&id("child"))).unwrap().pop().unwrap();
    assert_eq!(own.first, at + 1);
    crate::disk::Disk::remove(&disk, &own.path).unwrap();
    let mut writer = files.open(&id("child")).unwrap();
    assert_eq!(writer.head().unwrap().last.seq, at);
    writer
        .append(&[envelope(2, at + 1, Renamed { name: "x".to_owned() })], Durability::Synced)
        .unwrap();
    assert_eq!(read(&files, &id("child")).len() as u64, at + 1);
    assert_eq!(
        read(&files, &id("parent")),
        (1..=40).map(|n| (*event(n)).clone()).collect::<Vec<_>>()
    );
}

#[test]
fn kode_04_without_links_a_fork_is_a_copy() {
    let disk = SimDisk::new();
    let files = parent(&disk, 40);
    disk.faults(|faults| faults.no_links = true);
    drop(files.fork(&id("parent"), event(38).cursor(), &id("child"), &[event(39)]).unwrap());
    assert_eq!(disk.shared_files(), 0);
    assert_eq!(read(&files, &id("child")).len(), 39);
}

#[test]
fn kode_04_a_head_without_its_index_is_the_same() {
    let disk = SimDisk::new();
    let files = parent(&disk, 40);
    let at = event(38).cursor();
    // As a session writes it: the first event of a fork names its parent.
    let created = SessionCreated {
        session: id("child"),
        format: FORMAT,
        cwd: None,
        parent: Some(Parent { session: id("parent"), at }),
        spawned_by: None,
    };
    drop(files.fork(&id("parent"), at, &id("child"), &[envelope(2, 39, created)]).unwrap());
    let sessions = [id("parent"), id("child")];
    let before: Vec<_> = sessions.iter().map(|session| files.head(session).unwrap()).collect();
    let listed = files.list(&Default::default()).unwrap();
    let indexes = |end: &str| -> Vec<_> {
        disk.contents().into_keys().filter(|path| path.to_string_lossy().ends_with(end)).collect()
    };
    for end in ["head.json", ".head", ".idx"] {
        let gone = indexes(end);
        assert!(!gone.is_empty(), "{end}");
        for path in gone {
            crate::disk::Disk::remove(&disk, &path).unwrap();
        }
        let after: Vec<_> = sessions.iter().map(|session| files.head(session).unwrap()).collect();
        assert_eq!(after, before, "without {end}");
        assert_eq!(files.list(&Default::default()).unwrap(), listed, "without {end}");
        sessions.iter().for_each(|session| drop(files.open(session).unwrap()));
    }
}
