//! Captures output with bounded memory: the first bytes, the last bytes, and the number of bytes
//! between them.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
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

/// Where the whole stream is written if it exceeds its [`Limits`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spill {
    /// The folder in which the file is created. The file has no name, so the system deletes it when
    /// it is closed, also when this process crashes.
    pub dir: PathBuf,
    /// The maximum size of the file; the rest of the stream is not written.
    pub max_bytes: u64,
}

impl Spill {
    /// The default of [`max_bytes`](Self::max_bytes).
    // A model reads a small part of it at most; the limit protects the disk from a command in an
    // endless loop.
    pub const MAX_BYTES: u64 = 64 * 1024 * 1024;

    /// Spills into that folder, up to [`Spill::MAX_BYTES`].
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), max_bytes: Self::MAX_BYTES }
    }
}

/// A stream that exceeded its [`Limits`]. Its file exists until the last clone of this is dropped.
#[derive(Debug, Clone)]
pub struct Spilled {
    file: Arc<File>,
    /// The size of the file: the number of bytes from the start of the stream that were written.
    pub bytes: u64,
}

impl Spilled {
    /// Reads bytes from `offset` on into the buffer and returns how many; 0 at the end.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let room = self.bytes.saturating_sub(offset);
        let wanted = into.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let mut read = 0;
        while read < wanted {
            // Clones share the open file and its position, so that the position is not used.
            match read_at(&self.file, &mut into[read..wanted], offset + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }
}

#[cfg(unix)]
fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, offset)
}

#[cfg(windows)]
fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, offset)
}

impl PartialEq for Spilled {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.file, &other.file) && self.bytes == other.bytes
    }
}

impl Eq for Spilled {}

/// Holds the captured part of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The first bytes of the stream, at most [`Limits::head`].
    pub head: Vec<u8>,
    /// The last bytes; they follow `head` directly when nothing was dropped.
    pub tail: Vec<u8>,
    /// The number of bytes between `head` and `tail` that were dropped.
    pub dropped_bytes: u64,
    /// The file with the whole stream, if it was spilled.
    pub spilled: Option<Spilled>,
}

impl Captured {
    /// Returns the number of bytes of the whole stream.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        (self.head.len() as u64)
            .saturating_add(self.dropped_bytes)
            .saturating_add(self.tail.len() as u64)
    }

    /// Returns whether no byte was dropped.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.dropped_bytes == 0
    }

    /// Returns the stream as text. Bytes that are not UTF-8 become U+FFFD; a line in place of the
    /// dropped bytes says how many there were.
    #[must_use]
    pub fn text(&self) -> String {
        self.text_with(|cut, _| format!("[... {cut} of {} bytes cut ...]", self.total_bytes()))
    }

    /// Like [`text`](Self::text), with the line that `note` returns in place of the dropped bytes.
    /// `note` receives their number and their offset in the stream.
    #[must_use]
    pub fn text_with(&self, note: impl FnOnce(u64, u64) -> String) -> String {
        if self.is_complete() {
            // Decoded in one piece, because a character may be split between head and tail.
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

/// Removes an incomplete character at the end: the cut split it, so it is not invalid text of the
/// program.
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

/// Removes an incomplete character at the start: up to three continuation bytes.
fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(4).take_while(|byte| *byte & 0xC0 == 0x80).count();
    if rest < 4 { &bytes[rest..] } else { bytes }
}

/// Collects a stream and keeps its start and its end.
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

    /// Writes the bytes to the spill file. The file is created just before the first byte is
    /// dropped, when head and tail together still have the whole stream.
    fn spill(&mut self, bytes: &[u8]) {
        if self.file.is_none() {
            let in_memory = self.limits.head.saturating_add(self.limits.tail);
            if self.head.len() + self.tail.len() + bytes.len() <= in_memory {
                return;
            }
            // Only one attempt: it would most likely fail again (for example on a full disk).
            let Some(spill) = self.spill.take() else { return };
            let Ok(created) = create_file(&spill) else { return };
            self.file = Some(created);
            self.spill = Some(spill);
            let so_far = [&self.head[..], self.tail.make_contiguous()].concat();
            self.append(&so_far);
        }
        self.append(bytes);
    }

    fn append(&mut self, bytes: &[u8]) {
        let (Some(spilled), Some(spill)) = (&mut self.file, &self.spill) else { return };
        let room = spill.max_bytes.saturating_sub(spilled.bytes);
        let bytes = &bytes[..bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        let mut file = &*spilled.file;
        match file.write_all(bytes) {
            Ok(()) => spilled.bytes += bytes.len() as u64,
            // The bytes written so far stay usable; no more are written.
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

fn create_file(spill: &Spill) -> io::Result<Spilled> {
    std::fs::create_dir_all(&spill.dir)?;
    Ok(Spilled { file: Arc::new(tempfile::tempfile_in(&spill.dir)?), bytes: 0 })
}

#[cfg(test)]
mod tests;
