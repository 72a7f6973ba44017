use std::sync::{Arc, Mutex};

use robota_core::event::{Durability, Envelope, Renamed};
use robota_core::ids::SessionId;

use super::super::FileStore;
use super::super::writer::Writer;
use super::{LIMIT, OpenFiles};
use crate::sim::SimDisk;

/// Returns the writer of a new session whose file is open, because nothing in it is synced.
fn open_writer(store: &FileStore, number: usize) -> Arc<Mutex<Writer>> {
    let session = SessionId::from(format!("s{number}"));
    let mut writer = store.files.create(&session).unwrap();
    let event = Renamed { name: "name".to_owned() }.into();
    let ts = jiff::Timestamp::UNIX_EPOCH;
    let first = Arc::new(Envelope { seq: 1, epoch: 1, ts, turn: None, event, min_reader: None });
    writer.append(&[first], Durability::Written).unwrap();
    assert!(writer.has_open_file());
    Arc::new(Mutex::new(writer))
}

#[test]
fn a_writer_that_was_in_use_is_closed_later() {
    let store = FileStore::new("/sessions").with_disk(Arc::new(SimDisk::new()));
    let files = OpenFiles::default();
    let writers: Vec<_> = (0..2 * LIMIT + 1).map(|number| open_writer(&store, number)).collect();
    for writer in &writers[..LIMIT] {
        files.note(writer, true);
    }
    let in_use = writers[0].lock().unwrap();
    files.note(&writers[LIMIT], true);
    drop(in_use);
    assert!(writers[0].lock().unwrap().has_open_file(), "it could not be closed");
    for writer in &writers[LIMIT + 1..] {
        files.note(writer, true);
    }
    let open = writers.iter().filter(|writer| writer.lock().unwrap().has_open_file()).count();
    assert_eq!((open, writers[0].lock().unwrap().has_open_file()), (LIMIT + 1, true));
    // The next one closes it: it is the one that was noted least recently.
    let last = open_writer(&store, writers.len());
    files.note(&last, true);
    assert!(!writers[0].lock().unwrap().has_open_file());
}
