//! Output with bounded memory: the first bytes, the last bytes, and how many lay between.

use std::collections::VecDeque;

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

/// What was kept of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes; they follow `head` directly when nothing was dropped.
    pub tail: Vec<u8>,
    /// How many bytes lay between and are gone.
    pub dropped_bytes: u64,
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
/// output, so that spilling the whole stream to a file has one place to go.
#[derive(Debug)]
pub(crate) struct HeadTail {
    limits: Limits,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl HeadTail {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, head: Vec::new(), tail: VecDeque::new(), dropped: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
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

    pub(crate) fn finish(self) -> Captured {
        Captured { head: self.head, tail: self.tail.into(), dropped_bytes: self.dropped }
    }
}

#[cfg(test)]
mod tests;
