//! The cost of a fork, and which files it shares.

use robota_core::event::{Durability, FORMAT, Parent, SessionCreated};

use super::*;
use crate::file::segment;

fn parent(disk: &SimDisk, last: u64) -> Arc<Files> {
    let files = files(disk);
    let mut writer = files.create(&id("parent")).unwrap();
    for seq in 1..=last {
        writer.append(&[event(seq)], Durability::Synced).unwrap();
    }
    files
}

#[test]
fn kode_04_closed_segments_are_shared_and_the_tail_is_copied() {
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
