//! Writes to the terminal: finished lines once, into its scrollback, and below them a live region
//! of which only the changed rows are written again.
//!
//! All positions are relative to the live region's first row, because a terminal does not say
//! where on the screen that row is, and it moves when the terminal scrolls or changes its size.

mod full;
mod paint;

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use super::text::{Line, break_anywhere, truncate};
use super::theme::Theme;
use full::Frame;
use paint::Painter;

/// What a terminal does with lines that are too long after it became narrower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Narrowing {
    /// It breaks them into several rows, as most terminals do.
    Breaks,
    /// It breaks them, but reports its size late when it changes often, as tmux does.
    BreaksLate,
    /// It cuts them, as xterm and the Linux console do.
    Cuts,
}

impl Narrowing {
    /// Selects what the terminal does by variables of the environment.
    pub(crate) fn detect<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Self {
        let multiplexer = |term: &str| term.starts_with("tmux") || term.starts_with("screen");
        match get("TERM") {
            // The variables of multiplexers come first: inside of them XTERM_VERSION can be that of
            // the terminal outside, which does not lay out the rows.
            _ if get("TMUX").is_some() => Self::BreaksLate,
            _ if get("STY").is_some() => Self::Cuts,
            Some("linux") => Self::Cuts,
            Some(term) if multiplexer(term) => Self::BreaksLate,
            _ if get("XTERM_VERSION").is_some() => Self::Cuts,
            _ => Self::Breaks,
        }
    }
}

/// A position in the live region or on the alternate screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) row: usize,
    pub(crate) column: usize,
}

/// What the terminal shows, and the means to change it.
#[derive(Debug)]
pub(crate) struct Screen {
    theme: Theme,
    narrowing: Narrowing,
    columns: usize,
    rows: usize,
    /// The rows of the live region, as they are drawn.
    live: Vec<Line>,
    /// Where the terminal's cursor is in the live region.
    at: Cursor,
    cursor_shown: bool,
    /// The terminal changed its size since the live region was drawn.
    resized: bool,
    /// Finished lines that are not written yet.
    finished: Vec<Line>,
    full: Option<Frame>,
    buffer: Vec<u8>,
}

/// How late a terminal may report its size: tmux waits a quarter of a second after each report.
const LATE: Duration = Duration::from_millis(300);

// Synchronised update on, cursor hidden, automatic line breaks off.
const BEGIN: &[u8] = b"\x1b[?2026h\x1b[?25l\x1b[?7l";
const END: &[u8] = b"\x1b[?2026l";
const WRAP: &[u8] = b"\x1b[?7h";
const SHOW: &[u8] = b"\x1b[?25h";
const HIDE: &[u8] = b"\x1b[?25l";
const ERASE_BELOW: &[u8] = b"\r\x1b[J";

impl Screen {
    /// Creates a screen whose live region begins at the cursor's row. The cursor must be in its
    /// first column.
    pub(crate) fn new(theme: Theme, narrowing: Narrowing, columns: usize, rows: usize) -> Self {
        Self {
            theme,
            narrowing,
            // A letter of a wide script would never fit into one column.
            columns: columns.max(2),
            rows: rows.max(1),
            live: Vec::new(),
            at: Cursor { row: 0, column: 0 },
            cursor_shown: true,
            resized: false,
            finished: Vec::new(),
            full: None,
            buffer: Vec::new(),
        }
    }

    /// Returns how long nothing must be drawn after the terminal reported a size: until then its
    /// size may be another one, and rows could be cut or erased.
    pub(crate) fn unsure_after_resize(&self) -> Option<Duration> {
        (self.narrowing == Narrowing::BreaksLate).then_some(LATE)
    }

    /// Notes the terminal's new size. The next drawing writes the live region again, from its
    /// first row; what is above it stays as the terminal left it.
    pub(crate) fn resize(&mut self, columns: usize, rows: usize) {
        let size = (columns.max(2), rows.max(1));
        // A terminal that reports late may have had another size meanwhile.
        if size == (self.columns, self.rows) && self.narrowing != Narrowing::BreaksLate {
            return;
        }
        (self.columns, self.rows) = size;
        self.resized = true;
        if let Some(full) = &mut self.full {
            full.forget();
        }
    }

    /// Adds finished lines. The next drawing writes them once, above the live region.
    pub(crate) fn commit(&mut self, lines: impl IntoIterator<Item = Line>) {
        self.finished.extend(lines);
    }

