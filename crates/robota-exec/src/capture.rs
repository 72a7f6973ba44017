//! Output with bounded memory: the first bytes, the last bytes, and how many lay between.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

/// How much of one stream is kept in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes kept from the start.
    pub head: usize,
    /// Bytes kept from the end.
    pub tail: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { head: 64 * 1024, tail: 64 * 1024 }
    }
}

/// Where a stream goes that is more than its [`Limits`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spill {
    /// The folder on whose disk the file lies. It has no name there, so it is gone when nobody
    /// holds it any more, however we end.
    pub dir: PathBuf,
    /// The most that is written.
    pub most: u64,
}

impl Spill {
    /// The most that one call ever spills.
    pub const MOST: u64 = 64 * 1024 * 1024;

    /// Into that folder, as much as ever.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), most: Self::MOST }
    }
}

/// A stream that was more than its [`Limits`], on disk for as long as somebody holds this.
#[derive(Debug, Clone)]
pub struct Spilled {
    file: Arc<File>,
    /// How much of the stream it holds, from its start.
    pub bytes: u64,
}

impl Spilled {
    /// Reads from that place on, as much as fits; nothing at the end.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn read_at(&self, place: u64, into: &mut [u8]) -> io::Result<usize> {
        let room = self.bytes.saturating_sub(place);
        let most = into.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(place))?;
        let mut read = 0;
        while read < most {
            match file.read(&mut into[read..most]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }
}

impl PartialEq for Spilled {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.file, &other.file) && self.bytes == other.bytes
    }
}

impl Eq for Spilled {}

/// What was kept of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes; they follow `head` directly when nothing was dropped.
    pub tail: Vec<u8>,
    /// How many bytes lay between and are gone.
    pub dropped_bytes: u64,
    /// The file it was spilled to, if it was.
    pub spilled: Option<Spilled>,
}

impl Captured {
    /// How many bytes the stream had.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        (self.head.len() as u64)
            .saturating_add(self.dropped_bytes)
            .saturating_add(self.tail.len() as u64)
    }

    /// Whether everything was kept.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.dropped_bytes == 0
    }

    /// The stream as text. Bytes that are not UTF-8 become U+FFFD; where bytes are gone, a line
    /// says how many.
    #[must_use]
    pub fn text(&self) -> String {
        self.text_with(|cut, _| format!("[... {cut} of {} bytes cut ...]", self.total_bytes()))
    }

    /// The same with these words where bytes are gone: how many, and where in the stream they
    /// begin, is told to who says them.
    #[must_use]
    pub fn text_with(&self, note: impl FnOnce(u64, u64) -> String) -> String {
        if self.is_complete() {
            // One decoding, because a character may lie across the seam.
            return String::from_utf8_lossy(&[&self.head[..], &self.tail[..]].concat())
                .into_owned();
        }
        let head = without_cut_end(&self.head);
        let tail = without_cut_start(&self.tail);
        let cut = self.total_bytes().saturating_sub((head.len() + tail.len()) as u64);
        let mut text = String::from_utf8_lossy(head).into_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&note(cut, head.len() as u64));
        text.push('\n');
        text.push_str(&String::from_utf8_lossy(tail));
        text
    }
}

/// Leaves out a character at the end that the cut has split: U+FFFD there would be our doing.
fn without_cut_end(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().rev().take(4).position(|byte| byte & 0xC0 != 0x80);
    let Some(back) = start else { return bytes };
    let at = bytes.len() - 1 - back;
    let width = match bytes[at] {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return bytes,
    };
    if back + 1 < width { &bytes[..at] } else { bytes }
}

/// The same at the start: up to three bytes that continue a character which is gone.
fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(4).take_while(|byte| *byte & 0xC0 == 0x80).count();
    if rest < 4 { &bytes[rest..] } else { bytes }
}

/// Takes a stream in and keeps its ends. [`push`](Self::push) is the one door for every byte of
/// output.
#[derive(Debug)]
pub(crate) struct HeadTail {
    limits: Limits,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
    spill: Option<Spill>,
    file: Option<Spilled>,
}

impl HeadTail {
    pub(crate) fn new(limits: Limits, spill: Option<Spill>) -> Self {
        Self { limits, head: Vec::new(), tail: VecDeque::new(), dropped: 0, spill, file: None }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.spill(bytes);
        let room = self.limits.head.saturating_sub(self.head.len());
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);

        let skip = rest.len().saturating_sub(self.limits.tail);
        let keep = &rest[skip..];
        let excess = (self.tail.len() + keep.len()).saturating_sub(self.limits.tail);
        self.tail.drain(..excess);
        self.tail.extend(keep);
        self.dropped = self.dropped.saturating_add((skip + excess) as u64);
    }

    /// Before the first byte is dropped, all that came so far is still here: that is when the
    /// file begins.
    fn spill(&mut self, bytes: &[u8]) {
        if self.file.is_none() {
            let most = self.limits.head.saturating_add(self.limits.tail);
            if self.head.len() + self.tail.len() + bytes.len() <= most {
                return;
            }
            // One try: a disk that is full stays so.
            let Some(spill) = self.spill.take() else { return };
            let Ok(begun) = begin(&spill) else { return };
            self.file = Some(begun);
            self.spill = Some(spill);
            let so_far = [&self.head[..], self.tail.make_contiguous()].concat();
            self.append(&so_far);
        }
        self.append(bytes);
    }

    fn append(&mut self, bytes: &[u8]) {
        let (Some(spilled), Some(spill)) = (&mut self.file, &self.spill) else { return };
        let room = spill.most.saturating_sub(spilled.bytes);
        let bytes = &bytes[..bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        let mut file = &*spilled.file;
        match file.write_all(bytes) {
            Ok(()) => spilled.bytes += bytes.len() as u64,
            // What is there stays of use; no more is written.
            Err(_) => self.spill = None,
        }
    }

    pub(crate) fn finish(self) -> Captured {
        Captured {
            head: self.head,
            tail: self.tail.into(),
            dropped_bytes: self.dropped,
            spilled: self.file,
        }
    }
}

fn begin(spill: &Spill) -> io::Result<Spilled> {
    std::fs::create_dir_all(&spill.dir)?;
    Ok(Spilled { file: Arc::new(tempfile::tempfile_in(&spill.dir)?), bytes: 0 })
}

#[cfg(test)]
mod tests;
