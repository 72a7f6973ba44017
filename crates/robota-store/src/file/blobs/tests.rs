use std::sync::Arc;

use robota_core::event::{Durability, Envelope, Renamed};
use robota_core::journal::JournalError;
use robota_core::message::BlobRef;

use super::super::FileStore;
use super::*;
use crate::disk::Disk as _;
use crate::sim::{Moment, SimDisk};

fn begun(disk: &SimDisk, name: &str) -> (Arc<Files>, SessionId) {
    let files = FileStore::new("/s").with_disk(Arc::new(disk.clone())).files;
    let session = SessionId::from(name);
    let event = Envelope {
        seq: 1,
        epoch: 1,
        ts: jiff::Timestamp::UNIX_EPOCH,
        turn: None,
        event: Renamed { name: "x".to_owned() }.into(),
        min_reader: None,
    };
    let mut writer = files.create(&session).unwrap();
    writer.append(&[Arc::new(event)], Durability::Synced).unwrap();
    (files, session)
}

#[test]
fn a_blob_that_was_acknowledged_survives_every_crash() {
    let disk = SimDisk::new();
    let (files, session) = begun(&disk, "s");
    disk.record();
    let one = files.put(&session, b"first", &mut KnownRefs::default()).unwrap();
    let first = disk.now();
    let two = files.put(&session, b"second, on another shelf", &mut KnownRefs::default()).unwrap();
    let second = disk.now();
    for moment in 0..disk.moments() {
        let moment = Moment(moment);
        for crash in disk.crashes(moment) {
            let files = FileStore::new("/s").with_disk(Arc::new(crash.disk)).files;
            for (blob, since) in [(&one, first), (&two, second)] {
                let got = files.get(blob);
                if moment >= since {
                    assert!(matches!(got, Ok(Some(_))), "{moment:?} {}: {got:?}", crash.fate);
                    // Its reference survived too.
                    files.sweep(&files.all_blobs().unwrap()).unwrap();
                    assert!(files.get(blob).unwrap().is_some(), "{}", crash.fate);
                } else {
                    assert!(!matches!(got, Ok(Some(bytes)) if BlobRef::of(&bytes) != *blob));
                }
            }
        }
    }
}

#[test]
fn a_blob_that_was_changed_is_damage() {
    let disk = SimDisk::new();
    let (files, session) = begun(&disk, "s");
    let blob = files.put(&session, b"content", &mut KnownRefs::default()).unwrap();
    let path = files.blob_path(&blob.sha256);
    disk.remove(&path).unwrap();
    disk.open_append(&path, CreateMode::Always).unwrap().write(b"another").unwrap();
    let error = files.get(&blob).unwrap_err();
    assert!(matches!(error, JournalError::Damaged { .. }), "{error}");
}

#[test]
fn blobs_left_by_a_crash_are_swept() {
    let disk = SimDisk::new();
    let (files, session) = begun(&disk, "s");
    let blob = files.put(&session, b"content", &mut KnownRefs::default()).unwrap();
    disk.remove(&files.folder(&session).join("refs")).unwrap();
    assert_eq!(files.sweep(&files.all_blobs().unwrap()).unwrap(), 1);
    assert_eq!(files.get(&blob).unwrap(), None);
}

#[test]
fn a_full_disk_keeps_no_half_blob() {
    let disk = SimDisk::new();
    let (files, session) = begun(&disk, "s");
    for room in [0, 70, 75, 99] {
        disk.faults(|faults| faults.room = Some(room));
        let error = files.put(&session, &[b'x'; 100], &mut KnownRefs::default()).unwrap_err();
        assert!(error.to_string().contains("no space left"), "{error}");
        let blob = BlobRef::of(&[b'x'; 100]);
        assert_eq!(files.get(&blob).unwrap(), None, "{room}");
    }
    disk.faults(|faults| faults.room = None);
    files.put(&session, &[b'x'; 100], &mut KnownRefs::default()).unwrap();
}

#[test]
fn references_are_read_once_and_written_once() {
    let disk = SimDisk::new();
    let (files, session) = begun(&disk, "s");
    let mut known = KnownRefs::default();
    let put =
        |known: &mut KnownRefs, text: &str| files.put(&session, text.as_bytes(), known).unwrap();
    let blob = put(&mut known, "one");
    put(&mut known, "one");
    // Another process stores one.
    put(&mut KnownRefs::default(), "two");
    put(&mut known, "two");
    let path = files.folder(&session).join("refs");
    let len = files.file_len(&path).unwrap();
    assert_eq!(files.refs(&files.folder(&session)).unwrap().len(), 2);
    assert_eq!((known.len, known.hashes.len()), (len, 2), "each is known once, and all were read");
    // A new session with the same id has no references.
    files.delete(&session).unwrap();
    begun(&disk, "s");
    put(&mut known, "one");
    assert_eq!(files.refs(&files.folder(&session)).unwrap(), [blob.sha256].into());
}

