//! Reads a range of lines of a file of any size, in one pass and with bounded memory.

use std::fs::Metadata;
use std::io::Read;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::BOM;
use super::edit::MAX_EDIT_BYTES;
use super::encoding::Encoding;
use super::open::open_file;
use super::resolved_path::ResolvedPath;
use super::stamp::FileStamp;
use crate::error::FileError;

/// The number of lines that are read by default.
pub const DEFAULT_LINES: u64 = 2_000;
/// The most characters of one line that are shown.
pub const MAX_LINE_CHARS: usize = 2_000;
/// The most bytes of text that one call returns.
pub const MAX_SHOWN_BYTES: usize = 256 * 1024;

const CHUNK: usize = 64 * 1024;
/// The most bytes that the shown characters of a line can need.
const MAX_KEPT_BYTES: usize = MAX_LINE_CHARS * 4;

/// Selects the lines to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The first line, counted from 1 (0 means 1).
    pub offset: u64,
    /// The maximum number of lines.
    pub limit: u64,
}

impl Default for Range {
    fn default() -> Self {
        Self { offset: 1, limit: DEFAULT_LINES }
    }
}

/// Holds a range of lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The numbered lines, and notes in brackets about what is not shown.
    pub text: String,
    /// The number of lines in `text`.
    pub lines: u64,
    /// The number of lines of the file; `None` if the file is too large to count them.
    pub total: Option<u64>,
    /// The stamp of the content that was read.
    pub stamp: FileStamp,
}

/// Reads lines of a text file.
///
/// # Errors
/// If it is not a text file, cannot be read, or does not have these lines.
pub fn read_window(path: &Path, range: Range) -> Result<Window, FileError> {
    let (file, metadata) = open_file(&ResolvedPath::new(path)?)?;
    read_from(file, path, &metadata, range, MAX_EDIT_BYTES)
}

/// Reads lines of an open text file.
///
/// # Errors
/// If it is not text, cannot be read, or does not have these lines.
pub(crate) fn read_open(
    file: std::fs::File,
    path: &Path,
    metadata: &Metadata,
    range: Range,
) -> Result<Window, FileError> {
    read_from(file, path, metadata, range, MAX_EDIT_BYTES)
}

/// Reads lines of a text that is not in the file, such as that of an editor.
///
/// # Errors
/// If it does not have these lines.
pub(crate) fn read_text(
    text: &str,
    path: &Path,
    metadata: &Metadata,
    range: Range,
) -> Result<Window, FileError> {
    read_from(text.as_bytes(), path, metadata, range, 0)
}

/// Reads lines from a source. Files of up to `max_hashed` bytes are read to their end, to get their
/// hash and number of lines.
fn read_from(
    mut source: impl Read,
    path: &Path,
    metadata: &Metadata,
    range: Range,
    max_hashed: u64,
) -> Result<Window, FileError> {
    let mut scan = Scan::new(range);
    let mut hash = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    let mut read = 0;
    let mut text = Text::default();
    let complete = loop {
        // Full chunks: the encoding is detected by the first one, and a short one means the end.
        let filled = fill(&mut source, &mut chunk).map_err(FileError::io("read", path))?;
        let bytes = &chunk[..filled];
        if read == 0 {
            let encoding =
                Encoding::of(bytes).ok_or_else(|| FileError::Binary { path: path.to_owned() })?;
            text = Text::new(encoding);
        }
        if read <= max_hashed {
            hash.update(bytes);
        }
        let last = filled < chunk.len();
        let decoded = text.decode(bytes, last);
        scan.feed(if read == 0 { decoded.strip_prefix(BOM).unwrap_or(decoded) } else { decoded });
        read += filled as u64;
        if last {
            break true;
        }
        // A file that is too large to be edited needs no hash, so the rest is not read.
        if read > max_hashed && scan.is_satisfied() {
            break false;
        }
    };
    scan.end();

    let total = complete.then(|| scan.line - 1);
    let stamp = FileStamp {
        len: if complete { read } else { metadata.len() },
        modified: metadata.modified().ok(),
        digest: (complete && read <= max_hashed).then(|| hash.finalize().into()),
    };
    if let Some(lines) = total
        && scan.shown == 0
        && lines > 0
        && range.limit > 0
    {
        return Err(FileError::PastEnd { path: path.to_owned(), offset: range.offset, lines });
    }
    if read == 0 && range.offset > 1 {
        return Err(FileError::PastEnd { path: path.to_owned(), offset: range.offset, lines: 0 });
    }
    let lines = scan.shown;
    let mut shown = scan.into_text(total);
    if let Some(name) = text.encoding.and_then(Encoding::name) {
        shown.push_str(&format!("[encoding: {name}; edits keep it]\n"));
    }
    Ok(Window { text: shown, lines, total, stamp })
}

