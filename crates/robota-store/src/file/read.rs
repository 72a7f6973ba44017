//! Reads sessions. Takes no lock, and writes nothing except missing indexes.

use robota_core::event::{Cursor, Envelope};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, SessionFilter, SessionHead, SessionPage};

use super::folder_name::folder_name;
use super::identity::StoredIdentity;
use super::index::{self, Index};
use super::segment::{ReadAhead, Segment};
use super::{Files, identity, marks, segment};
use crate::io;

/// Reads of up to this many single events read no more bytes than needed; larger ones read ahead.
const FEW_EVENTS: usize = 8;

/// Reads of at least this many single events use two threads.
const MANY_EVENTS: usize = 128;

impl Files {
    /// Runs a read. Readers take no lock, so the session may be deleted while it is read: then
    /// whichever file was missing first, the error is that the session does not exist.
    pub(super) fn reading<T>(
        &self,
        session: &SessionId,
        work: impl FnOnce(&Self, &SessionId) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        work(self, session).map_err(|error| match self.identity(session) {
            Err(deleted @ JournalError::NotFound(_)) => deleted,
            _ => error,
        })
    }

    /// Reads the events after a sequence number, oldest first, with or without chunks.
    pub(super) fn read(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
        chunks: bool,
    ) -> Result<Vec<Envelope>, JournalError> {
        let segments = self.segments(session)?;
        let from = after.saturating_add(1);
        // The last segment that starts at or before the first requested event.
        let start = segments.partition_point(|segment| segment.first <= from).saturating_sub(1);
        let mut events = Vec::new();
        let mut due = None;
        for segment in &segments[start..] {
            if events.len() == limit {
                break;
            }
            if due.is_some_and(|due| due != segment.first) {
                return Err(index::missing_segment(segment, due));
            }
            let mut reader = if from <= segment.first {
                segment::Reader::open(&*self.disk, segment, segment.start(), ReadAhead::Many)?
            } else {
                let mut finder = marks::Finder::new(&*self.disk, segment, ReadAhead::Few)?;
                let Some(event) = finder.find(from)? else { break };
                events.extend(Some(event).filter(|event| chunks || !event.event.is_chunk()));
                let Some(reader) = finder.into_reader() else { break };
                reader
            };
            reader.skip_chunks(!chunks);
            while events.len() < limit {
                let Some(event) = reader.next()? else { break };
                events.push(event);
            }
            due = Some(reader.next_seq());
        }
        if events.is_empty() && limit > 0 {
            // The request was past the end, or the journal has no event: then there is no session.
            self.has_events(session, &segments)?;
        }
        Ok(events)
    }

    /// Reads the events with these sequence numbers, in the requested order.
    pub(super) fn read_events(
        &self,
        session: &SessionId,
        seqs: &[u64],
    ) -> Result<Vec<Envelope>, JournalError> {
        let segments = self.segments(session)?;
        if seqs.is_empty() {
            return self.has_events(session, &segments).map(|()| Vec::new());
        }
        let mut sorted = seqs.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        // Decoding takes most of the time of a resume, so two threads share a long list.
        let (first, second) = sorted.split_at(match sorted.len() {
            few if few < MANY_EVENTS => few,
            many => many / 2,
        });
        let find = |seqs: &[u64]| self.find_events(session, &segments, seqs);
        let events = std::thread::scope(|scope| {
            let other = (!second.is_empty()).then(|| scope.spawn(|| find(second)));
            let mut events = find(first)?;
            if let Some(other) = other {
                events.extend(other.join().unwrap_or_else(|_| find(second))?);
            }
            Ok::<_, JournalError>(events)
        })?;
        if sorted == seqs {
            return Ok(events);
        }
        let event = |seq: &u64| events.get(sorted.binary_search(seq).ok()?).cloned();
        Ok(seqs.iter().filter_map(event).collect())
    }