    /// Writes the finished lines and the changed rows of the live region, and puts the cursor to
    /// its position there. Writes nothing if nothing changed. If the live region has more rows than
    /// the terminal, its last ones are shown, or those around the cursor.
    pub(crate) fn draw(
        &mut self,
        live: &[Line],
        cursor: Option<Cursor>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        // The alternate screen has no scrollback: finished lines wait until it is left.
        if self.full.is_some() {
            return Ok(());
        }
        let (live, cursor) = clip(live, cursor, self.rows);
        let live = &*fitting(live, self.columns);
        self.buffer.clear();
        // One write for the whole frame, inside a synchronised update, so that no half-drawn frame
        // is visible.
        self.buffer.extend_from_slice(BEGIN);
        let columns = self.columns;
        let finished: Vec<Line> = std::mem::take(&mut self.finished)
            .into_iter()
            .flat_map(|line| break_anywhere(&line, columns))
            .collect();
        let mut painter = Painter::new(&mut self.buffer, self.theme, self.columns);
        painter.row = self.at.row;
        if self.resized {
            let above = rows_above(&self.live, self.at, self.columns, self.narrowing);
            // Rows that scrolled out of the screen cannot be reached: they stay as they are.
            painter.up(above.min(self.rows - 1));
            painter.raw(ERASE_BELOW);
            painter.row = 0;
            self.live.clear();
            self.resized = false;
        }
        painter.existing = self.live.len().max(1);
        // Finished lines push the live region down anyway, so its rows cannot stay where they are.
        if finished.is_empty() {
            painter.scroll(&mut self.live, live);
        }
        let former = self.live.len();
        let mut row = 0;
        while row < finished.len() {
            let parts = parts_of_line(&finished[row..], columns);
            if parts > 1 {
                painter.long_line(row, &finished[row..row + parts]);
            } else if self.live.get(row) != Some(&finished[row]) {
                painter.go_to(row);
                painter.line(self.live.get(row), &finished[row]);
            }
            row += parts;
        }
        for line in live {
            let old = self.live.get(row);
            if old != Some(line) {
                painter.go_to(row);
                painter.line(old, line);
            }
            row += 1;
        }
        let first = finished.len();
        // At least one row, which has the cursor.
        let rows = first + live.len().max(1);
        if former > row {
            // Rows of the former live region remain below the new one.
            painter.go_to(row);
            painter.raw(ERASE_BELOW);
        }
        painter.go_to_existing(rows - 1);
        let painted = painter.finish();
        let target =
            cursor.map_or(Cursor { row: live.len().saturating_sub(1), column: 0 }, |cursor| {
                Cursor { row: cursor.row, column: cursor.column.min(self.columns - 1) }
            });
        let shown = cursor.is_some();
        let from = painted.row - first.min(painted.row);
        self.replace_live(live);
        self.end(painted.wrote, Cursor { row: from, ..self.at }, target, shown);
        if self.buffer.is_empty() {
            return Ok(());
        }
        out.write_all(&self.buffer)?;
        out.flush()
    }

    /// Erases the live region, writes finished lines that wait, and shows the cursor in its first
    /// row: before another program uses the terminal, and at the end.
    pub(crate) fn clear_live(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.leave_full(out)?;
        self.draw(&[], Some(Cursor { row: 0, column: 0 }), out)
    }

    /// Forgets the live region, after another program wrote to the terminal and left the cursor in
    /// the first column.
    pub(crate) fn restart(&mut self) {
        self.live.clear();
        self.at = Cursor { row: 0, column: 0 };
        self.resized = false;
        self.cursor_shown = true;
    }

    /// Erases the screen and the scrollback, so that the caller can commit the whole conversation
    /// again at the present width.
    pub(crate) fn reset(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.finished.clear();
        self.restart();
        // In this order: some terminals move what is on the screen into the scrollback when it is
        // erased, and the scrollback is erased last.
        out.write_all(b"\x1b[0m\x1b[H\x1b[2J\x1b[3J")?;
        out.flush()
    }

    /// Enters the alternate screen, for a view that fills the terminal.
    pub(crate) fn enter_full(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.full.is_some() {
            return Ok(());
        }
        // 1049 also saves the cursor, which `leave_full` restores: `at` stays valid.
        self.full = Some(Frame::default());
        out.write_all(b"\x1b[?1049h")?;
        out.flush()
    }

    /// Returns whether the alternate screen is shown.
    pub(crate) fn is_full(&self) -> bool {
        self.full.is_some()
    }

