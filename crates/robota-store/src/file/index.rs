//! Facts about a session without reading its whole journal: `head.json`, and for each segment
//! `{first}.head`, which has one line for the start of the segment and one for some places in it.
//! Both are derived from the journal, never synced, and may be deleted at any time.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, SessionHead};
use serde::{Deserialize, Serialize};

use super::Files;
use super::identity::{Identity, StoredIdentity};
use super::replace::{SyncMode, replace};
use super::segment::{Mark, ReadAhead, Reader, Segment};
use crate::disk::{CreateMode, Disk};
use crate::failpoint::failpoint;

/// More than any head needs; the file is not read further.
const LIMIT: u64 = 256 * 1024;

/// More than the head records of any segment; a larger file was not written by the store.
const MAX_HEAD_FILE: u64 = 4 * 1024 * 1024;

/// How many bytes of head records are read at a time, to find one. Most records are far shorter.
const PROBE_BYTES: u64 = 8 * 1024;

/// The content of `head.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Index {
    /// A copy of `session.json`, so that a list reads one file per session.
    pub(super) identity: Identity,
    /// The head, folded up to [`Index::offset`].
    pub(super) head: SessionHead,
    /// The first sequence number of the segment that was the last one.
    pub(super) segment: u64,
    /// How many bytes of that segment are folded into the head.
    pub(super) offset: u64,
    /// The offset at which the last folded event starts.
    pub(super) start: u64,
    /// Whether all of that was synced when the index was written: then opening need not search it
    /// for a torn end.
    pub(super) safe: bool,
}

/// A line of `{first}.head`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct HeadRecord {
    /// The head at this place: the fold of all events before it.
    pub(super) head: SessionHead,
    /// How many bytes of the segment are folded into the head.
    pub(super) offset: u64,
    /// The offset at which the last folded event starts, if it is in this segment.
    pub(super) start: u64,
}

impl From<Index> for HeadRecord {
    fn from(index: Index) -> Self {
        Self { head: index.head, offset: index.offset, start: index.start }
    }
}

/// Where a journal ends, and the head there.
pub(super) struct JournalEnd {
    /// None if the journal has no event.
    pub(super) head: Option<SessionHead>,
    /// The segment to append to; none if a new one must be started.
    pub(super) segment: Option<Segment>,
    /// The length of the whole events in that segment.
    pub(super) whole: u64,
    /// Whether something that is not a whole event follows them.
    pub(super) torn: bool,
    /// Whether the names of all segments are known to be synced.
    pub(super) names_synced: bool,
}

fn path(folder: &Path) -> PathBuf {
    folder.join("head.json")
}

fn head_path(segment: &Segment) -> PathBuf {
    segment.path.with_extension("head")
}

/// Reads the index of a folder and the user that owns the file; none if it is missing or broken.
pub(super) fn read(disk: &dyn Disk, folder: &Path) -> Option<(Index, u32)> {
    let file = disk.open_read(&path(folder)).ok()?;
    let user_id = file.info().ok()?.user_id;
    Some((parse(file)?, user_id))
}

fn parse<T: serde::de::DeserializeOwned>(file: impl std::io::Read) -> Option<T> {
    let mut bytes = Vec::with_capacity(2048);
    file.take(LIMIT).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Writes the index. Failures are ignored: the index can be rebuilt.
pub(super) fn write(disk: &dyn Disk, folder: &Path, index: &Index) {
    failpoint!("store.index.before_rename");
    if let Ok(bytes) = serde_json::to_vec(index) {
        // Not synced: a stale index is noticed when it is read, and costs only time.
        let _ = replace(disk, &path(folder), &bytes, SyncMode::No);
    }
}

/// Writes a head record for a place in a segment. Failures are ignored.
pub(super) fn write_head_record(disk: &dyn Disk, segment: &Segment, record: &HeadRecord) {
    let path = head_path(segment);
    if record.offset == 0 {
        // Remove the file of an earlier segment with the same number.
        let _ = disk.remove(&path);
    }
    if let Ok(mut line) = serde_json::to_vec(record)
        && let Ok(mut file) = disk.open_append(&path, CreateMode::IfMissing)
    {
        line.push(b'\n');
        let _ = file.write(&line);
    }
}

/// Reads the head records of a segment.
fn read_head_file(disk: &dyn Disk, segment: &Segment) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = disk.open_read(&head_path(segment)).ok()?;
    let _ = file.take(MAX_HEAD_FILE).read_to_end(&mut bytes);
    Some(bytes)
}

