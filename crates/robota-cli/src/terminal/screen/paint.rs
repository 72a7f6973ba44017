//! Writes rows: only what differs from the row that is drawn, and with absolute columns after
//! letters whose width a terminal may see differently.

use std::io::Write as _;

use unicode_width::UnicodeWidthChar as _;

use crate::terminal::text::{Ground, Line, Span, Style, width};
use crate::terminal::theme::Theme;

const ERASE_LINE: &[u8] = b"\x1b[2K";
const ERASE_RIGHT: &[u8] = b"\x1b[K";

/// Writes rows below each other.
pub(super) struct Painter<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    theme: Theme,
    columns: usize,
    /// The row in which the cursor is.
    pub(super) row: usize,
    /// The number of rows that exist. The terminal may have to scroll to make more.
    pub(super) existing: usize,
}

/// What a painter did.
pub(super) struct Painted {
    /// Whether it wrote anything.
    pub(super) wrote: bool,
    /// The row in which the cursor is.
    pub(super) row: usize,
}

impl<'a> Painter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>, theme: Theme, columns: usize) -> Self {
        let start = out.len();
        Self { out, start, theme, columns, row: 0, existing: 1 }
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    pub(super) fn up(&mut self, rows: usize) {
        vertical(self.out, rows, 0);
    }

    /// Moves to a row, and makes it if it does not exist.
    pub(super) fn go_to(&mut self, row: usize) {
        let known = row.min(self.existing - 1);
        vertical(self.out, self.row, known);
        self.row = known;
        while self.row < row {
            self.raw(b"\r\n");
            self.row += 1;
        }
        self.existing = self.existing.max(row + 1);
    }

    /// Makes a row if it does not exist.
    pub(super) fn go_to_existing(&mut self, row: usize) {
        if row >= self.existing {
            self.go_to(row);
        }
    }

    /// Lets the terminal move rows up that are drawn already: the upper rows of a live region whose
    /// text grows at its end. The rows below them stay.
    pub(super) fn scroll(&mut self, old: &mut [Line], new: &[Line]) {
        let Some((by, end)) = moved_up(old, new) else { return };
        self.go_to(0);
        let _ = write!(self.out, "\r\x1b[{by}M");
        self.go_to(end - by);
        let _ = write!(self.out, "\x1b[{by}L");
        old[..end].rotate_left(by);
        old[end - by..end].fill(Line::default());
    }

    /// Writes a line into the row of the cursor, over the line that is drawn there.
    pub(super) fn line(&mut self, old: Option<&Line>, new: &Line) {
        line(self.out, &self.theme, self.columns, old, new);
    }

    /// Writes rows of one long line so that the terminal breaks it, and joins it when it is copied.
    pub(super) fn long_line(&mut self, row: usize, parts: &[Line]) {
        let known = (row + parts.len()).min(self.existing);
        // From the bottom up, so that the cursor ends in the first of the rows.
        for below in (row..known).rev() {
            self.go_to(below);
            self.raw(ERASE_LINE);
        }
        self.go_to(row);
        // The terminal breaks only these lines itself. Everywhere else a line that it measures
        // wider must not push the rows below it down.
        self.raw(b"\x1b[?7h\r");
        let mut style = Style::default();
        for span in parts.iter().flat_map(|part| &part.0) {
            if span.style != style {
                self.theme.write(span.style, self.out);
                style = span.style;
            }
            self.raw(span.text.as_bytes());
        }
        if style != Style::default() {
            self.theme.write(Style::default(), self.out);
        }
        self.raw(b"\x1b[?7l");
        self.row = row + parts.len() - 1;
        self.existing = self.existing.max(self.row + 1);
    }

    pub(super) fn finish(self) -> Painted {
        Painted { wrote: self.out.len() > self.start, row: self.row }
    }
}

/// Writes a line into the row of the cursor, over the line that is drawn there.
pub(super) fn line(
    out: &mut Vec<u8>,
    theme: &Theme,
    columns: usize,
    old: Option<&Line>,
    new: &Line,
) {
    // A shorter row is erased as a whole: some terminals keep the blanks behind a text that was
    // shortened, and break them when they become narrower. So is a row with letters whose width a
    // terminal may see differently: it could leave a part of them.
    let extends = |old: &Line, same: &Same| {
        old.width() <= new.width() && same.rest_is_ascii(old) && same.rest_is_ascii(new)
    };
    let same = old.map(|old| (old, common(old, new))).filter(|(old, same)| extends(old, same));
    let erases = same.is_none();
    let same = same.map_or(Same::default(), |(_, same)| same);
    column(out, same.column);
    if erases {
        out.extend_from_slice(ERASE_LINE);
    }
    let mut at = same.column;
    let mut style = Style::default();
    for (index, span) in new.0.iter().enumerate().skip(same.spans) {
        let text = if index == same.spans { &span.text[same.bytes..] } else { &span.text };
        if text.is_empty() {
            continue;
        }
        if span.style != style {
            theme.write(span.style, out);
            style = span.style;
        }
        let link = span.link.as_deref().filter(|_| theme.links());
        if let Some(address) = link {
            open_link(out, address);
        }
        let plain = span.style.ground == Ground::Plain && !span.style.reverse;
        at = write_text(out, text, at, columns, plain);
        if link.is_some() {
            out.extend_from_slice(b"\x1b]8;;\x1b\\");
        }
    }
    if style != Style::default() {
        theme.write(Style::default(), out);
    }
}

