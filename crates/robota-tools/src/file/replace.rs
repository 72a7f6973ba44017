//! Replacing text in the bytes of a file.
//!
//! The search sees every line ending as `\n`, because that is how files are shown; the
//! replacement is written with the line ending of the place it goes to. Every byte outside the
//! replaced text stays what it was, also those that are not UTF-8.

use super::BOM;

/// Lines named when a text is there several times.
const LINES_NAMED: usize = 10;

/// What to replace by what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replacement<'a> {
    /// The text that is there.
    pub old: &'a str,
    /// The text to be there.
    pub new: &'a str,
    /// Every occurrence, instead of the only one.
    pub all: bool,
}

/// The new content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The new content.
    pub content: Vec<u8>,
    /// The line of the first replaced text, counted from 1.
    pub start_line: u64,
    /// How many texts were replaced.
    pub count: u64,
}

/// Why nothing was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreplaced {
    /// There is nothing to look for.
    NothingToFind,
    /// Old and new are the same, line endings aside.
    NoChange,
    /// The text is not there.
    Absent,
    /// It is there more than once.
    Ambiguous {
        /// How often, overlaps included.
        count: u64,
        /// On which lines, the first few.
        lines: Vec<u64>,
    },
}

/// Replaces text.
///
/// # Errors
/// If the text is not there, or there more than once and not all are meant, or nothing would
/// change.
pub fn replace(content: &[u8], replacement: Replacement<'_>) -> Result<Replaced, Unreplaced> {
    let old = seen(replacement.old);
    let new = seen(replacement.new);
    if old.is_empty() {
        return Err(Unreplaced::NothingToFind);
    }
    if old == new {
        return Err(Unreplaced::NoChange);
    }
    let mark = if content.starts_with(BOM) { BOM.len() } else { 0 };
    let view = View::of(&content[mark..]);
    let (first, count) = locate(&view.text, old.as_bytes(), replacement.all)?;

    let body = &content[mark..];
    let mut out = Vec::with_capacity(content.len() + new.len());
    out.extend_from_slice(&content[..mark]);
    let (mut replaced, mut copied, mut free) = (0, 0, 0);
    for at in Matches::new(&view.text, old.as_bytes()) {
        if at < free {
            continue;
        }
        free = at + old.len();
        let (start, end) = (view.origin(at), view.origin(free));
        out.extend_from_slice(&body[copied..start]);
        let ending = Ending::of(&body[start..end]).or(view.ending);
        // With no line ending to follow, the text is taken as it was given.
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

/// The first occurrence, and how many there are.
fn locate(text: &[u8], old: &[u8], all: bool) -> Result<(usize, u64), Unreplaced> {
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
        None => Err(Unreplaced::Absent),
        Some(_) if count > 1 && !all => Err(Unreplaced::Ambiguous { count, lines }),
        Some(first) => Ok((first, count)),
    }
}

fn newlines(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Text as a reader of the file would see it: without mark, with `\n` only.
fn seen(text: &str) -> String {
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
    /// The more frequent ending; `None` if there is none.
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

/// Content with `\n` only, and the way back to where each byte came from.
struct View {
    text: Vec<u8>,
    /// For every `\r` left out: the position in `text` of the `\n` it stood before.
    left_out: Vec<usize>,
    ending: Option<Ending>,
}

impl View {
    fn of(body: &[u8]) -> Self {
        let mut text = Vec::with_capacity(body.len());
        let mut left_out = Vec::new();
        for (at, byte) in body.iter().enumerate() {
            if *byte == b'\r' && body.get(at + 1) == Some(&b'\n') {
                left_out.push(text.len());
            } else {
                text.push(*byte);
            }
        }
        Self { text, left_out, ending: Ending::of(body) }
    }

    /// Where in the body this position of the text lies; for a `\n`, where its `\r` lies.
    fn origin(&self, at: usize) -> usize {
        at + self.left_out.partition_point(|newline| *newline < at)
    }
}

/// All occurrences, overlapping ones too, in time proportional to the text (Knuth, Morris and
/// Pratt): a search that starts over at every byte could be made to take hours.
struct Matches<'a> {
    text: &'a [u8],
    word: &'a [u8],
    /// For each length of matched prefix: its longest proper prefix that is also its suffix.
    border: Vec<usize>,
    at: usize,
    matched: usize,
}

impl<'a> Matches<'a> {
    /// The word must not be empty.
    fn new(text: &'a [u8], word: &'a [u8]) -> Self {
        let mut border = vec![0; word.len() + 1];
        let mut matched = 0;
        for at in 1..word.len() {
            while matched > 0 && word[at] != word[matched] {
                matched = border[matched];
            }
            if word[at] == word[matched] {
                matched += 1;
            }
            border[at + 1] = matched;
        }
        Self { text, word, border, at: 0, matched: 0 }
    }
}

impl Iterator for Matches<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while let Some(byte) = self.text.get(self.at) {
            while self.matched > 0
                && (self.matched == self.word.len() || self.word[self.matched] != *byte)
            {
                self.matched = self.border[self.matched];
            }
            self.at += 1;
            if self.word[self.matched] == *byte {
                self.matched += 1;
            }
            if self.matched == self.word.len() {
                return Some(self.at - self.matched);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
