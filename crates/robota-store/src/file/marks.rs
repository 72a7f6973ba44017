//! Marks: the offsets of some events in a segment, so that an event is found without reading the
//! segment from its start.
//!
//! `{first}.idx` contains pairs of numbers (sequence number, offset; little-endian, eight bytes
//! each), one pair for about every 4 KiB. The file grows with its segment and is never synced. It
//! is not trusted: the event that is read at a mark must be the expected one. It may be deleted at
//! any time.

use std::io::Read as _;
use std::path::PathBuf;

use robota_core::event::Envelope;
use robota_core::journal::JournalError;

use super::segment::{Mark, ReadAhead, Reader, Segment};
use crate::disk::{CreateMode, Disk};

/// Distance between two marks, in bytes.
pub(super) const MARK_DISTANCE: u64 = 4 * 1024;

/// How far a reader skips ahead instead of opening the file at a mark, in bytes.
const SKIP_DISTANCE: u64 = 64 * 1024;

/// Size of a mark on disk.
const RECORD_BYTES: usize = 16;

/// More than the marks of any segment; a larger file was not written by the store.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

fn path(segment: &Segment) -> PathBuf {
    segment.path.with_extension("idx")
}

/// Reads the marks of a segment, oldest first; none if they are missing or inconsistent.
fn load(disk: &dyn Disk, segment: &Segment) -> Option<Vec<Mark>> {
    let file = disk.open_read(&path(segment)).ok()?;
    // With more room than needed, the file is read at once.
    let len = file.info().ok()?.len.min(MAX_FILE_BYTES);
    let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or_default() + RECORD_BYTES);
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
    let marks: Option<Vec<_>> = bytes
        .chunks_exact(RECORD_BYTES)
        .map(|record| {
            let (seq, offset) = record.split_at(8);
            Some(Mark { seq: number(seq)?, offset: number(offset)? })
        })
        .collect();
    let marks = marks?;
    let rising = std::iter::once(&segment.start())
        .chain(&marks)
        .zip(&marks)
        .all(|(before, after)| before.seq < after.seq && before.offset < after.offset);
    rising.then_some(marks)
}

/// Finds events in one segment.
pub(super) struct Finder<'a> {
    disk: &'a dyn Disk,
    segment: &'a Segment,
    marks: Vec<Mark>,
    reader: Option<Reader>,
    reads: ReadAhead,
}

impl<'a> Finder<'a> {
    /// Creates a finder for that segment.
    pub(super) fn new(
        disk: &'a dyn Disk,
        segment: &'a Segment,
        reads: ReadAhead,
    ) -> Result<Self, JournalError> {
        let marks = match load(disk, segment) {
            Some(marks) => marks,
            None => rebuild(disk, segment)?,
        };
        Ok(Self { disk, segment, marks, reader: None, reads })
    }

    /// Returns the event with that sequence number, or none if the segment does not have it. Each
    /// call must ask for the same or a later event. [`Finder::into_reader`] continues after it.
    pub(super) fn find(&mut self, seq: u64) -> Result<Option<Envelope>, JournalError> {
        let at = self.marks.partition_point(|mark| mark.seq <= seq);
        let mark = at.checked_sub(1).and_then(|at| self.marks.get(at)).copied();
        let from = mark.unwrap_or_else(|| self.segment.start());
        // Reuse the open reader if it is not past the event and near enough: skipping lines costs
        // less than opening the file again.
        let near = |reader: &Reader| from.offset <= reader.whole().saturating_add(SKIP_DISTANCE);
        let here = self.reader.take().filter(|reader| reader.next_seq() <= seq && near(reader));
        let mut reader = match here {
            Some(reader) => reader,
            None => Reader::open(self.disk, self.segment, from, self.reads)?,
        };
        let event =
            reader.skip_to(seq).and_then(|exists| if exists { reader.next() } else { Ok(None) });
        // The marks may be damaged, or belong to a segment that lost its end. Then what is at the
        // mark is not the expected event.
        let mark_is_wrong = match &event {
            Ok(Some(_)) => false,
            Ok(None) => !self.has_event_at(from),
            Err(_) => true,
        };
        if mark_is_wrong && !self.marks.is_empty() {
            let _ = self.disk.remove(&path(self.segment));
            self.marks.clear();
            return self.find(seq);
        }
        self.reader = Some(reader);
        event
    }

