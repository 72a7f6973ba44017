//! What is record of a session without reading its journal: `head.json`, and `{first}.head` for
//! each segment, which says line by line what was record where the segment begins and at some
//! places in it. Both are made from the journal, never synced, and may be deleted at any time.

use std::io::Read as _;
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

/// More than any head; the file is not read further.
const LIMIT: u64 = 256 * 1024;

/// `head.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Index {
    /// A copy, so that a list reads one file per session.
    pub(super) identity: Identity,
    /// What is record up to [`Index::offset`].
    pub(super) head: SessionHead,
    /// The segment that was the last one.
    pub(super) segment: u64,
    /// How much of it is folded into the head.
    pub(super) offset: u64,
    /// Where the last event of that begins.
    pub(super) start: u64,
    /// Whether all of that was safe from a loss of power when this was written: then it need not
    /// be looked through for a torn end.
    pub(super) safe: bool,
}

/// A line of `{first}.head`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct HeadRecord {
    /// What is record there.
    pub(super) head: SessionHead,
    /// The place: so many bytes of the segment are folded into the head.
    pub(super) offset: u64,
    /// Where the last event of that begins, when it is in this segment.
    pub(super) start: u64,
}

/// Where a journal ends, and what is record there.
pub(super) struct JournalEnd {
    /// What is record; none when there is no event.
    pub(super) head: Option<SessionHead>,
    /// The last segment with an event in it.
    pub(super) segment: Option<Segment>,
    /// How much of it is whole events.
    pub(super) whole: u64,
    /// Whether something else follows them.
    pub(super) torn: bool,
}

fn path(folder: &Path) -> PathBuf {
    folder.join("head.json")
}

fn head_path(segment: &Segment) -> PathBuf {
    segment.path.with_extension("head")
}

/// The index of a folder, and the user whose file it is; none when it is missing or broken.
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

/// Keeps an index. Nobody needs it, so nobody is told when that fails.
pub(super) fn write(disk: &dyn Disk, folder: &Path, index: &Index) {
    failpoint!("store.index.before_rename");
    if let Ok(bytes) = serde_json::to_vec(index) {
        let _ = replace(disk, &path(folder), &bytes, SyncMode::No);
    }
}

/// Keeps what is record at a place in a segment.
pub(super) fn write_head_record(disk: &dyn Disk, segment: &Segment, record: &HeadRecord) {
    let path = head_path(segment);
    if record.offset == 0 {
        // What an earlier segment of that number left.
        let _ = disk.remove(&path);
    }
    if let Ok(mut line) = serde_json::to_vec(record)
        && let Ok(mut file) = disk.open_append(&path, CreateMode::IfMissing)
    {
        line.push(b'\n');
        let _ = file.write(&line);
    }
}

/// The file of the heads record at places in a segment.
fn read_head_file(disk: &dyn Disk, segment: &Segment) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = disk.open_read(&head_path(segment)).ok()?;
    let _ = file.take(LIMIT).read_to_end(&mut bytes);
    Some(bytes)
}

/// Gives the beginning of a segment, which was copied, the heads record there.
pub(super) fn copy_head_records(disk: &dyn Disk, from: &Segment, to: &Segment, len: u64) {
    let mut lines = read_head_file(disk, from).unwrap_or_default();
    // They are in the order of their places.
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
    // Nobody needs them.
    if let Ok(mut file) = disk.open_append(&head_path(to), CreateMode::Always) {
        let _ = file.write(&lines);
    }
}

/// The last of the heads record at places in a segment that is `usable`. A torn line is none.
fn find_head_record(
    disk: &dyn Disk,
    session: &SessionId,
    segment: &Segment,
    usable: impl Fn(&HeadRecord) -> bool,
) -> Option<HeadRecord> {
    read_head_file(disk, segment)?
        .rsplit(|byte| *byte == b'\n')
        .filter_map(|line| {
            let record: HeadRecord = serde_json::from_slice(line).ok()?;
            // A fork has the segments of its parent.
            let head = SessionHead { session: session.clone(), ..record.head };
            Some(HeadRecord { head, ..record })
        })
        .find(usable)
}

/// The files beside a segment that a fork takes along.
pub(super) fn auxiliary_files(segment: &Segment) -> [PathBuf; 2] {
    [head_path(segment), segment.path.with_extension("idx")]
}