    /// Reads the events with these sequence numbers, which are sorted and unique.
    pub(super) fn find_events(
        &self,
        session: &SessionId,
        segments: &[Segment],
        seqs: &[u64],
    ) -> Result<Vec<Envelope>, JournalError> {
        let reads = if seqs.len() > FEW_EVENTS { ReadAhead::Many } else { ReadAhead::Few };
        let mut events = Vec::with_capacity(seqs.len());
        let mut finder: Option<(usize, marks::Finder<'_>)> = None;
        for seq in seqs.iter().copied() {
            let at = Cursor { epoch: 0, seq };
            // A session without any event does not exist.
            let missing = || match self.has_events(session, segments) {
                Ok(()) => JournalError::NoSuchEvent { session: session.clone(), at },
                Err(error) => error,
            };
            let at = segments.partition_point(|segment| segment.first <= seq);
            let at = at.checked_sub(1).ok_or_else(missing)?;
            let (_, current) = match finder.take().filter(|(of, _)| *of == at) {
                Some(same) => finder.insert(same),
                None => {
                    let next = marks::Finder::new(&*self.disk, &segments[at], reads)?;
                    finder.insert((at, next))
                }
            };
            events.push(current.find(seq)?.ok_or_else(missing)?);
        }
        Ok(events)
    }

    /// Returns whether a session has events after that sequence number, and where its files end:
    /// its last segment and the length of that. Reads no events if the files end where they did
    /// `before`.
    pub(super) fn grown_past(
        &self,
        session: &SessionId,
        seq: u64,
        before: Option<(u64, u64)>,
    ) -> Result<(bool, (u64, u64)), JournalError> {
        let segments = self.segments(session)?;
        let last = segments.last().ok_or_else(|| JournalError::NotFound(session.clone()))?;
        let end = (last.first, self.file_len(&last.path)?);
        let grown = Some(end) != before && !self.read(session, seq, 1, true)?.is_empty();
        Ok((grown, end))
    }

    /// Lists the segments of a session. Fails if there is no such session.
    pub(super) fn segments(&self, session: &SessionId) -> Result<Vec<Segment>, JournalError> {
        self.identity(session)?;
        let segments = segment::list(&*self.disk, &self.folder(session))?;
        if segments.is_empty() {
            return Err(JournalError::NotFound(session.clone()));
        }
        Ok(segments)
    }

    /// Fails if there is no event at all. A second segment exists only after an event.
    fn has_events(&self, session: &SessionId, segments: &[Segment]) -> Result<(), JournalError> {
        let none = || JournalError::NotFound(session.clone());
        match segments {
            [] => Err(none()),
            [only] => {
                let mut reader =
                    segment::Reader::open(&*self.disk, only, only.start(), ReadAhead::Many)?;
                reader.next()?.map(|_| ()).ok_or_else(none)
            }
            _ => Ok(()),
        }
    }

    /// Lists the sessions. Reads one small file for each.
    pub(super) fn list(&self, filter: &SessionFilter) -> Result<SessionPage, JournalError> {
        let names = match self.disk.names(&self.root) {
            Ok(names) => names,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(io("list", &self.root, &error)),
        };
        Ok(filter.page(names.iter().filter_map(|name| self.list_entry(name))))
    }

    /// Returns what a list shows of a folder; none if it contains no session or cannot be read, so
    /// that one damaged session does not hide the others.
    fn list_entry(&self, name: &str) -> Option<SessionHead> {
        let folder = self.root.join(name);
        if let Some((index, user_id)) = index::read(&*self.disk, &folder) {
            let stored = StoredIdentity { identity: index.identity, user_id };
            if folder_name(&stored.identity.session) != *name {
                return None;
            }
            return Some(SessionHead { foreign: self.is_foreign(&stored), ..index.head });
        }
        let stored = identity::read(&*self.disk, &folder).ok()??;
        let session = &stored.identity.session;
        if folder_name(session) != *name {
            return None;
        }
        let segments = segment::list(&*self.disk, &folder).ok()?;
        let end = self.fold(session, &segments, None).ok()?;
        let head = end.head?;
        let foreign = self.is_foreign(&stored);
        if !foreign {
            // Not marked safe: a writer may be appending now.
            let index = Index {
                identity: stored.identity,
                head: head.clone(),
                segment: 0,
                offset: 0,
                start: 0,
                safe: false,
            };
            index::write(&*self.disk, &folder, &index);
        }
        Some(SessionHead { foreign, ..head })
    }

    /// Returns the total size of a session's files in bytes.
    pub(super) fn bytes(&self, session: &SessionId) -> Result<u64, JournalError> {
        self.identity(session)?;
        let folder = self.folder(session);
        let names = self.disk.names(&folder).map_err(|error| io("list", &folder, &error))?;
        let len =
            |name: &String| self.disk.open_read(&folder.join(name)).and_then(|file| file.info());
        Ok(names.iter().filter_map(|name| len(name).ok()).map(|info| info.len).sum())
    }
}
