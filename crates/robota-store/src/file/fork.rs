//! Forks and imports: sessions that begin with the events of another.
//!
//! A closed segment never changes, so a fork has the same file under one more name. Only the
//! segment with the point itself is copied. The folder is made a session last: a fork is there
//! whole, or not at all.

use std::io::{Read as _, Seek as _};
use std::path::Path;
use std::sync::Arc;

use robota_core::event::{Cursor, Durability, Envelope};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, Order, SessionHead, follows};

use super::identity::StoredIdentity;
use super::segment::{ReadAhead, Segment};
use super::writer::{OpenSegment, Writer};
use super::{Files, index, marks, segment};
use crate::disk::{AppendFile, CreateMode};
use crate::failpoint::failpoint;
use crate::io;

/// How much is copied at a time.
const CHUNK: usize = 256 * 1024;

/// The point of a journal that a fork begins at.
struct ForkPoint {
    /// The segments before it.
    before: Vec<Segment>,
    /// The segment it lies in.
    segment: Segment,
    /// How much of that is before and at it.
    len: u64,
    /// Whether the segment ends there and never changes again.
    closed: bool,
}

impl Files {
    /// Begins a session with the events of another up to a point, followed by `first`.
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
        let point = self.fork_point(&segments, at)?.ok_or_else(none)?;
        follows(child, Order::After(at), first.iter().map(|event| &**event))?;
        let head = self.fold(parent, &segments, Some(at.seq))?.head.ok_or_else(none)?;
        let head = head.fork(child.clone(), at);
        self.make_child(&stored, &point, head, child, first)
    }

    /// Copies a session, whoever wrote it, into one of our own.
    pub(super) fn import(
        self: &Arc<Self>,
        source: &SessionId,
        target: &SessionId,
    ) -> Result<Writer, JournalError> {
        let stored = self.identity(source)?;
        let segments = segment::list(&*self.disk, &self.folder(source))?;
        let head = self.head_of(&stored, &segments)?;
        let none = || JournalError::NotFound(source.clone());
        let point = self.fork_point(&segments, head.last)?.ok_or_else(none)?;
        let head = SessionHead { session: target.clone(), foreign: false, ..head };
        self.make_child(&stored, &point, head, target, &[])
    }

    fn fork_point(
        &self,
        segments: &[Segment],
        at: Cursor,
    ) -> Result<Option<ForkPoint>, JournalError> {
        let end = segments.partition_point(|segment| segment.first <= at.seq);
        let Some(in_segment) = end.checked_sub(1) else { return Ok(None) };
        let segment = &segments[in_segment];
        let last = end == segments.len();
        let mut finder = marks::Finder::new(&*self.disk, segment, last, ReadAhead::Few)?;
        if finder.find(at.seq)?.map(|event| event.cursor()) != Some(at) {
            return Ok(None);
        }
        let Some(reader) = finder.into_reader() else { return Ok(None) };
        let closed = segments.get(end).is_some_and(|next| next.first == at.seq + 1);
        Ok(Some(ForkPoint {
            before: segments[..in_segment].to_vec(),
            segment: segment.clone(),
            len: reader.whole(),
            closed,
        }))
    }

    /// Makes the new session.
    fn make_child(
        self: &Arc<Self>,
        parent: &StoredIdentity,
        point: &ForkPoint,
        head: SessionHead,
        child: &SessionId,
        first: &[Arc<Envelope>],
    ) -> Result<Writer, JournalError> {
        let (lock, unsynced) = self.claim(child)?;
        let folder = self.folder(child);
        let grown = (|| {
            let created = first.first().map_or(head.created, |event| event.ts);
            let identity = self.identify(child, created);
            let writer = Writer::new(Arc::clone(self), child.clone(), lock, unsynced);
            let mut writer = writer.hidden(identity, head);
            if let Some(place) = self.share_or_copy(parent, point, &folder, first.is_empty())? {
                writer = writer.at_end_of(place);
            }
            failpoint!("store.fork.after_links");
            writer.append(first, Durability::Synced)?;
            failpoint!("store.fork.before_identity");
            writer.publish()?;
            Ok(writer)
        })();
        if grown.is_err() {
            // What stays of it is no session, and the next one of that id takes it over.
            let _ = self.empty(&folder);
        }
        grown
    }

    /// Gives the child its parent's events and blobs. Returns its last segment, unless
    /// it is to begin one of its own.
    fn share_or_copy(
        &self,
        parent: &StoredIdentity,
        point: &ForkPoint,
        folder: &Path,
        bare: bool,
    ) -> Result<Option<OpenSegment>, JournalError> {
        // Somebody else's file may change under another name as well.
        let share = !self.is_foreign(parent);
        let name = |path: &Path| folder.join(path.file_name().unwrap_or_default());
        let from = self.folder(&parent.identity.session);
        self.copy_refs(&from, folder)?;
        // A segment that may be appended to is the child's own.
        let link_last = share && point.closed && !bare;
        let shared = point.before.iter().chain(link_last.then_some(&point.segment));
        for segment in shared {
            let to = name(&segment.path);
            if !share || self.disk.link(&segment.path, &to).is_err() {
                let len = self.file_len(&segment.path)?;
                self.copy(&segment.path, &to, len)?;
            }
            for beside in index::auxiliary_files(segment) {
                // They can be made anew.
                if share {
                    let _ = self.disk.link(&beside, &name(&beside));
                }
            }
        }
        if link_last {
            return Ok(None);
        }
        let own = Segment::starting(folder, point.segment.first);
        let tail = self.copy(&point.segment.path, &own.path, point.len)?;
        marks::copy(&*self.disk, &point.segment, &own, point.len);
        index::copy_head_records(&*self.disk, &point.segment, &own, point.len);
        Ok(Some(OpenSegment { segment: own, tail, len: point.len }))
    }

    /// How long a file is.
    pub(super) fn file_len(&self, path: &Path) -> Result<u64, JournalError> {
        let info = self.disk.open_read(path).and_then(|file| file.info());
        info.map(|info| info.len).map_err(|error| io("open", path, &error))
    }

    /// Copies the beginning of a file; it is safe when this returns.
    pub(super) fn copy(
        &self,
        from: &Path,
        to: &Path,
        len: u64,
    ) -> Result<Box<dyn AppendFile>, JournalError> {
        let read = |error: &std::io::Error| io("read", from, error);
        let write = |error: &std::io::Error| io("write", to, error);
        let mut source = self.disk.open_read(from).map_err(|error| read(&error))?;
        source.rewind().map_err(|error| read(&error))?;
        let mut source = source.take(len);
        let mut tail =
            self.disk.open_append(to, CreateMode::Always).map_err(|error| write(&error))?;
        let mut buffer = vec![0; CHUNK];
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
        if self.level != crate::DurabilityLevel::Relaxed {
            tail.sync().map_err(|error| write(&error))?;
        }
        Ok(tail)
    }
}
