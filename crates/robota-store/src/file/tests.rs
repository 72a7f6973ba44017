//! Tests that involve several parts of the file store.

mod foreign;
mod forks;
mod power;

use std::sync::Arc;

use robota_core::event::{Durability, Envelope, Event, Renamed};
use robota_core::ids::SessionId;
use robota_core::journal::JournalError;

use super::{FileStore, Files};
use crate::sim::SimDisk;

fn envelope(epoch: u32, seq: u64, event: impl Into<Event>) -> Arc<Envelope> {
    let ts = jiff::Timestamp::UNIX_EPOCH;
    Arc::new(Envelope { seq, epoch, ts, turn: None, event: event.into(), min_reader: None })
}

fn event(seq: u64) -> Arc<Envelope> {
    envelope(1, seq, Renamed { name: format!("name {seq}") })
}

fn id(text: &str) -> SessionId {
    SessionId::from(text)
}

fn files(disk: &SimDisk) -> Arc<Files> {
    FileStore::new("/home/sessions").with_segment_bytes(400).with_disk(Arc::new(disk.clone())).files
}

fn read(files: &Files, session: &SessionId) -> Vec<Envelope> {
    files.read(session, 0, usize::MAX, true).unwrap()
}

#[test]
fn a_session_that_is_deleted_while_it_is_read_does_not_exist() {
    let disk = SimDisk::new();
    let (files, session) = (files(&disk), id("s"));
    files.create(&session).unwrap().append(&[event(1)], Durability::Synced).unwrap();
    let error = files.reading(&session, |files, session| {
        let segments = files.segments(session)?;
        assert!(files.delete(session)?);
        files.find_events(session, &segments, &[1])
    });
    assert_eq!(error, Err(JournalError::NotFound(session)));
}
