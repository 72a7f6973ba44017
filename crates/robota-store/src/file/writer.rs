//! Appending. All of it is blocking; [`super::store`] calls it off the async threads.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use robota_core::event::{Durability, Envelope};
use robota_core::journal::JournalError;

use super::disk::{self, Tail};
use super::lock::WriterLock;
use super::segment::Segment;

/// A segment is closed once it is this long.
pub(super) const SEGMENT_BYTES: u64 = 4 * 1024 * 1024;

/// The segment that grows.
struct Open {
    path: PathBuf,
    tail: Box<dyn Tail>,
    len: u64,
}

/// The one writer of a session.
pub(super) struct Writer {
    folder: PathBuf,
    _lock: WriterLock,
    open: Option<Open>,
    /// The number that the next event must have; any when there is none yet.
    next: Option<u64>,
    /// Folders that got a name which may not survive the loss of power yet.
    unsynced: Vec<PathBuf>,
    /// Why nothing more may be written: what is on disk is not known for certain.
    broken: Option<String>,
    segment_bytes: u64,
}

impl Writer {
    /// A writer of a session without events.
    pub(super) fn new(folder: PathBuf, lock: WriterLock, unsynced: Vec<PathBuf>) -> Self {
        Self {
            folder,
            _lock: lock,
            open: None,
            next: None,
            unsynced,
            broken: None,
            segment_bytes: SEGMENT_BYTES,
        }
    }

    /// The same writer with segments of another size.
    pub(super) fn with_segments(mut self, bytes: u64) -> Self {
        self.segment_bytes = bytes;
        self
    }

    /// The same writer, going on at the end of a segment.
    pub(super) fn at(mut self, path: PathBuf, tail: Box<dyn Tail>, len: u64, next: u64) -> Self {
        self.open = Some(Open { path, tail, len });
        self.next = Some(next);
        self
    }

    /// Appends events, all or none, and returns when they are as safe as asked.
    pub(super) fn append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError> {
        if let Some(reason) = &self.broken {
            return Err(self.refuse(reason.clone()));
        }
        let next = self.check_order(events)?;
        let mut lines = Vec::new();
        for event in events {
            event.encode(&mut lines).map_err(|error| {
                self.refuse(format!("event {} cannot be written: {error}", event.seq))
            })?;
        }
        if let Some(first) = events.first() {
            self.roll(first.seq)?;
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        let before = open.len;
        if let Err(error) = open.tail.write(&lines) {
            let undone = open.tail.truncate(before);
            return Err(self.failed("write", &error, undone));
        }
        if durability == Durability::Synced
            && let Err(error) = sync(open, &mut self.unsynced)
        {
            let undone = open.tail.truncate(before);
            let failure = self.failed("sync", &error, undone);
            // A disk that failed to sync forgets what it failed to keep: events that were
            // only written may be gone as well. Opening again finds out what is there.
            self.broken.get_or_insert_with(|| {
                format!("an earlier sync failed ({error}); the session must be opened again")
            });
            return Err(failure);
        }
        open.len += lines.len() as u64;
        self.next = next.or(self.next);
        Ok(())
    }

    /// The events follow on each other and on what is there. Returns the number after them.
    fn check_order(&self, events: &[Arc<Envelope>]) -> Result<Option<u64>, JournalError> {
        let mut due = self.next;
        for event in events {
            if let Some(due) = due.filter(|due| *due != event.seq) {
                return Err(
                    self.refuse(format!("event {} cannot stand where {due} is due", event.seq))
                );
            }
            let after = event.seq.checked_add(1);
            due =
                Some(after.ok_or_else(|| {
                    self.refuse(format!("no event can follow number {}", event.seq))
                })?);
        }
        Ok(due)
    }

    /// Makes sure there is a segment with room, beginning a new one when need be.
    fn roll(&mut self, first: u64) -> Result<(), JournalError> {
        match &mut self.open {
            Some(open) if open.len < self.segment_bytes => return Ok(()),
            Some(open) => {
                // A closed segment is never repaired, so it must be whole on disk before
                // another can follow it.
                if let Err(error) = sync(open, &mut self.unsynced) {
                    let reason = format!("an earlier sync failed ({error})");
                    self.broken = Some(format!("{reason}; the session must be opened again"));
                    return Err(self.refuse(reason));
                }
            }
            None => {}
        }
        let segment = Segment::starting(&self.folder, first);
        let fail = |action, error: &io::Error| {
            JournalError::io(action, segment.path.display().to_string(), error)
        };
        let file =
            disk::open_append(&segment.path, true).map_err(|error| fail("create", &error))?;
        let len = file.metadata().map_err(|error| fail("look at", &error))?.len();
        if len > 0 {
            return Err(self.refuse(format!("{} is already there", segment.path.display())));
        }
        self.unsynced.push(self.folder.clone());
        // The segment's name says which event it begins with, whether or not it gets written.
        self.next = Some(first);
        self.open = Some(Open { path: segment.path, tail: Box::new(file), len: 0 });
        Ok(())
    }

    /// An append that failed, and whether it left something behind.
    fn failed(
        &mut self,
        action: &'static str,
        error: &io::Error,
        undone: io::Result<()>,
    ) -> JournalError {
        let place =
            self.open.as_ref().map_or_else(|| self.folder.clone(), |open| open.path.clone());
        if let Err(undo) = undone {
            self.broken = Some(format!(
                "an earlier append failed ({error}) and could not be undone ({undo}); the \
                 session must be opened again"
            ));
        }
        JournalError::io(action, place.display().to_string(), error)
    }

    fn refuse(&self, reason: String) -> JournalError {
        JournalError::Io {
            action: "append to the journal in",
            place: self.folder.display().to_string(),
            reason,
        }
    }
}

/// The content first, then the names that lead to it.
fn sync(open: &mut Open, unsynced: &mut Vec<PathBuf>) -> io::Result<()> {
    open.tail.sync()?;
    while let Some(folder) = unsynced.last() {
        disk::sync_folder(folder)?;
        unsynced.pop();
    }
    Ok(())
}

#[cfg(test)]
mod tests;
