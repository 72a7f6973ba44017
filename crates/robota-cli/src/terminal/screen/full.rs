//! A view on the alternate screen.

use std::io::Write as _;

use super::{BEGIN, Cursor, END, HIDE, SHOW, WRAP, fitting, paint};
use crate::terminal::text::Line;
use crate::terminal::theme::Theme;

/// What the alternate screen shows.
#[derive(Debug, Default)]
pub(super) struct Frame {
    rows: Vec<Line>,
    cursor: Option<Cursor>,
    drawn: bool,
}

impl Frame {
    /// Forgets what is drawn: the next drawing writes everything.
    pub(super) fn forget(&mut self) {
        self.drawn = false;
    }

    /// Writes the rows that changed.
    pub(super) fn draw(
        &mut self,
        lines: &[Line],
        cursor: Option<Cursor>,
        (columns, height): (usize, usize),
        theme: Theme,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(BEGIN);
        let start = out.len();
        let whole = !self.drawn;
        if whole {
            out.extend_from_slice(b"\x1b[0m\x1b[H\x1b[2J");
            self.rows.clear();
        }
        let lines = &*fitting(&lines[..lines.len().min(height)], columns);
        for (row, line) in lines.iter().enumerate() {
            let old = self.rows.get(row);
            if old == Some(line) || (old.is_none() && line.is_empty()) {
                continue;
            }
            // Absolute rows are certain here, unlike in the live region: the alternate screen does
            // not scroll.
            let _ = write!(out, "\x1b[{}H", row + 1);
            paint::line(out, &theme, columns, old, line);
        }
        if self.rows.len() > lines.len() {
            let _ = write!(out, "\x1b[{}H\x1b[J", lines.len() + 1);
        }
        self.rows.truncate(lines.len());
        for (row, line) in lines.iter().enumerate() {
            match self.rows.get_mut(row) {
                Some(old) if old == line => {}
                Some(old) => old.clone_from(line),
                None => self.rows.push(line.clone()),
            }
        }
        let wrote = out.len() > start;
        if wrote {
            out.extend_from_slice(WRAP);
        } else {
            out.clear();
        }
        if wrote || self.cursor != cursor {
            match cursor {
                Some(Cursor { row, column }) => {
                    let _ = write!(out, "\x1b[{};{}H", row + 1, column.min(columns - 1) + 1);
                    out.extend_from_slice(SHOW);
                }
                None if !wrote => out.extend_from_slice(HIDE),
                // The frame has hidden it already.
                None => {}
            }
        }
        if wrote {
            out.extend_from_slice(END);
        }
        (self.cursor, self.drawn) = (cursor, true);
    }
}
