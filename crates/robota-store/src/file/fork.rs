//! Forks and imports: sessions that start with the events of another session.
//!
//! A closed segment never changes, so a fork hard-links it, also the one that contains the fork point.
//! Of a segment that is still appended to, the beginning never changes: what the index says is synced.
//! The fork hard-links it up to there, and copies only the events between that place and the fork
//! point. So the cost of a fork does not depend on the length of its parent. `session.json` is written
//! last, so a fork exists completely or not at all.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use robota_core::event::{Cursor, Durability, Envelope};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, Order, SessionHead, follows};

use super::identity::StoredIdentity;
use super::index::HeadRecord;
use super::segment::{ReadAhead, Segment};
use super::writer::{OpenSegment, Writer};
use super::{Files, index, marks, segment};
use crate::disk::{AppendFile, CreateMode};
use crate::failpoint::failpoint;
use crate::io;

/// How many bytes are copied at a time.
const CHUNK: usize = 256 * 1024;

/// The point of a journal at which a fork starts.
struct ForkPoint {
    /// The segments before the one with the point.
    before: Vec<Segment>,
    /// The segment that contains the point.
    segment: Segment,
    /// The length of that segment up to and including the event at the point.
    len: u64,
    /// The sequence number after the point.
    end: u64,
    /// The beginning of that segment, up to the point at most, that is synced and never changes.
    unchanging: Option<Beginning>,
}

/// The beginning of a segment.
struct Beginning {
    /// The sequence number after its last event.
    end: u64,
    /// Its length in bytes.
    len: u64,
    /// The head there; none if it ends at the fork point.
    head: Option<SessionHead>,
}

impl Files {
    /// Creates a session that starts with the events of `parent` up to `at`, followed by `first`.
    pub(super) fn fork(
        self: &Arc<Self>,
        parent: &SessionId,
        at: Cursor,
        child: &SessionId,
        first: &[Arc<Envelope>],
    ) -> Result<Writer, JournalError> {
        let stored = self.identity(parent)?;
        let segments = segment::list(&*self.disk, &self.folder(parent))?;
        let none = || JournalError::NoSuchEvent { session: parent.clone(), at };
        let point = self.fork_point(parent, &segments, at)?.ok_or_else(none)?;
        follows(child, Order::After(at), first.iter().map(|event| &**event))?;
        let head = self.fold(parent, &segments, Some(at.seq))?.head.ok_or_else(none)?;
        let head = head.fork(child.clone(), at);
        self.make_child(&stored, &point, head, child, first)
    }

    /// Copies a session, of any owner, into a new session of this user.
    pub(super) fn import(
        self: &Arc<Self>,
        source: &SessionId,
        target: &SessionId,
    ) -> Result<Writer, JournalError> {
        let stored = self.identity(source)?;
        let segments = segment::list(&*self.disk, &self.folder(source))?;
        let head = self.head_of(&stored, &segments)?;
        let none = || JournalError::NotFound(source.clone());
        let point = self.fork_point(source, &segments, head.last)?.ok_or_else(none)?;
        let head = SessionHead { session: target.clone(), foreign: false, ..head };
        self.make_child(&stored, &point, head, target, &[])
    }

    fn fork_point(
        &self,
        parent: &SessionId,
        segments: &[Segment],
        at: Cursor,
    ) -> Result<Option<ForkPoint>, JournalError> {
        let end = segments.partition_point(|segment| segment.first <= at.seq);
        let Some(in_segment) = end.checked_sub(1) else { return Ok(None) };
        let segment = &segments[in_segment];
        let mut finder = marks::Finder::new(&*self.disk, segment, ReadAhead::Few)?;
        if finder.find(at.seq)?.map(|event| event.cursor()) != Some(at) {
            return Ok(None);
        }
        let Some(reader) = finder.into_reader() else { return Ok(None) };
        let (len, end) = (reader.whole(), reader.next_seq());
        let up_to_point = Beginning { end, len, head: None };
        let unchanging = if segment.closed {
            Some(up_to_point)
        } else {
            // The writer adds to what is synced, and undoes only what it has not synced yet.
            self.synced_part(parent, segment).map(|HeadRecord { head, offset, .. }| {
                if offset >= len {
                    up_to_point
                } else {
                    Beginning { end: head.last.seq + 1, len: offset, head: Some(head) }
                }
            })
        };
        let before = segments[..in_segment].to_vec();
        Ok(Some(ForkPoint { before, segment: segment.clone(), len, end, unchanging }))
    }