    /// Returns whether an event is at that place.
    fn has_event_at(&self, mark: Mark) -> bool {
        Reader::open(self.disk, self.segment, mark, ReadAhead::Few)
            .and_then(|mut reader| reader.next())
            .is_ok_and(|event| event.is_some())
    }

    /// Returns a reader that continues after the event that was found last.
    pub(super) fn into_reader(self) -> Option<Reader> {
        self.reader
    }
}

/// Copies the marks for the first `len` bytes of a segment, which were copied to another one.
pub(super) fn copy(disk: &dyn Disk, from: &Segment, to: &Segment, len: u64) {
    // Without them, the marks are rebuilt.
    if let Some(mut marks) = load(disk, from) {
        marks.retain(|mark| mark.offset < len);
        let _ = save(disk, to, &marks);
    }
}

/// Rebuilds the marks of a segment. They are saved only for a closed segment: the marks of an open
/// segment belong to its writer.
fn rebuild(disk: &dyn Disk, segment: &Segment) -> Result<Vec<Mark>, JournalError> {
    let mut reader = Reader::open(disk, segment, segment.start(), ReadAhead::Many)?;
    let mut marks: Vec<Mark> = Vec::new();
    let mut due = MARK_DISTANCE;
    loop {
        let mark = Mark { seq: reader.next_seq(), offset: reader.whole() };
        if !reader.skip_to(mark.seq.saturating_add(1))? {
            break;
        }
        if mark.offset >= due {
            marks.push(mark);
            due = mark.offset + MARK_DISTANCE;
        }
    }
    if segment.closed {
        // Ignored if it fails: a folder that cannot be written can still be read.
        let _ = save(disk, segment, &marks);
    }
    Ok(marks)
}

fn save(disk: &dyn Disk, segment: &Segment, marks: &[Mark]) -> std::io::Result<()> {
    let bytes: Vec<u8> = marks.iter().flat_map(encode).collect();
    super::replace::replace(disk, &path(segment), &bytes, super::replace::SyncMode::No)
}

fn encode(mark: &Mark) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    record[..8].copy_from_slice(&mark.seq.to_le_bytes());
    record[8..].copy_from_slice(&mark.offset.to_le_bytes());
    record
}

/// Writes the marks of the segment that is appended to. It opens the file for each mark: there is one
/// for about every 4 KiB, and an idle session should not hold a descriptor for it.
pub(super) struct Marker {
    due: u64,
}

impl Marker {
    /// Starts the marks of a new segment.
    pub(super) fn begin(disk: &dyn Disk, segment: &Segment) -> Self {
        let path = path(segment);
        let _ = disk.remove(&path);
        // Without the file, the marks are rebuilt when they are needed.
        match disk.open_append(&path, CreateMode::Always) {
            Ok(_) => Self { due: MARK_DISTANCE },
            Err(_) => Self { due: u64::MAX },
        }
    }

    /// Continues the marks of a segment of that length.
    pub(super) fn resume(disk: &dyn Disk, segment: &Segment, len: u64) -> Self {
        let marks = load(disk, segment)
            // A power failure may have left marks beyond the end.
            .filter(|marks| marks.last().is_none_or(|mark| mark.offset < len));
        let marks = match marks {
            Some(marks) if len < MARK_DISTANCE || !marks.is_empty() => Ok(marks),
            _ => rebuild(disk, segment),
        };
        let due = marks.ok().and_then(|marks| {
            // Rewritten unless its length is exact: half a mark would shift all later ones.
            let len = disk.open_read(&path(segment)).and_then(|file| file.info());
            if !len.is_ok_and(|info| info.len == (marks.len() * RECORD_BYTES) as u64) {
                save(disk, segment, &marks).ok()?;
            }
            Some(marks.last().map_or(MARK_DISTANCE, |mark| mark.offset + MARK_DISTANCE))
        });
        Self { due: due.unwrap_or(u64::MAX) }
    }

    /// Records where an event starts, if the last mark is far enough away.
    pub(super) fn note(&mut self, disk: &dyn Disk, segment: &Segment, mark: Mark) {
        if mark.offset < self.due {
            return;
        }
        self.due = mark.offset + MARK_DISTANCE;
        let written = disk
            .open_append(&path(segment), CreateMode::Never)
            .and_then(|mut file| file.write(&encode(&mark)));
        // Without further marks, the segment is read from the last one.
        if written.is_err() {
            self.due = u64::MAX;
        }
    }
}

#[cfg(test)]
mod tests;