/// Copies the head records for the first `len` bytes of a segment, which were copied to another
/// one.
pub(super) fn copy_head_records(disk: &dyn Disk, from: &Segment, to: &Segment, len: u64) {
    let mut lines = read_head_file(disk, from).unwrap_or_default();
    // The lines are sorted by offset.
    let mut end = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    while end > 0 {
        let before = lines[..end - 1].iter().rposition(|byte| *byte == b'\n');
        let start = before.map_or(0, |at| at + 1);
        let record = serde_json::from_slice::<HeadRecord>(&lines[start..end]);
        if record.is_ok_and(|record| record.offset <= len) {
            break;
        }
        end = start;
    }
    lines.truncate(end);
    // Failures are ignored: the records can be rebuilt.
    if let Ok(mut file) = disk.open_append(&head_path(to), CreateMode::Always) {
        let _ = file.write(&lines);
    }
}

/// Returns the last head record of a segment up to an event that is `usable`. A torn line is skipped.
fn find_head_record(
    disk: &dyn Disk,
    session: &SessionId,
    segment: &Segment,
    last: u64,
    usable: impl Fn(&HeadRecord) -> bool,
) -> Option<HeadRecord> {
    let find = |lines: &[u8]| {
        lines
            .rsplit(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .map(|record: HeadRecord| {
                // A fork shares the segments of its parent, so the record may have the parent's id.
                let head = SessionHead { session: session.clone(), ..record.head };
                HeadRecord { head, ..record }
            })
            .find(|record| record.head.last.seq <= last && usable(record))
    };
    let near = read_head_lines_near(disk, segment, last)?;
    // All lines, if those that were read are not of this journal.
    find(&near).or_else(|| find(&read_head_file(disk, segment)?))
}

/// Reads some head records of a segment: if the file is not damaged, also the last one up to that event.
/// Its lines are sorted, so this reads a few places of a long file and not the whole file.
fn read_head_lines_near(disk: &dyn Disk, segment: &Segment, last: u64) -> Option<Vec<u8>> {
    let mut file = disk.open_read(&head_path(segment)).ok()?;
    let (mut from, mut to) = (0, file.info().ok()?.len.min(MAX_HEAD_FILE));
    let mut read = |from: u64, count: u64| {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from)).ok()?;
        file.by_ref().take(count).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    while to - from > PROBE_BYTES {
        let middle = from + (to - from) / 2;
        let bytes = read(middle, PROBE_BYTES)?;
        // The first line that begins after the middle.
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let start = middle + lines.next().map_or(0, <[u8]>::len) as u64;
        let record = lines.next().and_then(|line| serde_json::from_slice::<HeadRecord>(line).ok());
        if start < to && record.is_some_and(|record| record.head.last.seq <= last) {
            from = start;
        } else {
            to = middle;
        }
    }
    // A line may begin before `to` and end after it.
    read(from, to - from + PROBE_BYTES)
}

/// Returns the optional files of a segment that a fork links.
pub(super) fn auxiliary_files(segment: &Segment) -> [PathBuf; 2] {
    [head_path(segment), segment.path.with_extension("idx")]
}

/// Where folding starts, and the head there.
struct FoldStart {
    at: usize,
    mark: Mark,
    head: Option<SessionHead>,
    /// Whether that is the place of an index that was written after everything before it was synced.
    synced: bool,
}

impl FoldStart {
    fn at(at: usize, record: HeadRecord, synced: bool) -> Self {
        let mark = Mark { seq: record.head.last.seq.saturating_add(1), offset: record.offset };
        Self { at, mark, head: Some(record.head), synced }
    }
}

impl Files {
    /// Folds a journal up to an event, or to its end. Starts at the last usable index or head
    /// record, so the cost is the distance from there.
    pub(super) fn fold(
        &self,
        session: &SessionId,
        segments: &[Segment],
        up_to: Option<u64>,
    ) -> Result<JournalEnd, JournalError> {
        let FoldStart { at, mark, mut head, synced } = self.fold_start(session, segments, up_to);
        // A writer that adds a segment syncs its name before it writes the next such index.
        let names_synced = synced && at + 1 == segments.len();
        let mut end = JournalEnd { head: None, segment: None, whole: 0, torn: false, names_synced };
        let mut due = None;
        for (number, segment) in segments.iter().enumerate().skip(at) {
            if up_to.is_some_and(|up_to| segment.first > up_to) {
                break;
            }
            // A deleted segment must be an error: the fold would go over the gap without a sign of
            // it.
            if due.is_some_and(|due| due != segment.first) {
                return Err(missing_segment(segment, due));
            }
            let from = if number == at { mark } else { segment.start() };
            let mut reader = Reader::open(&*self.disk, segment, from, ReadAhead::Many)?;
            while up_to.is_none_or(|up_to| reader.next_seq() <= up_to) {
                let Some(event) = reader.next()? else { break };
                SessionHead::fold(&mut head, session, &event);
            }
            // A crashed writer may have left a segment that has only a torn line. The one before it is
            // closed, and forks may share it.
            if !segment.closed && reader.whole() > 0 {
                end.segment = Some(segment.clone());
                end.whole = reader.whole();
                end.torn = reader.torn();
            }
            due = Some(reader.next_seq());
        }
        end.head = head;
        Ok(end)
    }