/// Writes text and returns the column behind it. After letters that a terminal may measure
/// differently the column is set. Where a terminal draws an emoji of several parts as several ones,
/// those behind that column are erased, unless the text has a background, which the erasing would
/// spread.
fn write_text(
    out: &mut Vec<u8>,
    text: &str,
    mut at: usize,
    columns: usize,
    may_erase: bool,
) -> usize {
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        out.extend_from_slice(&rest.as_bytes()[..plain]);
        at += plain;
        rest = &rest[plain..];
        let other = rest.bytes().position(|byte| byte.is_ascii()).unwrap_or(rest.len());
        if other > 0 {
            out.extend_from_slice(&rest.as_bytes()[..other]);
            let parts = width_of_parts(&rest[..other]);
            let run = width(&rest[..other]);
            at += run;
            rest = &rest[other..];
            if at < columns {
                column(out, at);
                if may_erase && parts > run {
                    out.extend_from_slice(ERASE_RIGHT);
                }
            }
        }
    }
    at
}

/// Returns the width of a text if each character is drawn separately.
fn width_of_parts(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or(0)).sum()
}

/// Fewer rows than this are drawn again instead of moved: moving them would write as many bytes.
const LEAST_MOVED: usize = 4;
/// Rows that moved up by more than this are not searched for: the search compares all rows at each
/// distance.
const MOST_BY: usize = 20;

/// Returns by how many rows the upper rows moved up, and where they ended.
fn moved_up(old: &[Line], new: &[Line]) -> Option<(usize, usize)> {
    // The usual frame, in which nothing moved, does not pay for the search.
    if old.first() == new.first() {
        return None;
    }
    let moved = |by: usize| {
        let same = |(old, new): &(&Line, &Line)| old == new;
        let count = old.get(by..)?.iter().zip(new).take_while(same).count();
        (count >= LEAST_MOVED).then_some((count, by))
    };
    let (count, by) = (1..=MOST_BY.min(old.len())).filter_map(moved).max()?;
    Some((by, by + count))
}

/// How much of two lines is the same.
#[derive(Default)]
struct Same {
    /// The number of spans.
    spans: usize,
    /// The number of bytes of the span after them.
    bytes: usize,
    column: usize,
}

impl Same {
    /// Returns whether what follows the same part is ASCII.
    fn rest_is_ascii(&self, line: &Line) -> bool {
        let mut rest = line.0.iter().skip(self.spans);
        rest.next().is_none_or(|span| span.text.as_bytes()[self.bytes..].is_ascii())
            && rest.all(|span| span.text.is_ascii())
    }
}

/// Returns how much of two lines is the same, up to a place whose column is certain.
fn common(old: &Line, new: &Line) -> Same {
    let mut same = Same::default();
    for (left, right) in old.0.iter().zip(&new.0) {
        if left == right {
            same.column += width(&right.text);
            same.spans += 1;
            continue;
        }
        if left.looks_like(right) {
            same.bytes = common_text(left, right);
            same.column += width(&right.text[..same.bytes]);
        }
        return same;
    }
    same
}

fn common_text(left: &Span, right: &Span) -> usize {
    let (left, right) = (left.text.as_bytes(), right.text.as_bytes());
    let equal = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    // Only the column behind an ASCII letter is certain, and a letter that combines with it could
    // follow.
    let mut at = equal;
    while at > 0 && !right[at - 1].is_ascii() {
        at -= 1;
    }
    let combines = |text: &[u8]| text.get(at).is_some_and(|byte| !byte.is_ascii());
    if at > 0 && (combines(left) || combines(right)) { at - 1 } else { at }
}

fn open_link(out: &mut Vec<u8>, address: &str) {
    out.extend_from_slice(b"\x1b]8;;");
    for byte in address.bytes() {
        match byte {
            // Any other byte could end the sequence, and what follows would be an escape sequence
            // of the text.
            0x21..=0x7e => out.push(byte),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out.extend_from_slice(b"\x1b\\");
}

/// Moves the cursor from one row to another that exists. The caller sets the column after that.
pub(super) fn vertical(out: &mut Vec<u8>, from: usize, to: usize) {
    // Line feeds make a row where none is, should the terminal have fewer than it seems.
    out.extend(std::iter::repeat_n(b'\n', to.saturating_sub(from)));
    let _ = match from.saturating_sub(to) {
        0 => Ok(()),
        1 => write!(out, "\x1b[A"),
        rows => write!(out, "\x1b[{rows}A"),
    };
}

/// Moves the cursor to a column, counted from 0.
pub(super) fn column(out: &mut Vec<u8>, column: usize) {
    if column == 0 {
        out.push(b'\r');
    } else {
        let _ = write!(out, "\x1b[{}G", column + 1);
    }
}