/// Decodes a file to UTF-8, chunk by chunk.
#[derive(Default)]
struct Text {
    encoding: Option<Encoding>,
    decoder: Option<encoding_rs::Decoder>,
    decoded: Vec<u8>,
}

impl Text {
    fn new(encoding: Encoding) -> Self {
        Self { encoding: Some(encoding), decoder: encoding.decoder(), decoded: Vec::new() }
    }

    fn decode<'a>(&'a mut self, bytes: &'a [u8], last: bool) -> &'a [u8] {
        let Some(decoder) = &mut self.decoder else { return bytes };
        let room = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len() * 4);
        self.decoded.resize(room, 0);
        let (_, _, written, _) = decoder.decode_to_utf8(bytes, &mut self.decoded, last);
        &self.decoded[..written]
    }
}

/// Reads until the buffer is full or the source ends.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Splits text into lines and collects those of the range.
struct Scan {
    /// The first line to show.
    first: u64,
    /// The first line not to show.
    stop: u64,
    /// The number of the current line.
    line: u64,
    /// The start of the current line, and its number of bytes so far.
    kept: Vec<u8>,
    len: u64,
    text: String,
    /// The number of lines in `text`.
    shown: u64,
    /// Whether `text` has reached its maximum size.
    full: bool,
    /// Whether a shown line has invalid UTF-8.
    not_utf8: bool,
}

impl Scan {
    fn new(range: Range) -> Self {
        let first = range.offset.max(1);
        Self {
            first,
            stop: first.saturating_add(range.limit),
            line: 1,
            kept: Vec::new(),
            len: 0,
            text: String::new(),
            shown: 0,
            full: false,
            not_utf8: false,
        }
    }

    /// Returns whether all lines to show were read, and it is known whether there are more.
    fn is_satisfied(&self) -> bool {
        self.line >= self.stop && self.len > 0 || self.line > self.stop
    }

    fn in_range(&self) -> bool {
        (self.first..self.stop).contains(&self.line)
    }

    fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.line >= self.stop {
                self.count(bytes);
                return;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.in_range() {
                let room = MAX_KEPT_BYTES + 1 - self.kept.len().min(MAX_KEPT_BYTES + 1);
                self.kept.extend_from_slice(&part[..part.len().min(room)]);
            }
            self.len += part.len() as u64;
            let Some(end) = end else { return };
            self.end_line();
            bytes = &bytes[end + 1..];
        }
    }

    /// Counts lines after the range without collecting them.
    fn count(&mut self, bytes: &[u8]) {
        self.line += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let open = bytes.iter().rev().take_while(|byte| **byte != b'\n').count();
        self.len = if open < bytes.len() { open as u64 } else { self.len + open as u64 };
    }

    fn end(&mut self) {
        if self.len > 0 {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        if self.in_range() {
            let row = self.row();
            // The first line is shown in any case, or a call could not get past a long line.
            if self.shown > 0 && self.text.len() + row.len() > MAX_SHOWN_BYTES {
                self.full = true;
                self.stop = self.line;
            } else {
                self.text.push_str(&row);
                self.shown += 1;
            }
        }
        self.kept.clear();
        self.len = 0;
        self.line += 1;
    }

    fn row(&mut self) -> String {
        let whole = self.len == self.kept.len() as u64;
        let line =
            if whole { self.kept.strip_suffix(b"\r").unwrap_or(&self.kept) } else { &self.kept };
        self.not_utf8 |= match std::str::from_utf8(line) {
            Ok(_) => false,
            // A character at the end that was split by cutting the line is not invalid.
            Err(error) => whole || error.error_len().is_some(),
        };
        let text = String::from_utf8_lossy(line);
        let cut = text.char_indices().nth(MAX_LINE_CHARS).map(|(at, _)| at);
        let shown = &text[..cut.unwrap_or(text.len())];
        let note = match cut {
            Some(_) => format!(" [... line cut, it has {} bytes]", self.len),
            None => String::new(),
        };
        format!("{:>6}\t{shown}{note}\n", self.line)
    }

    fn into_text(self, total: Option<u64>) -> String {
        let mut text = self.text;
        let last = self.first + self.shown.saturating_sub(1);
        if total == Some(0) {
            text.push_str("[the file is empty]\n");
        } else if self.shown == 0 {
            text.push_str("[no lines were requested]\n");
        } else if total.is_none_or(|total| last < total) {
            let of = total.map_or_else(|| "many".to_owned(), |total| total.to_string());
            let why = if self.full { " (the limit of one call)" } else { "" };
            text.push_str(&format!(
                "[lines {}-{last} of {of}{why}; continue with offset {}]\n",
                self.first,
                last + 1
            ));
        }
        if self.not_utf8 {
            text.push_str("[not valid UTF-8: invalid bytes are shown as \u{fffd}]\n");
        }
        text
    }
}

#[cfg(test)]
mod tests;
