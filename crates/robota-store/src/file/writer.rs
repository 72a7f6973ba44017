//! Appends events. All of it blocks; [`super::journal_store`] runs it in blocking threads, except for
//! short writes without a sync.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use robota_core::event::{Durability, Envelope};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, Order, SessionHead, repeated};

use super::Files;
use super::identity::Identity;
use super::index::{self, HeadRecord, Index};
use super::marks::Marker;
use super::replace::SyncMode;
use super::segment::{Mark, Segment};
use crate::disk::{AppendFile, CreateMode, LockGuard};
use crate::failpoint::failpoint;

/// A segment is closed once it is this long. A fork links each segment of its parent, so there should be
/// few. After a crash without a usable index, the whole last segment is read, so it should be short.
pub(super) const SEGMENT_BYTES: u64 = 8 * 1024 * 1024;

/// The index is written after this many events even if nothing changed that a list shows: opening a
/// session starts there to search for the end.
const INDEX_EVERY: u64 = 256;

/// The approximate number of bytes between two head records: a fork folds at most that much.
const HEAD_RECORD_EVERY: u64 = 16 * 1024;

/// At most this many bytes are written by [`Writer::append_short`].
const SHORT_WRITE: usize = 64 * 1024;

/// Events as they are written.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    /// Where each line starts in `bytes`.
    starts: Vec<u64>,
}

impl Lines {
    /// Encodes all events: one that cannot be encoded must not leave the others on disk.
    fn of(events: &[Arc<Envelope>]) -> Result<Self, JournalError> {
        Self::up_to(usize::MAX, events).map(Option::unwrap_or_default)
    }

    /// Encodes all events; returns none, without encoding the rest, if they have more bytes.
    fn up_to(most: usize, events: &[Arc<Envelope>]) -> Result<Option<Self>, JournalError> {
        let (mut bytes, mut starts) = (Vec::new(), Vec::with_capacity(events.len()));
        for event in events {
            starts.push(bytes.len() as u64);
            event.encode(&mut bytes).map_err(|error| JournalError::unencodable(event, &error))?;
            if bytes.len() > most {
                return Ok(None);
            }
        }
        Ok(Some(Self { bytes, starts }))
    }
}

/// The segment that is appended to.
struct SegmentWriter {
    segment: Segment,
    /// The open file. It is closed once everything in it is synced, so that an idle session holds no
    /// descriptor for it, and stays open until then: the system reports a failed write to those
    /// that had the file open.
    tail: Option<Box<dyn AppendFile>>,
    len: u64,
    marker: Marker,
}

/// The writer of a session. There is at most one.
pub(super) struct Writer {
    files: Arc<Files>,
    session: SessionId,
    folder: PathBuf,
    _lock: LockGuard,
    /// The content of `session.json`; none until the first event.
    identity: Option<Identity>,
    head: Option<SessionHead>,
    open: Option<SegmentWriter>,
    /// Folders with new names that may not survive a power failure yet.
    unsynced: Vec<PathBuf>,
    /// Whether the content of `session.json` may not survive a power failure yet.
    unsynced_identity: bool,
    /// The head that is in the index on disk.
    indexed: Option<SessionHead>,
    /// The offset of the last event that this writer appended.
    last_start: Option<u64>,
    /// Whether the folder is not a session yet: a fork that is being created.
    hidden: bool,
    /// Why nothing more may be written: it is not certain what is on disk.
    broken: Option<String>,
}

/// The end of a segment, where a writer continues.
pub(super) struct OpenSegment {
    pub(super) segment: Segment,
    pub(super) tail: Box<dyn AppendFile>,
    pub(super) len: u64,
}

impl Writer {
    /// Creates a writer for a session without events.
    pub(super) fn new(
        files: Arc<Files>,
        session: SessionId,
        lock: LockGuard,
        unsynced: Vec<PathBuf>,
    ) -> Self {
        let folder = files.folder(&session);
        Self {
            files,
            session,
            folder,
            _lock: lock,
            identity: None,
            head: None,
            open: None,
            unsynced,
            unsynced_identity: false,
            indexed: None,
            last_start: None,
            hidden: false,
            broken: None,
        }
    }

    /// Sets the identity and head of an existing session.
    pub(super) fn of_session(mut self, identity: Identity, head: SessionHead) -> Self {
        self.identity = Some(identity);
        self.head = Some(head);
        self
    }

    /// Has the next sync include what a crashed writer may not have synced: the names of the session's
    /// files, and `session.json`.
    pub(super) fn with_unsynced_names(mut self) -> Self {
        // The last one is synced first.
        self.unsynced = vec![self.files.root.clone(), self.folder.clone()];
        self.unsynced_identity = true;
        self
    }

