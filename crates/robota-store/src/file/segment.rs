//! Reads segments line by line, and reports exactly where the damage is.

use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use robota_core::event::{DecodeError, Durability, Envelope};
use robota_core::journal::JournalError;

use crate::disk::{Disk, ReadFile};

/// A longer line is damage: no event is that large, and no reader should load it.
const MAX_LINE: u64 = 256 * 1024 * 1024;

/// A segment on disk: a file with consecutive events of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    /// The sequence number of its first event.
    pub(super) first: u64,
    /// Its file, `{first}.jsonl` or `{first}-{end}.jsonl`.
    pub(super) path: PathBuf,
    /// Whether nothing is appended to it any more.
    pub(super) closed: bool,
    /// The sequence number after its last event, if the file may have more: that of a fork, which
    /// shares the file with its parent up to the fork point.
    pub(super) end: Option<u64>,
}

impl Segment {
    /// Returns the segment of a folder whose first event has that sequence number.
    pub(super) fn starting(folder: &Path, first: u64) -> Self {
        let path = folder.join(format!("{first}.jsonl"));
        Self { first, path, closed: false, end: None }
    }

    /// Returns the segment of a folder that has the events from `first` up to, not including, `end`
    /// of a file that has more.
    pub(super) fn part(folder: &Path, first: u64, end: u64) -> Self {
        let path = folder.join(format!("{first}-{end}.jsonl"));
        Self { first, path, closed: true, end: Some(end) }
    }

    /// Returns the segment of another folder with the same events.
    pub(super) fn in_folder(&self, folder: &Path) -> Self {
        Self { path: folder.join(self.path.file_name().unwrap_or_default()), ..self.clone() }
    }

    /// Returns the mark of its first event.
    pub(super) fn start(&self) -> Mark {
        Mark { seq: self.first, offset: 0 }
    }
}

/// The place of an event in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// The event's sequence number.
    pub(super) seq: u64,
    /// The offset in bytes at which it starts.
    pub(super) offset: u64,
}

/// Lists the segments of a folder, oldest first. A missing folder has none.
pub(super) fn list(disk: &dyn Disk, folder: &Path) -> Result<Vec<Segment>, JournalError> {
    let names = match disk.names(folder) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(JournalError::io("list", folder.display().to_string(), &error));
        }
    };
    let mut segments: Vec<_> = names
        .iter()
        .filter_map(|name| {
            let stem = name.strip_suffix(".jsonl")?;
            let segment = match stem.split_once('-') {
                Some((first, end)) => Segment::part(folder, first.parse().ok()?, end.parse().ok()?),
                None => Segment::starting(folder, stem.parse().ok()?),
            };
            // `+7` and `007` parse as numbers too, but the store never writes such names.
            segment.path.ends_with(name).then_some(segment)
        })
        .collect();
    segments.sort_by_key(|segment| segment.first);
    for segment in segments.iter_mut().rev().skip(1) {
        segment.closed = true;
    }
    Ok(segments)
}

/// Reads one segment. After the end, [`Reader::whole`] and [`Reader::torn`] say how it ended.
pub(super) struct Reader {
    path: PathBuf,
    input: BufReader<Box<dyn ReadFile>>,
    /// As [`Segment::closed`]: only an open segment can have a torn end.
    closed: bool,
    /// As [`Segment::end`]: reading stops before this sequence number.
    end: Option<u64>,
    /// Number of lines read, counted from where reading started.
    line: u64,
    from_start: bool,
    next_seq: u64,
    whole: u64,
    torn: bool,
    /// Whether [`Reader::next`] skips chunks without decoding them.
    skips_chunks: bool,
    buffer: Vec<u8>,
}

/// How many bytes a [`Reader`] reads at a time.
#[derive(Clone, Copy)]
pub(super) enum ReadAhead {
    /// For a few events: about the distance between two marks.
    Few = 8 * 1024,
    /// For a whole segment.
    Many = 64 * 1024,
}

impl Reader {
    /// Opens a segment at the start of an event.
    pub(super) fn open(
        disk: &dyn Disk,
        segment: &Segment,
        from: Mark,
        reads: ReadAhead,
    ) -> Result<Self, JournalError> {
        let fail = |action, error: &io::Error| crate::io(action, &segment.path, error);
        let mut file = disk.open_read(&segment.path).map_err(|error| fail("open", &error))?;
        if from.offset > 0 {
            file.seek(SeekFrom::Start(from.offset)).map_err(|error| fail("read", &error))?;
        }
        Ok(Self {
            path: segment.path.clone(),
            input: BufReader::with_capacity(reads as usize, file),
            closed: segment.closed,
            end: segment.end,
            line: 0,
            from_start: from.offset == 0,
            next_seq: from.seq,
            whole: from.offset,
            torn: false,
            skips_chunks: false,
            buffer: Vec::new(),
        })
    }

