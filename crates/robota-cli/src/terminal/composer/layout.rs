//! The rows of a text: where it breaks, and which offset is at which place.

use unicode_segmentation::UnicodeSegmentation as _;

use super::placeholder::Attachments;
use crate::terminal::text::{Line, Role, grapheme_width, printable, truncate, width};

/// A grapheme of the text, or a placeholder.
struct Cell {
    offset: usize,
    columns: usize,
    space: bool,
}

/// A row: a range of the text, of which line breaks are no part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    start: usize,
    end: usize,
    /// Whether the row ends at a line break or at the end of the text.
    last: bool,
}

/// The rows of a text.
pub(super) struct Layout<'a> {
    text: &'a str,
    attachments: &'a Attachments,
    width: usize,
    rows: Vec<Row>,
}

impl<'a> Layout<'a> {
    /// Breaks a text into rows: at spaces, or inside of words that are too long.
    pub(super) fn new(text: &'a str, attachments: &'a Attachments, width: usize) -> Self {
        let mut layout = Self { text, attachments, width: width.max(2), rows: Vec::new() };
        let mut start = 0;
        for line in text.split('\n') {
            layout.add_line(start, line);
            start += line.len() + 1;
        }
        layout
    }

    fn add_line(&mut self, start: usize, line: &str) {
        let mut first = start;
        let mut used = 0;
        let mut last_break = None;
        for cell in self.cells(start, line) {
            // Again if the word that was moved down fills its row too.
            while used + cell.columns > self.width && cell.offset > first {
                let word = last_break.filter(|at| *at > first && !cell.space);
                let end = word.unwrap_or(cell.offset);
                self.rows.push(Row { start: first, end, last: false });
                used = self.columns(end, cell.offset);
                first = end;
            }
            used += cell.columns;
            if cell.space {
                last_break = Some(cell.offset + 1);
            }
        }
        let end = start + line.len();
        self.rows.push(Row { start: first, end, last: true });
        // A full row: what is typed next goes into a row of its own, and so does the cursor.
        if self.columns(first, end) >= self.width {
            if let Some(row) = self.rows.last_mut() {
                row.last = false;
            }
            self.rows.push(Row { start: end, end, last: true });
        }
    }

    fn cells(&self, start: usize, line: &str) -> Vec<Cell> {
        let cell = |(at, grapheme): (usize, &str)| Cell {
            offset: start + at,
            columns: self.grapheme_columns(grapheme),
            space: grapheme == " ",
        };
        line.grapheme_indices(true).map(cell).collect()
    }

    fn label(&self, grapheme: &str) -> Option<String> {
        self.attachments.label(grapheme.chars().next()?)
    }

    fn grapheme_columns(&self, grapheme: &str) -> usize {
        match self.label(grapheme) {
            Some(label) => width(&label).min(self.width),
            // A fixed width: tab stops would make the width of a row depend on what is before it.
            None if grapheme == "\t" => 4,
            None => grapheme_width(grapheme),
        }
    }

    fn columns(&self, start: usize, end: usize) -> usize {
        self.text[start..end].graphemes(true).map(|it| self.grapheme_columns(it)).sum()
    }

    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the row and the column of an offset.
    pub(super) fn position(&self, offset: usize) -> (usize, usize) {
        let row = self.rows.iter().position(|row| {
            row.start <= offset && (offset < row.end || (row.last && offset <= row.end))
        });
        let row = row.unwrap_or(self.rows.len() - 1);
        (row, self.columns(self.rows[row].start, offset))
    }

    /// Returns the offset at a row and a column, or the nearest before it.
    pub(super) fn offset(&self, row: usize, column: usize) -> usize {
        let Row { start, end, last } = self.rows[row];
        let mut used = 0;
        let mut before = start;
        for (at, grapheme) in self.text[start..end].grapheme_indices(true) {
            let columns = self.grapheme_columns(grapheme);
            if used + columns > column {
                return start + at;
            }
            used += columns;
            before = start + at;
        }
        // The end of a row that continues is the beginning of the next one.
        if last { end } else { before }
    }

    /// Returns the text of a row.
    pub(super) fn line(&self, row: usize) -> Line {
        let Row { start, end, .. } = self.rows[row];
        let mut line = Line::default();
        let mut plain = start;
        for (at, letter) in self.text[start..end].char_indices() {
            if let Some(label) = self.attachments.label(letter) {
                line.push(printable(&self.text[plain..start + at]), Role::Text);
                line.extend(truncate(&Line::new(label, Role::Accent), self.width));
                plain = start + at + letter.len_utf8();
            }
        }
        line.push(printable(&self.text[plain..end]), Role::Text);
        line.0.retain(|span| !span.text.is_empty());
        line
    }
}
