//! A terminal for tests: vt100, and lines that are broken again when it becomes narrower.

use std::num::NonZeroU16;

use crate::terminal::screen::Narrowing;

pub(super) struct Terminal {
    pub(super) parser: vt100::Parser,
    narrowing: Narrowing,
}

fn size(value: usize) -> NonZeroU16 {
    NonZeroU16::new(u16::try_from(value).unwrap()).unwrap()
}

fn parser(columns: usize, rows: usize) -> vt100::Parser {
    vt100::Parser::new(size(rows), size(columns), 10_000)
}

impl Terminal {
    pub(super) fn new(columns: usize, rows: usize, narrowing: Narrowing) -> Self {
        Self { parser: parser(columns, rows), narrowing }
    }

    pub(super) fn process(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
    }

    /// Returns row and column of the cursor on the screen.
    pub(super) fn cursor(&self) -> (usize, usize) {
        let (row, column) = self.parser.screen().cursor_position();
        (row.into(), column.into())
    }

    /// Returns all rows, with those of the scrollback, and whether each continues in the next.
    fn rows(&mut self) -> Vec<(String, bool)> {
        let screen = self.parser.screen_mut();
        let (height, width) = screen.size();
        let behind = screen.scrollback_len();
        let mut rows = Vec::new();
        for offset in (1..=behind).rev() {
            screen.set_scrollback(offset);
            rows.push((screen.rows(0, width.get()).next().unwrap(), screen.row_wrapped(0)));
        }
        screen.set_scrollback(0);
        let visible: Vec<String> = screen.rows(0, width.get()).collect();
        for (row, text) in visible.into_iter().enumerate().take(height.get().into()) {
            rows.push((text, screen.row_wrapped(u16::try_from(row).unwrap())));
        }
        rows
    }

    /// Returns all rows up to the last one with text.
    pub(super) fn text(&mut self) -> Vec<String> {
        trimmed(self.rows().into_iter().map(|(text, _)| text).collect())
    }

    /// Returns all lines, with those joined that the terminal broke, up to the last with text.
    pub(super) fn lines(&mut self) -> Vec<String> {
        trimmed(join(self.rows()))
    }

    pub(super) fn resize(&mut self, columns: usize, rows: usize) {
        if self.narrowing == Narrowing::Cuts {
            self.parser.set_size(size(rows), size(columns));
            return;
        }
        let behind = self.parser.screen().scrollback_len();
        let (row, column) = self.cursor();
        let all = self.rows();
        let cursor_row = behind + row;
        // The line in which the cursor is, and where in it.
        let mut line = 0;
        let mut before = 0;
        let old_width: usize = self.parser.screen().size().1.get().into();
        for (_, wrapped) in &all[..cursor_row] {
            if *wrapped {
                before += old_width;
            } else {
                (line, before) = (line + 1, 0);
            }
        }
        let mut logical = join(all);
        while logical.len() > line + 1 && logical.last().is_some_and(String::is_empty) {
            logical.pop();
        }
        let offset = before + column;
        let height = |text: &str| text.len().div_ceil(columns).max(1);
        let inside = if offset >= logical[line].len() {
            height(&logical[line]) - 1
        } else {
            offset / columns
        };
        let total: usize = logical.iter().map(|text| height(text)).sum();
        let above: usize = logical[..line].iter().map(|text| height(text)).sum();
        self.parser = parser(columns, rows);
        self.parser.process(logical.join("\r\n").as_bytes());
        let up = total - 1 - above - inside;
        let column = (offset - inside * columns).min(columns - 1) + 1;
        let up = if up > 0 { format!("\x1b[{up}A") } else { String::new() };
        self.parser.process(format!("{up}\x1b[{column}G").as_bytes());
    }
}

fn join(rows: Vec<(String, bool)>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for (text, wrapped) in rows {
        match lines.last_mut() {
            Some(last) if goes_on => last.push_str(&text),
            _ => lines.push(text),
        }
        goes_on = wrapped;
    }
    lines
}

fn trimmed(mut rows: Vec<String>) -> Vec<String> {
    for row in &mut rows {
        row.truncate(row.trim_end().len());
    }
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}