    /// Makes [`Reader::next`] skip chunks without decoding them, or not.
    pub(super) fn skip_chunks(&mut self, skip: bool) {
        self.skips_chunks = skip;
    }

    /// Returns the sequence number that the next event must have.
    pub(super) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Returns the length of the complete events that were read, in bytes from the start of the
    /// segment.
    pub(super) fn whole(&self) -> u64 {
        self.whole
    }

    /// Returns whether the segment ends with a line that was not written completely.
    pub(super) fn torn(&self) -> bool {
        self.torn
    }

    /// Returns the next event; none at the end, and at a torn end.
    pub(super) fn next(&mut self) -> Result<Option<Envelope>, JournalError> {
        let length = loop {
            let Some(length) = self.next_line()? else { return Ok(None) };
            if !self.skips_chunks || !Envelope::is_chunk_line(&self.buffer) {
                break length;
            }
            self.advance(length)?;
        };
        let event = match Envelope::decode(&self.buffer) {
            Ok(event) => event,
            Err(error @ (DecodeError::Torn | DecodeError::Checksum { .. })) => {
                let at_end =
                    self.input.fill_buf().map(<[u8]>::is_empty).map_err(|error| self.io(&error))?;
                let reason = error.to_string();
                let lost = at_end || (!self.closed && self.is_hole()?);
                return if lost { self.end_torn(&reason) } else { Err(self.damaged(&reason)) };
            }
            Err(error @ DecodeError::NewerReader { .. }) => {
                // This is not damage: a newer version wrote the event, so nothing may be repaired.
                return Err(JournalError::io("read", self.place(), error));
            }
            Err(error @ DecodeError::Malformed(_)) => return Err(self.damaged(&error.to_string())),
        };
        if event.seq != self.next_seq {
            let reason = format!("found event {}, expected event {}", event.seq, self.next_seq);
            return Err(self.damaged(&reason));
        }
        self.advance(length)?;
        Ok(Some(event))
    }

    /// Skips to the event with that sequence number without decoding those before it. Returns
    /// whether there is a line for it.
    pub(super) fn skip_to(&mut self, seq: u64) -> Result<bool, JournalError> {
        while self.next_seq < seq {
            let Some(length) = self.next_line()? else { return Ok(false) };
            self.advance(length)?;
        }
        Ok(true)
    }

    /// Returns whether the line just read has zero bytes that a power failure left in data that was
    /// not synced. In that case nothing after them was acknowledged, and it may be cut off. If an event
    /// that is always synced follows, the zeros are damage, which must not be cut off.
    fn is_hole(&mut self) -> Result<bool, JournalError> {
        if !self.buffer.contains(&0) {
            return Ok(false);
        }
        let mut line = Vec::new();
        loop {
            line.clear();
            let rest = (&mut self.input).take(MAX_LINE);
            if { rest }.read_until(b'\n', &mut line).map_err(|error| self.io(&error))? == 0 {
                return Ok(true);
            }
            let synced = |event: Envelope| event.event.durability() == Durability::Synced;
            if Envelope::decode(&line).is_ok_and(synced) {
                return Ok(false);
            }
        }
    }

    /// Reads a line into the buffer and returns its length; none at the end.
    fn next_line(&mut self) -> Result<Option<u64>, JournalError> {
        if self.torn || self.end.is_some_and(|end| self.next_seq >= end) {
            return Ok(None);
        }
        self.buffer.clear();
        let read = (&mut self.input)
            .take(MAX_LINE + 1)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|error| self.io(&error))?;
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        let length = read as u64;
        if length > MAX_LINE {
            return Err(self.damaged(&format!("the line is longer than {MAX_LINE} bytes")));
        }
        if !self.buffer.ends_with(b"\n") {
            // Only a line of an open segment can be cut off while it was written.
            return self.end_torn("the line does not end with a newline").map(|_| None);
        }
        Ok(Some(length))
    }

    fn advance(&mut self, length: u64) -> Result<(), JournalError> {
        self.next_seq = self
            .next_seq
            .checked_add(1)
            .ok_or_else(|| self.damaged("its sequence number cannot be increased"))?;
        self.whole += length;
        Ok(())
    }

    fn end_torn(&mut self, reason: &str) -> Result<Option<Envelope>, JournalError> {
        if self.closed {
            return Err(self.damaged(reason));
        }
        self.torn = true;
        Ok(None)
    }

    fn place(&self) -> String {
        let path = self.path.display();
        if self.from_start {
            format!("{path}, line {}", self.line)
        } else {
            format!("{path}, event {}", self.next_seq)
        }
    }

    fn damaged(&self, reason: &str) -> JournalError {
        JournalError::damaged(self.place(), reason)
    }

    fn io(&self, error: &io::Error) -> JournalError {
        crate::io("read", &self.path, error)
    }
}
