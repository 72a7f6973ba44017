use std::io::Error;
use std::path::Path;
use std::sync::{Arc, Mutex};

use robota_core::event::Renamed;
use robota_core::ids::SessionId;

use super::*;

/// A disk that fails when told to.
#[derive(Default)]
struct Disk {
    bytes: Vec<u8>,
    /// How many more bytes fit.
    room: Option<usize>,
    fail_sync: bool,
    fail_truncate: bool,
    syncs: usize,
}

#[derive(Clone, Default)]
struct Faulty(Arc<Mutex<Disk>>);

impl Tail for Faulty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        let fits = disk.room.unwrap_or(usize::MAX).min(bytes.len());
        disk.bytes.extend_from_slice(&bytes[..fits]);
        if fits < bytes.len() { Err(Error::other("no space left")) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        disk.syncs += 1;
        if disk.fail_sync { Err(Error::other("input/output error")) } else { Ok(()) }
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        if disk.fail_truncate {
            return Err(Error::other("read-only file system"));
        }
        disk.bytes.truncate(usize::try_from(len).unwrap());
        Ok(())
    }
}

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

fn writer(folder: &Path, disk: &Faulty) -> Writer {
    let lock = WriterLock::take(folder, &SessionId::from("s")).unwrap();
    Writer::new(folder.to_path_buf(), lock, Vec::new()).at(
        folder.join("1.jsonl"),
        Box::new(disk.clone()),
        0,
        1,
    )
}

#[test]
fn a_short_write_leaves_nothing_behind_and_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Faulty::default();
    let mut writer = writer(folder.path(), &disk);
    writer.append(&[event(1)], Durability::Written).unwrap();
    let before = disk.0.lock().unwrap().bytes.clone();

    for room in [0, 1, 40, before.len() + 5] {
        disk.0.lock().unwrap().room = Some(room);
        let error = writer.append(&[event(2), event(3)], Durability::Synced).unwrap_err();
        assert!(error.to_string().contains("no space left"), "{error}");
        assert_eq!(disk.0.lock().unwrap().bytes, before);
    }

    disk.0.lock().unwrap().room = None;
    writer.append(&[event(2), event(3)], Durability::Written).unwrap();
    assert_eq!(disk.0.lock().unwrap().bytes.iter().filter(|b| **b == b'\n').count(), 3);
}

#[test]
fn what_cannot_be_undone_ends_the_writer() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Faulty::default();
    let mut writer = writer(folder.path(), &disk);
    {
        let mut disk = disk.0.lock().unwrap();
        disk.room = Some(10);
        disk.fail_truncate = true;
    }
    writer.append(&[event(1)], Durability::Written).unwrap_err();
    *disk.0.lock().unwrap() = Disk::default();
    let error = writer.append(&[event(1)], Durability::Written).unwrap_err().to_string();
    assert!(error.contains("could not be undone") && error.contains("opened again"), "{error}");
    assert!(disk.0.lock().unwrap().bytes.is_empty());
}

#[test]
fn a_failed_sync_is_rolled_back_and_ends_the_writer() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Faulty::default();
    let mut writer = writer(folder.path(), &disk);
    disk.0.lock().unwrap().fail_sync = true;
    writer.append(&[event(1)], Durability::Synced).unwrap_err();
    assert!(disk.0.lock().unwrap().bytes.is_empty());
    disk.0.lock().unwrap().fail_sync = false;
    let error = writer.append(&[event(1)], Durability::Written).unwrap_err().to_string();
    assert!(error.contains("sync failed"), "{error}");
}

#[test]
fn written_does_not_sync_and_synced_does() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Faulty::default();
    let mut writer = writer(folder.path(), &disk);
    writer.append(&[event(1)], Durability::Written).unwrap();
    assert_eq!(disk.0.lock().unwrap().syncs, 0);
    writer.append(&[event(2)], Durability::Synced).unwrap();
    assert_eq!(disk.0.lock().unwrap().syncs, 1);
    // Nothing new, but what was only written before must be safe now.
    writer.append(&[], Durability::Synced).unwrap();
    assert_eq!(disk.0.lock().unwrap().syncs, 2);
}

#[test]
fn events_out_of_order_are_refused_whole() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Faulty::default();
    let mut writer = writer(folder.path(), &disk);
    for wrong in [vec![event(2)], vec![event(1), event(3)], vec![event(1), event(1)]] {
        writer.append(&wrong, Durability::Written).unwrap_err();
        assert!(disk.0.lock().unwrap().bytes.is_empty());
    }
    writer.append(&[event(1), event(2)], Durability::Written).unwrap();
}

#[test]
fn the_last_number_of_all_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let lock = WriterLock::take(folder.path(), &SessionId::from("s")).unwrap();
    let mut writer = Writer::new(folder.path().to_path_buf(), lock, Vec::new());
    writer.append(&[event(u64::MAX)], Durability::Written).unwrap_err();
}
