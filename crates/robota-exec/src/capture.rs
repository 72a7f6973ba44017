//! Output with bounded memory: the first bytes, the last bytes, and how many lay between.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

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
    /// The folder for the file, which is made when it is needed.
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

/// A file with a stream that was more than its [`Limits`]. It is the caller's from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spilled {
    /// The file, readable by its owner only.
    pub path: PathBuf,
    /// How much of the stream it holds, from its start.
    pub bytes: u64,
}

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
        text.push_str(&format!("[... {cut} of {} bytes cut ...]\n", self.total_bytes()));
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
    file: Option<(File, Spilled)>,
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
        let (Some((file, spilled)), Some(spill)) = (&mut self.file, &self.spill) else { return };
        let room = spill.most.saturating_sub(spilled.bytes);
        let bytes = &bytes[..bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
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
            spilled: self.file.map(|(_, spilled)| spilled),
        }
    }
}

fn begin(spill: &Spill) -> std::io::Result<(File, Spilled)> {
    std::fs::create_dir_all(&spill.dir)?;
    let file = tempfile::Builder::new().prefix("output-").suffix(".txt").tempfile_in(&spill.dir)?;
    let (file, path) = file.keep().map_err(|error| error.error)?;
    Ok((file, Spilled { path, bytes: 0 }))
}

#[cfg(test)]
mod tests;
