//! Breaks and cuts lines to a width.

use unicode_segmentation::UnicodeSegmentation as _;

use super::{Line, Role, Span, grapheme_width};

/// A grapheme of a line.
struct Cell {
    span: usize,
    start: usize,
    end: usize,
    width: usize,
    space: bool,
}

/// Breaks a line at spaces, and between wide letters, so that no part is wider than `width`. The
/// parts after the first begin with `indent` spaces. Spaces at a break are dropped; words that are
/// too long are broken between any two graphemes.
pub(crate) fn wrap(line: &Line, width: usize, indent: usize) -> Vec<Line> {
    if line.width() <= width {
        return vec![line.clone()];
    }
    // A wide letter takes two columns.
    let width = width.max(2);
    // On a very narrow terminal an indent would leave no room for words.
    let indent = if indent + 8 > width { 0 } else { indent };
    let cells = cells(line);
    let mut lines = Vec::new();
    let mut first = 0;
    while first < cells.len() {
        let room = if lines.is_empty() { width } else { width - indent };
        let (end, next) = row(&cells, first, room);
        let mut part = Line::default();
        if !lines.is_empty() && indent > 0 {
            part.push(" ".repeat(indent), Role::Text);
        }
        copy(line, &cells[first..end], &mut part);
        lines.push(part);
        first = next;
    }
    if lines.is_empty() {
        lines.push(Line::default());
    }
    lines
}

/// Returns where the row that begins at `first` ends and where the next one begins.
fn row(cells: &[Cell], first: usize, room: usize) -> (usize, usize) {
    let mut used = 0;
    let mut breaks = None;
    for at in first..cells.len() {
        let cell = &cells[at];
        if at > first && !cell.space {
            let before = &cells[at - 1];
            if before.space || cell.width == 2 || before.width == 2 {
                breaks = Some(at);
            }
        }
        used += cell.width;
        if used > room && !cell.space {
            // At least one grapheme per row, also if it is wider than the room.
            let next = breaks.unwrap_or(at.max(first + 1));
            let mut end = next;
            while end > first + 1 && cells[end - 1].space {
                end -= 1;
            }
            return (end, next);
        }
    }
    // Spaces that do not fit at the end are dropped.
    let mut end = cells.len();
    while used > room && end > first && cells[end - 1].space {
        end -= 1;
        used -= cells[end].width;
    }
    (end, cells.len())
}

fn cells(line: &Line) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (span, text) in line.0.iter().map(|span| span.text.as_str()).enumerate() {
        for (start, grapheme) in text.grapheme_indices(true) {
            let end = start + grapheme.len();
            let space = grapheme == " ";
            cells.push(Cell { span, start, end, width: grapheme_width(grapheme), space });
        }
    }
    cells
}

/// Appends cells of a line to another line.
fn copy(from: &Line, cells: &[Cell], to: &mut Line) {
    let mut at = 0;
    while let Some(cell) = cells.get(at) {
        let same = cells[at..].iter().take_while(|other| other.span == cell.span).count();
        let end = cells[at + same - 1].end;
        let span = &from.0[cell.span];
        let text = span.text[cell.start..end].to_owned();
        to.append(Span { text, style: span.style, link: span.link.clone() });
        at += same;
    }
}

/// Breaks a line between any two graphemes, and drops nothing: for code. The parts after the first
/// continue the line of the part before.
pub(crate) fn break_anywhere(line: &Line, width: usize) -> Vec<Line> {
    if line.width() <= width {
        return vec![line.clone()];
    }
    let width = width.max(2);
    let cells = cells(line);
    let mut lines = Vec::new();
    let (mut first, mut used) = (0, 0);
    for (at, cell) in cells.iter().enumerate() {
        if used + cell.width > width && at > first {
            lines.push(part(line, &cells[first..at], first > 0));
            (first, used) = (at, 0);
        }
        used += cell.width;
    }
    lines.push(part(line, &cells[first..], first > 0));
    lines
}

fn part(line: &Line, cells: &[Cell], goes_on: bool) -> Line {
    let mut part = Line::default();
    copy(line, cells, &mut part);
    if let Some(span) = part.0.first_mut() {
        span.style.goes_on = goes_on;
    }
    part
}

/// Cuts a line to a width, with `…` at the cut.
pub(crate) fn truncate(line: &Line, width: usize) -> Line {
    if line.width() <= width {
        return line.clone();
    }
    if width == 0 {
        return Line::default();
    }
    let cells = cells(line);
    let mut used = 0;
    let fits = cells.iter().take_while(|cell| {
        used += cell.width;
        // One column less, for the sign.
        used < width
    });
    let fits = fits.count();
    let mut cut = Line::default();
    copy(line, &cells[..fits], &mut cut);
    let style = cells.get(fits).map(|cell| line.0[cell.span].style).unwrap_or_default();
    cut.push("…", style);
    cut
}