/// A session can have thousands of blobs: storing one more reads only what was added since the last
/// one.
#[test]
fn references_that_were_read_are_not_read_again() {
    let disk = SimDisk::new();
    let (files, session) = begun(&disk, "s");
    let mut known = KnownRefs::default();
    for text in ["one", "two"] {
        files.put(&session, text.as_bytes(), &mut known).unwrap();
    }
    // As if all references so far were read, with nothing remembered of them.
    let (file, len) = (known.file, files.file_len(&files.folder(&session).join("refs")).unwrap());
    let mut known = KnownRefs { file, len, hashes: HashSet::new() };
    let blob = files.put(&session, b"three", &mut known).unwrap();
    files.put(&session, b"three", &mut known).unwrap();
    assert_eq!(known.hashes, HashSet::from([blob.sha256]));
}

/// Another process has stored the same blob and not yet synced its name: who stores it again must not
/// rely on it.
#[test]
fn a_blob_that_another_process_is_storing_survives_every_crash() {
    let disk = SimDisk::new();
    let (files, session) = begun(&disk, "s");
    let blob = BlobRef::of(b"content");
    let path = files.blob_path(&blob.sha256);
    drop(files.blob_lock().unwrap());
    disk.make_folder(path.parent().unwrap()).unwrap();
    super::super::replace::replace(&disk, &path, b"content", files.sync_mode()).unwrap();
    disk.record();
    files.put(&session, b"content", &mut KnownRefs::default()).unwrap();
    for crash in disk.crashes(disk.now()) {
        let files = FileStore::new("/s").with_disk(Arc::new(crash.disk)).files;
        assert!(files.get(&blob).unwrap().is_some(), "{}", crash.fate);
    }
}

/// Several sessions, and several processes, may store the same bytes at the same time.
#[test]
fn equal_blobs_that_are_stored_at_the_same_time_are_all_stored() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("s");
    for round in 0..20_u8 {
        let bytes = vec![round; 100_000];
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let (root, bytes, start) = (&root, &bytes, &start);
                scope.spawn(move || {
                    let files = FileStore::new(root).files;
                    let session = SessionId::from(format!("s{writer}").as_str());
                    start.wait();
                    let blob = files.put(&session, bytes, &mut KnownRefs::default()).unwrap();
                    assert_eq!(files.get(&blob).unwrap().as_deref(), Some(&bytes[..]));
                });
            }
        });
    }
    let files = FileStore::new(&root).files;
    assert_eq!(leftovers(&files), Vec::<String>::new());
}

fn leftovers(files: &Files) -> Vec<String> {
    let blobs = files.root.join("blobs");
    let shelves = files.disk.names(&blobs).unwrap().into_iter().filter(|name| name.len() == 2);
    let names = shelves.flat_map(|shelf| files.disk.names(&blobs.join(shelf)).unwrap());
    names.filter(|name| !is_hash(name)).collect()
}

/// A writer that crashed before its rename leaves a file. It does not disturb the next one.
#[test]
fn leftovers_of_crashed_writers_are_swept() {
    let disk = SimDisk::new();
    let (files, session) = begun(&disk, "s");
    disk.record();
    let kept = files.put(&session, b"content", &mut KnownRefs::default()).unwrap();
    let mut seen = 0;
    for moment in 0..disk.moments() {
        for crash in disk.crashes(Moment(moment)) {
            let files = FileStore::new("/s").with_disk(Arc::new(crash.disk)).files;
            if !files.disk.is_folder(&files.root.join("blobs")) || leftovers(&files).is_empty() {
                continue;
            }
            seen += 1;
            files.put(&session, b"content", &mut KnownRefs::default()).unwrap();
            files.sweep(&files.all_blobs().unwrap()).unwrap();
            assert_eq!(leftovers(&files), Vec::<String>::new(), "{}", crash.fate);
            assert!(files.get(&kept).unwrap().is_some(), "{}", crash.fate);
        }
    }
    assert!(seen > 0, "no crash left a file");
    // The blob of a deleted session, of which only the leftover exists.
    let gone = BlobRef::of(b"gone");
    let path = files.blob_path(&gone.sha256);
    disk.make_folder(path.parent().unwrap()).unwrap();
    let left = path.with_file_name(format!("{}.1-1.new", gone.sha256));
    disk.open_append(&left, CreateMode::Always).unwrap().write(b"go").unwrap();
    files.sweep(&BTreeSet::from([gone.sha256])).unwrap();
    assert_eq!(leftovers(&files), Vec::<String>::new());
}