    fn fold_start(
        &self,
        session: &SessionId,
        segments: &[Segment],
        up_to: Option<u64>,
    ) -> FoldStart {
        let reaches = |seq: u64| up_to.is_none_or(|up_to| seq <= up_to);
        let index = segments
            .first()
            .and_then(|first| self.safe_index(session, first.path.parent()?))
            .filter(|index| reaches(index.head.last.seq));
        if let Some(index) = index
            && let Some(at) = segments.iter().position(|segment| segment.first == index.segment)
        {
            let record = HeadRecord::from(index);
            if self.is_current(&segments[at], &record) {
                return FoldStart::at(at, record, true);
            }
        }
        for (at, segment) in segments.iter().enumerate().rev() {
            if !reaches(segment.first.saturating_sub(1)) {
                continue;
            }
            // Events that were not synced may be torn even if later ones are not. So a search for the end
            // starts at the beginning of the segment, not at a record inside it.
            let last = up_to.unwrap_or(segment.first.saturating_sub(1));
            let record = find_head_record(&*self.disk, session, segment, last, |record| {
                self.is_current(segment, record)
            });
            if let Some(record) = record {
                return FoldStart::at(at, record, false);
            }
        }
        let mark = segments.first().map_or(Mark { seq: 1, offset: 0 }, Segment::start);
        FoldStart { at: 0, mark, head: None, synced: false }
    }

    /// Returns the index of a session, if everything up to its place was synced when it was written.
    fn safe_index(&self, session: &SessionId, folder: &Path) -> Option<Index> {
        let (index, _) = read(&*self.disk, folder)?;
        (index.safe && index.identity.session == *session).then_some(index)
    }

    /// Returns the place in a segment up to which its content is synced, as far as the index knows.
    /// What is before that place never changes: only what is not synced is ever cut off.
    pub(super) fn synced_part(&self, session: &SessionId, segment: &Segment) -> Option<HeadRecord> {
        let index = self.safe_index(session, segment.path.parent()?)?;
        let in_segment = index.segment == segment.first;
        let record = Some(HeadRecord::from(index)).filter(|record| record.offset > 0)?;
        (in_segment && self.is_current(segment, &record)).then_some(record)
    }

    /// Returns whether a record belongs to this journal: its last event is at the recorded place.
    fn is_current(&self, segment: &Segment, record: &HeadRecord) -> bool {
        let last = record.head.last;
        if record.offset == 0 {
            return last.seq.checked_add(1) == Some(segment.first);
        }
        let mark = Mark { seq: last.seq, offset: record.start };
        Reader::open(&*self.disk, segment, mark, ReadAhead::Few).is_ok_and(|mut reader| {
            let cursor = reader.next().ok().flatten().map(|event| event.cursor());
            // The record may be of another journal with the same name, or newer than what survived
            // a power failure.
            cursor == Some(last) && reader.whole() == record.offset
        })
    }

    /// Reads the head of a session, exact up to its last event. Fails if there is no such session.
    pub(super) fn head(&self, session: &SessionId) -> Result<SessionHead, JournalError> {
        let stored = self.identity(session)?;
        let segments = super::segment::list(&*self.disk, &self.folder(session))?;
        self.head_of(&stored, &segments)
    }

    pub(super) fn head_of(
        &self,
        stored: &StoredIdentity,
        segments: &[Segment],
    ) -> Result<SessionHead, JournalError> {
        let session = &stored.identity.session;
        let end = self.fold(session, segments, None)?;
        let head = end.head.ok_or_else(|| JournalError::NotFound(session.clone()))?;
        Ok(SessionHead { foreign: self.is_foreign(stored), ..head })
    }
}

/// Creates the error for a segment that does not follow the one before it.
pub(super) fn missing_segment(segment: &Segment, due: Option<u64>) -> JournalError {
    let due = due.unwrap_or_default();
    let reason = format!("its first event should be {due}; a segment is missing");
    JournalError::damaged(segment.path.display().to_string(), reason)
}