    /// Sets identity and head of a folder that [`Writer::publish`] makes a session later.
    pub(super) fn hidden(mut self, identity: Identity, head: SessionHead) -> Self {
        self.hidden = true;
        self.of_session(identity, head)
    }

    /// Makes the folder a session, once everything in it is synced.
    pub(super) fn publish(&mut self) -> Result<(), JournalError> {
        let Some(identity) = &self.identity else { return Ok(()) };
        self.files.write_identity(&self.folder, identity, self.files.sync_mode())?;
        self.unsynced.push(self.folder.clone());
        self.hidden = false;
        let synced = self.files.level != crate::DurabilityLevel::Relaxed;
        if synced {
            self.sync().map_err(|error| crate::io("sync", &self.folder, error))?;
        }
        // Without an index, reading the head would fold the segment that the fork copied.
        if let Some(start) = self.last_start {
            self.write_index(start, synced);
        }
        Ok(())
    }

    /// Continues at the end of a segment.
    pub(super) fn at_end_of(mut self, place: OpenSegment) -> Self {
        let OpenSegment { segment, tail, len } = place;
        let marker = Marker::resume(&*self.files.disk, &segment, len);
        self.open = Some(SegmentWriter { segment, tail: Some(tail), len, marker });
        self
    }

    /// Syncs and closes the open file; the next append opens it again. Called when too many files are
    /// open.
    pub(super) fn close_file(&mut self) {
        if self.open.as_ref().is_none_or(|open| open.tail.is_none()) {
            return;
        }
        let relaxed = self.files.level == crate::DurabilityLevel::Relaxed;
        match if relaxed { Ok(()) } else { self.sync() } {
            Ok(()) => self.drop_file(),
            Err(error) => self.broken = Some(sync_failed(&error)),
        }
    }

    fn drop_file(&mut self) {
        if let Some(open) = &mut self.open {
            open.tail = None;
        }
    }

    /// Returns the head; none until the first event.
    pub(super) fn head(&self) -> Option<SessionHead> {
        self.head.clone()
    }