    /// Writes the changed rows of a view that fills the terminal.
    pub(crate) fn draw_full(
        &mut self,
        lines: &[Line],
        cursor: Option<Cursor>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let Some(frame) = &mut self.full else { return Ok(()) };
        self.buffer.clear();
        let size = (self.columns, self.rows);
        frame.draw(lines, cursor, size, self.theme, &mut self.buffer);
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.cursor_shown = cursor.is_some();
        out.write_all(&self.buffer)?;
        out.flush()
    }

    /// Leaves the alternate screen. The terminal shows the conversation again, with the cursor
    /// where it was.
    pub(crate) fn leave_full(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.full.take().is_none() {
            return Ok(());
        }
        out.write_all(b"\x1b[?1049l")?;
        out.flush()
    }

    /// Keeps the rows that are drawn now, without copying those that did not change.
    fn replace_live(&mut self, live: &[Line]) {
        self.live.truncate(live.len());
        for (row, line) in live.iter().enumerate() {
            match self.live.get_mut(row) {
                Some(old) if old == line => {}
                Some(old) => old.clone_from(line),
                None => self.live.push(line.clone()),
            }
        }
    }

    /// Completes the buffer: moves the cursor from its row to the target.
    fn end(&mut self, wrote: bool, from: Cursor, target: Cursor, shown: bool) {
        if !wrote {
            self.buffer.clear();
            if target == self.at && shown == self.cursor_shown {
                return;
            }
        } else {
            self.buffer.extend_from_slice(WRAP);
        }
        // A frame hides the cursor at its beginning.
        let hidden = wrote || !self.cursor_shown;
        if wrote || target != self.at {
            paint::vertical(&mut self.buffer, from.row, target.row);
            paint::column(&mut self.buffer, target.column);
        }
        if shown && hidden {
            self.buffer.extend_from_slice(SHOW);
        } else if !shown && !hidden {
            self.buffer.extend_from_slice(HIDE);
        }
        if wrote {
            self.buffer.extend_from_slice(END);
        }
        (self.at, self.cursor_shown) = (target, shown);
    }
}

/// Returns how many rows of the live region are above the cursor after the terminal changed its
/// width.
fn rows_above(live: &[Line], at: Cursor, columns: usize, narrowing: Narrowing) -> usize {
    if narrowing == Narrowing::Cuts {
        return at.row;
    }
    let rows = |width: usize| width.div_ceil(columns).max(1);
    let above: usize = live.iter().take(at.row).map(|line| rows(line.width())).sum();
    let width = live.get(at.row).map_or(0, Line::width);
    // A cursor behind the end of its line stays in the last row of that line.
    above + if at.column >= width { rows(width) - 1 } else { at.column / columns }
}

/// Returns how many rows at the beginning are parts of one line that the terminal can break itself.
fn parts_of_line(rows: &[Line], columns: usize) -> usize {
    let full = |row: &Line| row.is_ascii() && row.width() == columns;
    let joined = |pair: &&[Line]| full(&pair[0]) && pair[1].is_ascii() && pair[1].goes_on();
    let plain = |row: &Line| row.0.iter().all(|span| span.link.is_none());
    let parts = 1 + rows.windows(2).take_while(joined).count();
    if rows[..parts].iter().all(plain) { parts } else { 1 }
}

/// Cuts the live region to the terminal's height.
fn clip(live: &[Line], cursor: Option<Cursor>, rows: usize) -> (&[Line], Option<Cursor>) {
    let Some(mut hidden) = live.len().checked_sub(rows) else {
        let last = live.len().saturating_sub(1);
        return (live, cursor.map(|cursor| Cursor { row: cursor.row.min(last), ..cursor }));
    };
    if let Some(cursor) = cursor {
        hidden = hidden.min(cursor.row);
    }
    let cursor = cursor.map(|cursor| Cursor { row: (cursor.row - hidden).min(rows - 1), ..cursor });
    (&live[hidden..hidden + rows], cursor)
}

/// Cuts lines that are wider than the terminal, which a view should not produce.
fn fitting(lines: &[Line], columns: usize) -> Cow<'_, [Line]> {
    if lines.iter().all(|line| line.width() <= columns) {
        Cow::Borrowed(lines)
    } else {
        Cow::Owned(lines.iter().map(|line| truncate(line, columns)).collect())
    }
}

#[cfg(test)]
mod tests;