/// Where folding begins: with what is record there.
struct FoldStart {
    at: usize,
    mark: Mark,
    head: Option<SessionHead>,
}

impl FoldStart {
    fn at(at: usize, record: HeadRecord) -> Self {
        let mark = Mark { seq: record.head.last.seq.saturating_add(1), offset: record.offset };
        Self { at, mark, head: Some(record.head) }
    }
}

impl Files {
    /// Folds a journal up to an event, or to its end, from the last place at which something is
    /// record. Costs what lies between.
    pub(super) fn fold(
        &self,
        session: &SessionId,
        segments: &[Segment],
        up_to: Option<u64>,
    ) -> Result<JournalEnd, JournalError> {
        let FoldStart { at, mark, mut head } = self.fold_start(session, segments, up_to);
        let mut end = JournalEnd { head: None, segment: None, whole: 0, torn: false };
        let mut due = None;
        for (number, segment) in segments.iter().enumerate().skip(at) {
            if up_to.is_some_and(|up_to| segment.first > up_to) {
                break;
            }
            if due.is_some_and(|due| due != segment.first) {
                return Err(missing_segment(segment, due));
            }
            let from = if number == at { mark } else { segment.start() };
            let last = number + 1 == segments.len();
            let mut reader = Reader::open(&*self.disk, segment, from, last, ReadAhead::Many)?;
            while up_to.is_none_or(|up_to| reader.next_seq() <= up_to) {
                let Some(event) = reader.next()? else { break };
                SessionHead::fold(&mut head, session, &event);
            }
            // A writer that died may have left a segment with nothing but a torn line in it.
            if reader.whole() > 0 {
                end.segment = Some(segment.clone());
                end.whole = reader.whole();
                end.torn = reader.torn();
            }
            due = Some(reader.next_seq());
        }
        if end.segment.is_none()
            && let Some(closed) = at.checked_sub(1).and_then(|before| segments.get(before))
        {
            // Nothing but such a segment was looked at: the one before it is closed, and whole.
            end.whole = self.file_len(&closed.path)?;
            end.segment = Some(closed.clone());
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
            .and_then(|first| read(&*self.disk, first.path.parent()?))
            .map(|(index, _)| index)
            .filter(|index| {
                index.safe && index.identity.session == *session && reaches(index.head.last.seq)
            });
        if let Some(index) = index
            && let Some(at) = segments.iter().position(|segment| segment.first == index.segment)
        {
            let record = HeadRecord { head: index.head, offset: index.offset, start: index.start };
            if self.is_current(&segments[at], &record) {
                return FoldStart::at(at, record);
            }
        }
        for (at, segment) in segments.iter().enumerate().rev() {
            if !reaches(segment.first.saturating_sub(1)) {
                continue;
            }
            let record = find_head_record(&*self.disk, session, segment, |record| {
                // What is only written may be torn before a place that is not, so the end is
                // looked for from where the segment begins.
                let usable = record.offset == 0 || up_to.is_some();
                usable && reaches(record.head.last.seq) && self.is_current(segment, record)
            });
            if let Some(record) = record {
                return FoldStart::at(at, record);
            }
        }
        let mark = segments.first().map_or(Mark { seq: 1, offset: 0 }, Segment::start);
        FoldStart { at: 0, mark, head: None }
    }

    /// Whether what is record is of this journal: its last event is where and what it says.
    fn is_current(&self, segment: &Segment, record: &HeadRecord) -> bool {
        let last = record.head.last;
        if record.offset == 0 {
            return last.seq.checked_add(1) == Some(segment.first);
        }
        let mark = Mark { seq: last.seq, offset: record.start };
        Reader::open(&*self.disk, segment, mark, true, ReadAhead::Few).is_ok_and(|mut reader| {
            let found = reader.next().ok().flatten().map(|event| event.cursor());
            found == Some(last) && reader.whole() == record.offset
        })
    }

    /// The head of a session that must exist, exact up to its last event.
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

/// A segment that does not follow on the one before it.
pub(super) fn missing_segment(segment: &Segment, due: Option<u64>) -> JournalError {
    let due = due.unwrap_or_default();
    let reason = format!("it begins where event {due} is due; a segment is missing");
    JournalError::damaged(segment.path.display().to_string(), reason)
}