    /// Returns whether the file of the segment is open.
    pub(super) fn has_open_file(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.tail.is_some())
    }

    /// Appends all of the events or none, and returns when they are as durable as requested.
    pub(super) fn append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError> {
        if let Some(reason) = &self.broken {
            return Err(self.refuse(reason.clone()));
        }
        let order = self.head.as_ref().map_or(Order::Empty, |head| Order::After(head.last));
        // An append whose answer was lost is repeated by the recorder with the same events.
        let skip = repeated(&self.session, order, events.iter().map(|event| &**event))?;
        self.check_repeated(order, &events[..skip])?;
        let events = &events[skip..];
        let lines = Lines::of(events)?;
        if let Some(first) = events.first() {
            self.ensure_segment(first.seq)?;
        }
        if events.is_empty() && !self.has_open_file() {
            // Everything is synced.
            return Ok(());
        }
        self.open_file()?;
        self.write(events, &lines, durability)
    }

    /// Appends like [`Writer::append`] if that needs no sync and replaces no file: if it only copies
    /// a few kilobytes, and sometimes a mark of 16 bytes, into the page cache. (At the level `relaxed`,
    /// which promises nothing about them, it may replace the index.) Otherwise, also for events that
    /// [`Writer::append`] refuses, does nothing and returns none.
    pub(super) fn append_short(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Option<Result<(), JournalError>> {
        let (head, open) = (self.head.as_ref()?, self.open.as_ref()?);
        let has_room = open.tail.is_some() && open.len < self.files.segment_bytes;
        let syncs = durability == Durability::Synced || self.files.level.waits(durability);
        let is_whole = self.identity.is_some() && self.broken.is_none();
        let new =
            repeated(&self.session, Order::After(head.last), events.iter().map(|event| &**event));
        if events.is_empty() || syncs || !has_room || !is_whole || !matches!(new, Ok(0)) {
            return None;
        }
        let lines = Lines::up_to(SHORT_WRITE, events).ok()??;
        if has_head_record(open.len, open.len + lines.bytes.len() as u64) {
            return None;
        }
        Some(self.write(events, &lines, durability))
    }

    /// Writes encoded events to the open file, and syncs them if `durability` requires it.
    fn write(
        &mut self,
        events: &[Arc<Envelope>],
        lines: &Lines,
        durability: Durability,
    ) -> Result<(), JournalError> {
        let waits = self.files.level.waits(durability);
        let Some(SegmentWriter { tail: Some(tail), len, .. }) = &mut self.open else {
            return Err(self.refuse("the file of its events is not open".to_owned()));
        };
        let before = *len;
        failpoint!("store.append.before_write");
        // One write for all lines, so that a crash cuts at most the last of them.
        if let Err(error) = tail.write(&lines.bytes) {
            // Cut back at once: a later append must not follow half a line.
            let undone = tail.truncate(before);
            return Err(self.failed("write", &error, undone));
        }
        failpoint!("store.append.after_write");
        if let Err(error) = self.write_identity_once(events).and_then(|()| self.sync_if(waits)) {
            return Err(self.undo(before, error));
        }
        failpoint!("store.append.after_sync");
        self.update_head(events, &lines.starts, before, lines.bytes.len() as u64, waits);
        // With a level that never waits, nothing is lost by closing the file either.
        if waits || durability == Durability::Synced {
            self.drop_file();
        }
        Ok(())
    }

    /// Opens the file of the segment again, if it was closed.
    fn open_file(&mut self) -> Result<(), JournalError> {
        let Some(open) = self.open.as_mut().filter(|open| open.tail.is_none()) else {
            return Ok(());
        };
        let path = &open.segment.path;
        let fail = |error: &io::Error| crate::io("open", path, error);
        let opened = self.files.disk.open_append(path, CreateMode::Never);
        let tail = opened.map_err(|error| fail(&error))?;
        // Only this writer may change the file.
        if tail.length().map_err(|error| fail(&error))? != open.len {
            let reason = "the file was changed by another program".to_owned();
            return Err(self.refuse(reason));
        }
        open.tail = Some(tail);
        Ok(())
    }

    /// Checks that repeated events are equal to the stored ones.
    fn check_repeated(&self, order: Order, events: &[Arc<Envelope>]) -> Result<(), JournalError> {
        let Some(first) = events.first() else { return Ok(()) };
        // Read from the files and not from memory: the writer keeps no events.
        let stored = self.files.read(&self.session, first.seq - 1, events.len(), true)?;
        let same = |(a, b): (&Envelope, &Arc<Envelope>)| a.to_line() == b.to_line();
        if stored.len() == events.len() && stored.iter().zip(events).all(same) {
            return Ok(());
        }
        Err(order.refuse(&self.session, first.cursor()))
    }

    /// Writes `session.json` with the first event, which makes the folder a session.
    fn write_identity_once(&mut self, events: &[Arc<Envelope>]) -> Result<(), Failure> {
        // A fork has its identity already; it is written last, by `publish`.
        let (None, Some(first)) = (&self.identity, events.first()) else { return Ok(()) };
        let identity = self.files.identify(&self.session, first.ts);
        failpoint!("store.begin.before_identity");
        self.files.write_identity(&self.folder, &identity, SyncMode::No).map_err(Failure::Clean)?;
        failpoint!("store.begin.after_identity");
        self.unsynced_identity = true;
        self.identity = Some(identity);
        Ok(())
    }

    /// Syncs first the content, then the names that lead to it.
    fn sync_if(&mut self, waits: bool) -> Result<(), Failure> {
        if waits { self.sync().map_err(Failure::Sync) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        if let Some(SegmentWriter { tail: Some(tail), .. }) = &mut self.open {
            tail.sync()?;
        }
        if self.unsynced_identity {
            self.files.sync_identity(&self.folder)?;
            self.unsynced_identity = false;
        }
        self.unsynced.dedup();
        // A folder leaves the list only after its sync, so a failed sync is tried again with the
        // next append.
        while let Some(folder) = self.unsynced.last() {
            self.files.disk.sync_folder(folder)?;
            self.unsynced.pop();
        }
        Ok(())
    }

    /// Removes what an append wrote before it failed.
    fn undo(&mut self, before: u64, failure: Failure) -> JournalError {
        let undone = match &mut self.open {
            Some(SegmentWriter { tail: Some(tail), .. }) => tail.truncate(before),
            _ => Ok(()),
        };
        match failure {
            Failure::Clean(error) => {
                if let Err(undo) = undone {
                    self.broken = Some(could_not_undo(&error.to_string(), &undo));
                }
                error
            }
            Failure::Sync(error) => {
                let failure = self.failed("sync", &error, undone);
                // After a failed sync the kernel may drop what it could not write, so events that
                // were only written may be lost too. Opening again finds out what is there.
                self.broken.get_or_insert_with(|| sync_failed(&error));
                failure
            }
        }
    }

    /// Folds appended events into the head, and writes marks, head records and the index when due.
    fn update_head(
        &mut self,
        events: &[Arc<Envelope>],
        starts: &[u64],
        before: u64,
        added: u64,
        synced: bool,
    ) {
        let Some(open) = &mut self.open else { return };
        open.len = before + added;
        let is_first = self.head.is_none();
        for (event, start) in events.iter().zip(starts) {
            let mark = Mark { seq: event.seq, offset: before + start };
            open.marker.note(&*self.files.disk, &open.segment, mark);
            SessionHead::fold(&mut self.head, &self.session, event);
        }
        let (Some(head), Some(start)) = (&self.head, starts.last()) else { return };
        self.last_start = Some(before + start);
        if has_head_record(before, open.len) {
            let record = HeadRecord { head: head.clone(), offset: open.len, start: before + start };
            index::write_head_record(&*self.files.disk, &open.segment, &record);
        }
        // A list must not show a fork before all of it is there.
        if self.hidden {
            return;
        }
        let relaxed = self.files.level == crate::DurabilityLevel::Relaxed;
        if (synced || relaxed)
            && self.indexed.as_ref().is_none_or(|shown| changes_list(shown, head))
        {
            self.write_index(before + start, synced);
        } else if is_first {
            // A list reads no journals. The first sync writes the index again, as a safe one.
            self.write_index(before + start, false);
            self.indexed = None;
        }
    }

    /// Writes the index. `start` is the offset of the last event.
    fn write_index(&mut self, start: u64, safe: bool) {
        let (Some(head), Some(identity), Some(open)) = (&self.head, &self.identity, &self.open)
        else {
            return;
        };
        let index = Index {
            identity: identity.clone(),
            head: head.clone(),
            segment: open.segment.first,
            offset: open.len,
            start,
            safe,
        };
        // The index can be rebuilt from the journal, so a failure to write it fails no append.
        index::write(&*self.files.disk, &self.folder, &index);
        self.indexed = Some(index.head);
    }

    /// Opens a segment with room; starts a new one if needed.
    fn ensure_segment(&mut self, first: u64) -> Result<(), JournalError> {
        if self.open.as_ref().is_some_and(|open| open.len < self.files.segment_bytes) {
            return Ok(());
        }
        self.open_file()?;
        // A closed segment is never repaired, so it must be complete on disk before another follows
        // it, at every durability level.
        if self.open.is_some()
            && let Err(error) = self.sync()
        {
            self.broken = Some(sync_failed(&error));
            return Err(self.refuse(format!("an earlier sync failed ({error})")));
        }
        failpoint!("store.roll.before_create");
        let disk = &*self.files.disk;
        let segment = Segment::starting(&self.folder, first);
        // Before the segment exists: a reader that finds the segment finds its head record, too.
        if let Some(head) = &self.head {
            let record = HeadRecord { head: head.clone(), offset: 0, start: 0 };
            index::write_head_record(disk, &segment, &record);
        }
        let fail = |action, error: &io::Error| crate::io(action, &segment.path, error);
        // A failed append may have left this segment, but empty.
        let tail = disk
            .open_append(&segment.path, CreateMode::IfMissing)
            .map_err(|error| fail("create", &error))?;
        if tail.length().map_err(|error| fail("read", &error))? > 0 {
            return Err(self.refuse(format!("{} exists already", segment.path.display())));
        }
        failpoint!("store.roll.after_create");
        self.unsynced.push(self.folder.clone());
        let marker = Marker::begin(disk, &segment);
        self.open = Some(SegmentWriter { segment, tail: Some(tail), len: 0, marker });
        Ok(())
    }

    /// Makes the error of a failed append; marks the writer broken if the append could not be
    /// undone.
    fn failed(
        &mut self,
        action: &'static str,
        error: &io::Error,
        undone: io::Result<()>,
    ) -> JournalError {
        if let Err(undo) = undone {
            self.broken = Some(could_not_undo(&error.to_string(), &undo));
        }
        let place = self.open.as_ref().map_or(&self.folder, |open| &open.segment.path);
        crate::io(action, place, error)
    }

    fn refuse(&self, reason: String) -> JournalError {
        JournalError::MustReopen { place: self.folder.display().to_string(), reason }
    }
}

/// Why an append failed after its lines were written.
enum Failure {
    /// Another file could not be written.
    Clean(JournalError),
    /// A sync failed: the disk may have lost more than this append.
    Sync(io::Error),
}

fn sync_failed(error: &io::Error) -> String {
    format!("an earlier sync failed ({error}); the session must be opened again")
}

fn could_not_undo(error: &str, undo: &io::Error) -> String {
    format!(
        "an earlier append failed ({error}) and could not be undone ({undo}); the session must be \
         opened again"
    )
}

/// Returns whether a head record is due after an append to a segment.
fn has_head_record(before: u64, after: u64) -> bool {
    before / HEAD_RECORD_EVERY != after / HEAD_RECORD_EVERY
}

/// Returns whether a list would show something different, or the index is far behind.
fn changes_list(shown: &SessionHead, head: &SessionHead) -> bool {
    let visible = |head: &SessionHead| {
        let SessionHead { parent, cwd, name, title, created, turns, snapshot, .. } = head.clone();
        (parent, cwd, name, title, created, turns, snapshot)
    };
    visible(shown) != visible(head) || head.last.seq - shown.last.seq >= INDEX_EVERY
}

#[cfg(test)]
mod tests;
