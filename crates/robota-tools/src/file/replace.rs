//! Replaces text in the bytes of a file.
//!
//! The search treats every line ending as `\n`, because Read shows files that way. The replacement is
//! written with the line ending of the replaced text. All bytes outside the replaced text are kept,
//! also those that are not UTF-8.

use super::BOM;

/// The most line numbers in the error for several occurrences.
const LINES_NAMED: usize = 10;

/// Describes a replacement of text, as a call of Edit asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replacement<'a> {
    /// The text to replace.
    pub old: &'a str,
    /// The text that replaces it.
    pub new: &'a str,
    /// Whether to replace every occurrence. Otherwise the text must occur exactly once.
    pub all: bool,
}

/// Reports what a replacement changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The new content, in UTF-8 and with the line endings of the file.
    pub content: Vec<u8>,
    /// The line of the first replaced text, counted from 1.
    pub start_line: u64,
    /// The number of replaced occurrences.
    pub count: u64,
}

/// Why text was not replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplaceError {
    /// The text to replace is empty.
    NothingToFind,
    /// The old and the new text are the same, apart from line endings.
    NoChange,
    /// The text does not occur.
    Absent,
    /// The text occurs more than once.
    Ambiguous {
        /// The number of occurrences, including overlapping ones.
        count: u64,
        /// The lines of the first few occurrences.
        lines: Vec<u64>,
    },
}

/// Replaces text.
///
/// # Errors
/// If the text does not occur, occurs more than once without `all`, or nothing would change.
pub fn replace(content: &[u8], replacement: Replacement<'_>) -> Result<Replaced, ReplaceError> {
    let old = normalized(replacement.old);
    let new = normalized(replacement.new);
    if old.is_empty() {
        return Err(ReplaceError::NothingToFind);
    }
    if old == new {
        return Err(ReplaceError::NoChange);
    }
    let mark = if content.starts_with(BOM) { BOM.len() } else { 0 };
    let view = NormalizedView::of(&content[mark..]);
    let (first, count) = locate(&view.text, old.as_bytes(), replacement.all)?;

    let body = &content[mark..];
    let mut out = Vec::with_capacity(content.len() + new.len());
    out.extend_from_slice(&content[..mark]);
    let (mut replaced, mut copied, mut free) = (0, 0, 0);
    for at in Matches::new(&view.text, old.as_bytes()) {
        // It overlaps text that was already replaced.
        if at < free {
            continue;
        }
        free = at + old.len();
        let (start, end) = (view.original_position(at), view.original_position(free));
        out.extend_from_slice(&body[copied..start]);
        // A replaced part without a line ending gets that of the file.
        let ending = Ending::of(&body[start..end]).or(view.ending);
        // If the file has no line ending, the text is written as it was given.
        match ending {
            Some(ending) => ending.write(&new, &mut out),
            None => out.extend_from_slice(strip_mark(replacement.new).as_bytes()),
        }
        copied = end;
        replaced += 1;
    }
    out.extend_from_slice(&body[copied..]);
    debug_assert!(replacement.all || (replaced, count) == (1, 1));
    let start_line = 1 + newlines(&view.text[..first]);
    Ok(Replaced { content: out, start_line, count: replaced })
}

/// Returns the position of the first occurrence and the number of occurrences.
fn locate(text: &[u8], old: &[u8], all: bool) -> Result<(usize, u64), ReplaceError> {
    let mut first = None;
    let (mut count, mut line, mut counted) = (0, 1, 0);
    let mut lines = Vec::new();
    for at in Matches::new(text, old) {
        first.get_or_insert(at);
        count += 1;
        if !all && lines.len() < LINES_NAMED {
            line += newlines(&text[counted..at]);
            counted = at;
            lines.push(line);
        }
    }
    match first {
        None => Err(ReplaceError::Absent),
        Some(_) if count > 1 && !all => Err(ReplaceError::Ambiguous { count, lines }),
        Some(first) => Ok((first, count)),
    }
}

fn newlines(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Returns the text without byte order mark and with `\n` only, as Read shows it.
fn normalized(text: &str) -> String {
    strip_mark(text).replace("\r\n", "\n")
}

fn strip_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Lf,
    CrLf,
}

impl Ending {
    /// Returns the more frequent line ending; `None` if there is none.
    fn of(bytes: &[u8]) -> Option<Self> {
        let all = newlines(bytes);
        let crlf = bytes.windows(2).filter(|pair| pair == b"\r\n").count() as u64;
        match all {
            0 => None,
            _ if crlf * 2 > all => Some(Self::CrLf),
            _ => Some(Self::Lf),
        }
    }

    fn write(self, text: &str, out: &mut Vec<u8>) {
        match self {
            Self::Lf => out.extend_from_slice(text.as_bytes()),
            Self::CrLf => out.extend_from_slice(text.replace('\n', "\r\n").as_bytes()),
        }
    }
}

/// The content with `\n` only, and the mapping of positions back to the original content.
struct NormalizedView {
    text: Vec<u8>,
    /// For each removed `\r`: the position in `text` of the `\n` that follows it.
    removed: Vec<usize>,
    ending: Option<Ending>,
}

impl NormalizedView {
    fn of(body: &[u8]) -> Self {
        let mut text = Vec::with_capacity(body.len());
        let mut removed = Vec::new();
        for (at, byte) in body.iter().enumerate() {
            if *byte == b'\r' && body.get(at + 1) == Some(&b'\n') {
                removed.push(text.len());
            } else {
                text.push(*byte);
            }
        }
        Self { text, removed, ending: Ending::of(body) }
    }

    /// Returns the position in the original content; for a `\n`, the position of its `\r`.
    fn original_position(&self, at: usize) -> usize {
        at + self.removed.partition_point(|newline| *newline < at)
    }
}

/// Finds all occurrences, including overlapping ones, in linear time (Knuth-Morris-Pratt). A naive
/// search takes quadratic time, which could be hours for a chosen input.
struct Matches<'a> {
    text: &'a [u8],
    needle: &'a [u8],
    /// For each length of matched prefix: its longest proper prefix that is also its suffix.
    border: Vec<usize>,
    at: usize,
    matched: usize,
}

impl<'a> Matches<'a> {
    /// Creates a search. `needle` must not be empty.
    fn new(text: &'a [u8], needle: &'a [u8]) -> Self {
        let mut border = vec![0; needle.len() + 1];
        let mut matched = 0;
        for at in 1..needle.len() {
            while matched > 0 && needle[at] != needle[matched] {
                matched = border[matched];
            }
            if needle[at] == needle[matched] {
                matched += 1;
            }
            border[at + 1] = matched;
        }
        Self { text, needle, border, at: 0, matched: 0 }
    }
}

impl Iterator for Matches<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while let Some(byte) = self.text.get(self.at) {
            while self.matched > 0
                && (self.matched == self.needle.len() || self.needle[self.matched] != *byte)
            {
                self.matched = self.border[self.matched];
            }
            self.at += 1;
            if self.needle[self.matched] == *byte {
                self.matched += 1;
            }
            if self.matched == self.needle.len() {
                return Some(self.at - self.matched);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
