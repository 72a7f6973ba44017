//! Reading segments: line by line, in order, and exact about what is wrong where.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use robota_core::event::{DecodeError, Envelope};
use robota_core::journal::JournalError;

use super::disk;

/// A longer line is damage: no event is that large, and no reader must hold it.
const LONGEST_LINE: u64 = 256 * 1024 * 1024;

/// A segment on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    /// The number of its first event.
    pub(super) first: u64,
    /// Its file.
    pub(super) path: PathBuf,
}

impl Segment {
    /// The segment of a folder that begins with this event.
    pub(super) fn starting(folder: &Path, first: u64) -> Self {
        Self { first, path: folder.join(format!("{first}.jsonl")) }
    }
}

/// The segments of a folder, oldest first. A folder that is not there has none.
pub(super) fn list(folder: &Path) -> Result<Vec<Segment>, JournalError> {
    let fail = |error: &io::Error| JournalError::io("list", folder.display().to_string(), error);
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(fail(&error)),
    };
    let mut segments = Vec::new();
    for entry in entries {
        let name = entry.map_err(|error| fail(&error))?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        let Some(first) = number.and_then(|number| number.parse().ok()) else { continue };
        let segment = Segment::starting(folder, first);
        // `+7` and `007` are numbers too, but not names we give.
        if segment.path.file_name() == Some(name.as_os_str()) {
            segments.push(segment);
        }
    }
    segments.sort_by_key(|segment| segment.first);
    Ok(segments)
}

/// Reads one segment. After the end, [`Reader::whole`] and [`Reader::torn`] say how it ended.
#[derive(Debug)]
pub(super) struct Reader {
    path: PathBuf,
    input: BufReader<File>,
    /// Whether a torn end is expected: only the last segment can have one.
    last: bool,
    line: u64,
    next_seq: u64,
    whole: u64,
    torn: bool,
    buffer: Vec<u8>,
}

impl Reader {
    /// Opens a segment; `last` when no other follows it.
    pub(super) fn open(segment: &Segment, last: bool) -> Result<Self, JournalError> {
        let file = disk::open_read(&segment.path).map_err(|error| {
            JournalError::io("open", segment.path.display().to_string(), &error)
        })?;
        Ok(Self {
            path: segment.path.clone(),
            input: BufReader::with_capacity(64 * 1024, file),
            last,
            line: 0,
            next_seq: segment.first,
            whole: 0,
            torn: false,
            buffer: Vec::new(),
        })
    }

    /// The number the event after those read must have.
    pub(super) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// How many bytes are whole events.
    pub(super) fn whole(&self) -> u64 {
        self.whole
    }

    /// Whether the segment ends with a line whose write did not finish.
    pub(super) fn torn(&self) -> bool {
        self.torn
    }

    /// The next event; none at the end, and none at a torn end.
    pub(super) fn next(&mut self) -> Result<Option<Envelope>, JournalError> {
        if self.torn {
            return Ok(None);
        }
        self.buffer.clear();
        let read = (&mut self.input)
            .take(LONGEST_LINE + 1)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|error| self.io(&error))?;
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        let length = read as u64;
        if length > LONGEST_LINE {
            return Err(self.damaged(&format!("the line is longer than {LONGEST_LINE} bytes")));
        }
        if !self.buffer.ends_with(b"\n") {
            // Only a line of the last segment can have been cut off while it was written.
            return self.end_torn("the line has no end");
        }
        let event = match Envelope::decode(&self.buffer) {
            Ok(event) => event,
            Err(error @ (DecodeError::Torn | DecodeError::Checksum { .. })) => {
                let at_end =
                    self.input.fill_buf().map(<[u8]>::is_empty).map_err(|error| self.io(&error))?;
                let reason = error.to_string();
                return if at_end { self.end_torn(&reason) } else { Err(self.damaged(&reason)) };
            }
            Err(error @ DecodeError::NewerReader { .. }) => {
                // Not damage: nothing may be repaired here.
                return Err(JournalError::Io {
                    action: "read",
                    place: self.place(),
                    reason: error.to_string(),
                });
            }
            Err(error @ DecodeError::Malformed(_)) => return Err(self.damaged(&error.to_string())),
        };
        if event.seq != self.next_seq {
            let reason = format!("event {} stands where event {} is due", event.seq, self.next_seq);
            return Err(self.damaged(&reason));
        }
        self.next_seq = event
            .seq
            .checked_add(1)
            .ok_or_else(|| self.damaged("no number can follow that of its event"))?;
        self.whole += length;
        Ok(Some(event))
    }

    fn end_torn(&mut self, reason: &str) -> Result<Option<Envelope>, JournalError> {
        if !self.last {
            return Err(self.damaged(reason));
        }
        self.torn = true;
        Ok(None)
    }

    fn place(&self) -> String {
        format!("{}, line {}", self.path.display(), self.line)
    }

    fn damaged(&self, reason: &str) -> JournalError {
        JournalError::Damaged { place: self.place(), reason: reason.to_owned() }
    }

    fn io(&self, error: &io::Error) -> JournalError {
        JournalError::io("read", self.path.display().to_string(), error)
    }
}