    /// Creates the new session: files first, identity last.
    fn make_child(
        self: &Arc<Self>,
        parent: &StoredIdentity,
        point: &ForkPoint,
        head: SessionHead,
        child: &SessionId,
        first: &[Arc<Envelope>],
    ) -> Result<Writer, JournalError> {
        // The lock of the child is taken first, so that two forks with the same id do not mix their
        // files.
        let (lock, unsynced) = self.claim(child)?;
        let folder = self.folder(child);
        let grown = (|| {
            let created = first.first().map_or(head.created, |event| event.ts);
            let identity = self.identify(child, created);
            let writer = Writer::new(Arc::clone(self), child.clone(), lock, unsynced);
            let mut writer = writer.hidden(identity, head);
            if let Some(place) = self.share_or_copy(parent, point, &folder)? {
                writer = writer.at_end_of(place);
            }
            failpoint!("store.fork.after_links");
            writer.append(first, Durability::Synced)?;
            failpoint!("store.fork.before_identity");
            writer.publish()?;
            Ok(writer)
        })();
        if grown.is_err() {
            // What remains is not a session; the next `create` with that id takes the folder over.
            let _ = self.empty(&folder);
        }
        grown
    }

    /// Gives the child the events and blob references of its parent. Returns the segment that the
    /// child continues, or none if it starts a segment of its own.
    fn share_or_copy(
        &self,
        parent: &StoredIdentity,
        point: &ForkPoint,
        folder: &Path,
    ) -> Result<Option<OpenSegment>, JournalError> {
        // Another user could change the linked file later, so files of a foreign session are
        // copied.
        let share = !self.is_foreign(parent);
        let from = self.folder(&parent.identity.session);
        self.copy_refs(&from, folder)?;
        for segment in &point.before {
            let to = segment.in_folder(folder);
            if !share || !self.link(segment, &to) {
                let len = self.file_len(&segment.path)?;
                let mut copy = self.copy(&segment.path, &to.path, 0..len)?;
                if self.level != crate::DurabilityLevel::Relaxed {
                    copy.sync().map_err(|error| io("write", &to.path, &error))?;
                }
            }
        }
        if share
            && let Some(shared) = &point.unchanging
            && self.link(&point.segment, &Segment::part(folder, point.segment.first, shared.end))
        {
            return self.copy_rest(point, shared, folder);
        }
        // The first append of the writer syncs it.
        let own = Segment::starting(folder, point.segment.first);
        let tail = self.copy(&point.segment.path, &own.path, 0..point.len)?;
        marks::copy(&*self.disk, &point.segment, &own, point.len);
        index::copy_head_records(&*self.disk, &point.segment, &own, point.len);
        Ok(Some(OpenSegment { segment: own, tail, len: point.len }))
    }

    /// Copies the events between the part of a segment that is shared and the point, if there are any,
    /// into a segment of the child. The first append of the writer syncs it.
    fn copy_rest(
        &self,
        point: &ForkPoint,
        shared: &Beginning,
        folder: &Path,
    ) -> Result<Option<OpenSegment>, JournalError> {
        if shared.end == point.end {
            return Ok(None);
        }
        let own = Segment::starting(folder, shared.end);
        if let Some(head) = shared.head.clone() {
            let record = HeadRecord { head, offset: 0, start: 0 };
            index::write_head_record(&*self.disk, &own, &record);
        }
        let tail = self.copy(&point.segment.path, &own.path, shared.len..point.len)?;
        Ok(Some(OpenSegment { segment: own, tail, len: point.len - shared.len }))
    }

    /// Links a segment and its index files; returns whether the segment is linked.
    fn link(&self, from: &Segment, to: &Segment) -> bool {
        let linked = self.disk.link(&from.path, &to.path).is_ok();
        if linked {
            for (from, to) in index::auxiliary_files(from).iter().zip(index::auxiliary_files(to)) {
                // Optional files: they can be rebuilt from the segment.
                let _ = self.disk.link(from, &to);
            }
        }
        linked
    }

    /// Returns the length of a file in bytes.
    pub(super) fn file_len(&self, path: &Path) -> Result<u64, JournalError> {
        let info = self.disk.open_read(path).and_then(|file| file.info());
        info.map(|info| info.len).map_err(|error| io("open", path, &error))
    }

    /// Copies a range of bytes of a file. The copy is not synced.
    fn copy(
        &self,
        from: &Path,
        to: &Path,
        range: Range<u64>,
    ) -> Result<Box<dyn AppendFile>, JournalError> {
        let read = |error: &std::io::Error| io("read", from, error);
        let write = |error: &std::io::Error| io("write", to, error);
        let mut source = self.disk.open_read(from).map_err(|error| read(&error))?;
        source.seek(SeekFrom::Start(range.start)).map_err(|error| read(&error))?;
        let len = range.end - range.start;
        let mut source = source.take(len);
        let mut tail =
            self.disk.open_append(to, CreateMode::Always).map_err(|error| write(&error))?;
        let mut buffer = vec![0; usize::try_from(len).unwrap_or(CHUNK).min(CHUNK)];
        let mut copied = 0;
        loop {
            let count = source.read(&mut buffer).map_err(|error| read(&error))?;
            if count == 0 {
                break;
            }
            tail.write(&buffer[..count]).map_err(|error| write(&error))?;
            copied += count as u64;
        }
        if copied < len {
            let reason = format!("it ends after {copied} of {len} bytes");
            return Err(JournalError::Damaged { place: from.display().to_string(), reason });
        }
        Ok(tail)
    }
}
