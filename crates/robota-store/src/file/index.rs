//! What is known of a session without reading its journal: `head.json`, and `{first}.head` for
//! each segment, which says line by line what was known where the segment begins and at some
//! places in it. Both are made from the journal, never synced, and may be deleted at any time.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, SessionHead};
use serde::{Deserialize, Serialize};

use super::Files;
use super::identity::{Found, Identity};
use super::replace::{Wait, replace};
use super::segment::{Mark, ReadAhead, Reader, Segment};
use crate::disk::{Disk, Make};
use crate::failpoint::failpoint;

/// More than any head; the file is not read further.
const LIMIT: u64 = 256 * 1024;

/// `head.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Index {
    /// A copy, so that a list reads one file per session.
    pub(super) identity: Identity,
    /// What is known up to [`Index::offset`].
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
pub(super) struct Known {
    /// What is known there.
    pub(super) head: SessionHead,
    /// The place: so many bytes of the segment are folded into the head.
    pub(super) offset: u64,
    /// Where the last event of that begins, when it is in this segment.
    pub(super) start: u64,
}

/// Where a journal ends, and what is known there.
pub(super) struct End {
    /// What is known; none when there is no event.
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
    let user = file.look().ok()?.user;
    Some((parse(file)?, user))
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
        let _ = replace(disk, &path(folder), &bytes, Wait::No);
    }
}

/// Keeps what is known at a place in a segment.
pub(super) fn write_known(disk: &dyn Disk, segment: &Segment, known: &Known) {
    let path = head_path(segment);
    if known.offset == 0 {
        // What an earlier segment of that number left.
        let _ = disk.remove(&path);
    }
    if let Ok(mut line) = serde_json::to_vec(known)
        && let Ok(mut file) = disk.open_append(&path, Make::IfMissing)
    {
        line.push(b'\n');
        let _ = file.write(&line);
    }
}

/// The file of the heads known at places in a segment.
fn known_file(disk: &dyn Disk, segment: &Segment) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = disk.open_read(&head_path(segment)).ok()?;
    let _ = file.take(LIMIT).read_to_end(&mut bytes);
    Some(bytes)
}

/// Gives the beginning of a segment, which was copied, the heads known there.
pub(super) fn copy_known(disk: &dyn Disk, from: &Segment, to: &Segment, len: u64) {
    let mut lines = known_file(disk, from).unwrap_or_default();
    // They are in the order of their places.
    let mut end = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    while end > 0 {
        let before = lines[..end - 1].iter().rposition(|byte| *byte == b'\n');
        let start = before.map_or(0, |at| at + 1);
        let known = serde_json::from_slice::<Known>(&lines[start..end]);
        if known.is_ok_and(|known| known.offset <= len) {
            break;
        }
        end = start;
    }
    lines.truncate(end);
    // Nobody needs them.
    if let Ok(mut file) = disk.open_append(&head_path(to), Make::Always) {
        let _ = file.write(&lines);
    }
}

/// The last of the heads known at places in a segment that is `usable`. A torn line is none.
fn find_known(
    disk: &dyn Disk,
    session: &SessionId,
    segment: &Segment,
    usable: impl Fn(&Known) -> bool,
) -> Option<Known> {
    known_file(disk, segment)?
        .rsplit(|byte| *byte == b'\n')
        .filter_map(|line| {
            let known: Known = serde_json::from_slice(line).ok()?;
            // A fork has the segments of its parent.
            let head = SessionHead { session: session.clone(), ..known.head };
            Some(Known { head, ..known })
        })
        .find(usable)
}

/// The files beside a segment that a fork takes along.
pub(super) fn beside(segment: &Segment) -> [PathBuf; 2] {
    [head_path(segment), segment.path.with_extension("idx")]
}

/// Where folding begins: with what is known there.
struct Start {
    at: usize,
    mark: Mark,
    head: Option<SessionHead>,
}

impl Start {
    fn at(at: usize, known: Known) -> Self {
        let mark = Mark { seq: known.head.last.seq.saturating_add(1), offset: known.offset };
        Self { at, mark, head: Some(known.head) }
    }
}

impl Files {
    /// Folds a journal up to an event, or to its end, from the last place at which something is
    /// known. Costs what lies between.
    pub(super) fn fold(
        &self,
        session: &SessionId,
        segments: &[Segment],
        up_to: Option<u64>,
    ) -> Result<End, JournalError> {
        let Start { at, mark, mut head } = self.start(session, segments, up_to);
        let mut end = End { head: None, segment: None, whole: 0, torn: false };
        let mut due = None;
        for (number, segment) in segments.iter().enumerate().skip(at) {
            if up_to.is_some_and(|up_to| segment.first > up_to) {
                break;
            }
            if due.is_some_and(|due| due != segment.first) {
                return Err(missing(segment, due));
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
            end.whole = self.len(&closed.path)?;
            end.segment = Some(closed.clone());
        }
        end.head = head;
        Ok(end)
    }

    fn start(&self, session: &SessionId, segments: &[Segment], up_to: Option<u64>) -> Start {
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
            let known = Known { head: index.head, offset: index.offset, start: index.start };
            if self.fits(&segments[at], &known) {
                return Start::at(at, known);
            }
        }
        for (at, segment) in segments.iter().enumerate().rev() {
            if !reaches(segment.first.saturating_sub(1)) {
                continue;
            }
            let known = find_known(&*self.disk, session, segment, |known| {
                // What is only written may be torn before a place that is not, so the end is
                // looked for from where the segment begins.
                let usable = known.offset == 0 || up_to.is_some();
                usable && reaches(known.head.last.seq) && self.fits(segment, known)
            });
            if let Some(known) = known {
                return Start::at(at, known);
            }
        }
        let mark = segments.first().map_or(Mark { seq: 1, offset: 0 }, Segment::start);
        Start { at: 0, mark, head: None }
    }

    /// Whether what is known is of this journal: its last event is where and what it says.
    fn fits(&self, segment: &Segment, known: &Known) -> bool {
        let last = known.head.last;
        if known.offset == 0 {
            return last.seq.checked_add(1) == Some(segment.first);
        }
        let mark = Mark { seq: last.seq, offset: known.start };
        Reader::open(&*self.disk, segment, mark, true, ReadAhead::Few).is_ok_and(|mut reader| {
            let found = reader.next().ok().flatten().map(|event| event.cursor());
            found == Some(last) && reader.whole() == known.offset
        })
    }

    /// The head of a session that must exist, exact up to its last event.
    pub(super) fn head(&self, session: &SessionId) -> Result<SessionHead, JournalError> {
        let found = self.identity(session)?;
        let segments = super::segment::list(&*self.disk, &self.folder(session))?;
        self.head_of(&found, &segments)
    }

    pub(super) fn head_of(
        &self,
        found: &Found,
        segments: &[Segment],
    ) -> Result<SessionHead, JournalError> {
        let session = &found.identity.session;
        let end = self.fold(session, segments, None)?;
        let head = end.head.ok_or_else(|| JournalError::NotFound(session.clone()))?;
        Ok(SessionHead { foreign: self.is_foreign(found), ..head })
    }
}

/// A segment that does not follow on the one before it.
pub(super) fn missing(segment: &Segment, due: Option<u64>) -> JournalError {
    let due = due.unwrap_or_default();
    let reason = format!("it begins where event {due} is due; a segment is missing");
    JournalError::damaged(segment.path.display().to_string(), reason)
}
