//! A text that is longer than the screen, and its parts: scrolling and finding.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Page, PageContext, PageOutcome};
use crate::terminal::event::Size;
use crate::terminal::keys::Action;
use crate::terminal::screen::Cursor;
use crate::terminal::text::{Ground, Line, Role, Style, truncate, width, wrap};

/// Scrolls over lines, and finds text in them.
#[derive(Default)]
pub(super) struct Scroll {
    pub(super) first: usize,
    rows: usize,
    count: usize,
    /// The text that is searched; typed while `typing`.
    query: String,
    typing: bool,
}

impl Scroll {
    /// Takes a key. Returns whether it was used.
    pub(super) fn key(&mut self, key: &KeyEvent, action: Option<Action>, lines: &[Line]) -> bool {
        if self.typing {
            return self.type_key(key, action, lines);
        }
        let last = self.count.saturating_sub(self.rows);
        let page = self.rows.saturating_sub(1).max(1);
        self.first = match (action, key.code) {
            (Some(Action::ScrollUp), _) | (None, KeyCode::Char('k')) => {
                self.first.saturating_sub(1)
            }
            (Some(Action::ScrollDown), _) | (None, KeyCode::Char('j')) => self.first + 1,
            (Some(Action::PageUp), _) => self.first.saturating_sub(page),
            (Some(Action::PageDown), _) | (None, KeyCode::Char(' ')) => self.first + page,
            (Some(Action::Top), _) | (None, KeyCode::Char('g')) => 0,
            (Some(Action::Bottom), _) | (None, KeyCode::Char('G')) => last,
            (None, KeyCode::Char('/')) => {
                // From here on letters are the search, not keys of the page.
                self.typing = true;
                self.query.clear();
                return true;
            }
            (None, KeyCode::Char('n')) => self.find(lines, true),
            (None, KeyCode::Char('N')) => self.find(lines, false),
            _ => return false,
        }
        .min(last);
        true
    }

    fn type_key(&mut self, key: &KeyEvent, action: Option<Action>, lines: &[Line]) -> bool {
        match (action, key.code) {
            (Some(Action::Accept), _) => {
                self.typing = false;
                self.first = self.find(lines, true).min(self.count.saturating_sub(self.rows));
            }
            (Some(Action::Cancel | Action::ClearOrQuit), _) => {
                self.typing = false;
                self.query.clear();
            }
            (_, KeyCode::Backspace) => {
                self.query.pop();
            }
            (None, KeyCode::Char(letter))
                if key.modifiers.difference(KeyModifiers::SHIFT).is_empty() =>
            {
                self.query.push(letter);
            }
            _ => return false,
        }
        true
    }

    /// Returns the number of the line behind the last one that is shown.
    pub(super) fn end(&self) -> usize {
        self.first + self.rows
    }

    /// Returns whether the end is shown.
    pub(super) fn at_end(&self) -> bool {
        self.first + self.rows >= self.count
    }

    /// Returns the next line that contains the text that is searched; this one if there is none.
    fn find(&self, lines: &[Line], forward: bool) -> usize {
        let query = self.query.to_lowercase();
        if query.is_empty() {
            return self.first;
        }
        let matches = |at: &usize| lines[*at].plain().to_lowercase().contains(&query);
        let found = match forward {
            true => {
                (self.first + 1..lines.len()).chain(0..self.first.min(lines.len())).find(matches)
            }
            false => (0..self.first.min(lines.len())).rev().find(matches),
        };
        found.unwrap_or(self.first)
    }

    /// Returns the lines that are visible, with what was found marked, and the last line: the
    /// position, and the keys or the search.
    pub(super) fn view(
        &mut self,
        lines: &[Line],
        size: Size,
        keys: &str,
    ) -> (Vec<Line>, Option<Cursor>) {
        let count = lines.len();
        self.count = count;
        let position = |first, last| format!("{first}-{last} of {count}");
        // So that the keys have as many rows wherever the position is.
        let widest = position(count, count);
        let keys_of = |position: &str| key_rows(&format!("{position} · {keys}"), size);
        let below = if self.typing { 1 } else { keys_of(&widest).len() };
        self.rows = size.rows.saturating_sub(below).max(1);
        self.first = self.first.min(self.count.saturating_sub(self.rows));
        let query = self.query.to_lowercase();
        let mut shown: Vec<Line> = lines
            .iter()
            .skip(self.first)
            .take(self.rows)
            .map(|line| match !query.is_empty() && line.plain().to_lowercase().contains(&query) {
                true => marked(line),
                false => line.clone(),
            })
            .collect();
        shown.resize(self.rows, Line::default());
        if self.typing {
            let search = format!("/{}", self.query);
            let column = width(&search).min(size.columns.saturating_sub(1));
            shown.push(truncate(&Line::new(search, Role::Text), size.columns));
            return (shown, Some(Cursor { row: self.rows, column }));
        }
        let last = (self.first + self.rows).min(self.count);
        shown.extend(keys_of(&position(self.first + 1, last)));
        shown.truncate(size.rows);
        (shown, None)
    }
}

/// The least number of rows of a terminal in which the keys may have more than one row.
const ROOM: usize = 10;

/// Returns the keys of a page. Where they are too long for one row they are broken between two keys,
/// so that all of them can be read.
pub(super) fn key_rows(keys: &str, size: Size) -> Vec<Line> {
    if size.rows < ROOM {
        return vec![truncate(&Line::new(keys, Role::Dim), size.columns)];
    }
    let mut rows: Vec<String> = Vec::new();
    for key in keys.split(BETWEEN) {
        match rows.last_mut() {
            Some(row) if width(row) + width(BETWEEN) + width(key) <= size.columns => {
                row.push_str(BETWEEN);
                row.push_str(key);
            }
            _ => rows.push(key.to_owned()),
        }
    }
    rows.iter().map(|row| truncate(&Line::new(row, Role::Dim), size.columns)).collect()
}

/// What is between two keys.
const BETWEEN: &str = " · ";

fn marked(line: &Line) -> Line {
    let mut line = line.clone();
    for span in &mut line.0 {
        span.style = Style { ground: Ground::Selected, ..span.style };
    }
    line
}

/// A page with a text.
pub(super) struct TextPage {
    text: Vec<Line>,
    /// How far the later rows of a line that is broken are indented.
    indent: usize,
    /// The rows, for this many columns.
    lines: Vec<Line>,
    columns: usize,
    scroll: Scroll,
}

impl TextPage {
    /// Creates a page of lines, which are broken where they are too long.
    pub(super) fn new(text: Vec<Line>, indent: usize) -> Self {
        Self { text, indent, lines: Vec::new(), columns: 0, scroll: Scroll::default() }
    }
}

impl Page for TextPage {
    fn key(&mut self, key: &KeyEvent, action: Option<Action>, _: &PageContext<'_>) -> PageOutcome {
        match self.scroll.key(key, action, &self.lines) {
            true => PageOutcome::Stay(Vec::new()),
            false if key.code == KeyCode::Char('q') => PageOutcome::Close(Vec::new()),
            false => PageOutcome::Ignored,
        }
    }

    fn view(&mut self, size: Size, _: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        if self.columns != size.columns {
            self.columns = size.columns;
            let rows = self.text.iter().flat_map(|line| wrap(line, size.columns, self.indent));
            self.lines = rows.collect();
        }
        self.scroll.view(&self.lines, size, "/ finds · n next · q closes")
    }
}

#[cfg(test)]
mod tests;
