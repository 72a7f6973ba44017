//! A list that the user searches by typing: part of several pages.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::text::key_rows;
use crate::terminal::event::Size;
use crate::terminal::keys::Action;
use crate::terminal::screen::Cursor;
use crate::terminal::text::{Ground, Line, Role, Style, truncate, width};

/// One entry.
pub(super) struct Item<T> {
    /// Its name.
    pub(super) title: String,
    /// More about it; searched too.
    pub(super) detail: String,
    pub(super) value: T,
}

/// What a key did.
pub(super) enum ListKey {
    /// It changed the search or the selection.
    Used,
    /// The user chose the selected entry.
    Accepted,
    /// The list does not know it.
    Unused,
}

/// Entries, a search and a selection.
pub(super) struct List<T> {
    items: Vec<Item<T>>,
    query: String,
    /// The entries that match the search.
    shown: Vec<usize>,
    selected: usize,
    /// The rows of the last view.
    rows: usize,
    /// Whether the entries are still being found.
    loading: bool,
}

impl<T> List<T> {
    /// Creates a list.
    pub(super) fn new(items: Vec<Item<T>>) -> Self {
        let shown = (0..items.len()).collect();
        Self { items, query: String::new(), shown, selected: 0, rows: 1, loading: false }
    }

    /// Creates a list whose entries are found later.
    pub(super) fn loading() -> Self {
        Self { loading: true, ..Self::new(Vec::new()) }
    }

    /// Returns whether the entries are still being found.
    pub(super) fn is_loading(&self) -> bool {
        self.loading
    }

    /// Replaces the entries. The search stays.
    pub(super) fn set(&mut self, items: Vec<Item<T>>) {
        self.items = items;
        self.loading = false;
        self.search();
    }

    /// Returns whether there are no entries, with any search.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the selected entry.
    pub(super) fn selected(&self) -> Option<&Item<T>> {
        self.shown.get(self.selected).map(|at| &self.items[*at])
    }

    /// Selects an entry, if the search shows it.
    pub(super) fn select(&mut self, wanted: impl Fn(&T) -> bool) {
        let found = self.shown.iter().position(|at| wanted(&self.items[*at].value));
        self.selected = found.unwrap_or(self.selected);
    }

    /// Takes a key.
    pub(super) fn key(&mut self, key: &KeyEvent, action: Option<Action>) -> ListKey {
        let last = self.shown.len().saturating_sub(1);
        match action {
            Some(Action::ScrollUp) => self.selected = self.selected.saturating_sub(1),
            Some(Action::ScrollDown) => self.selected = (self.selected + 1).min(last),
            Some(Action::PageUp) => self.selected = self.selected.saturating_sub(self.rows),
            Some(Action::PageDown) => self.selected = (self.selected + self.rows).min(last),
            Some(Action::Top) => self.selected = 0,
            Some(Action::Bottom) => self.selected = last,
            Some(Action::Accept) => return ListKey::Accepted,
            Some(_) => return ListKey::Unused,
            None => return self.type_key(key),
        }
        ListKey::Used
    }

    fn type_key(&mut self, key: &KeyEvent) -> ListKey {
        let plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        match key.code {
            KeyCode::Char(letter) if plain => self.query.push(letter),
            KeyCode::Char('u') if key.modifiers == KeyModifiers::CONTROL => self.query.clear(),
            KeyCode::Backspace if !self.query.is_empty() => {
                self.query.pop();
            }
            _ => return ListKey::Unused,
        }
        self.search();
        ListKey::Used
    }

    /// Adds pasted text to the search.
    pub(super) fn paste(&mut self, text: &str) {
        self.query.extend(text.chars().filter(|letter| !letter.is_control()));
        self.search();
    }

    /// Finds the entries that contain every word of the search.
    fn search(&mut self) {
        let query = self.query.to_lowercase();
        let words: Vec<&str> = query.split_whitespace().collect();
        let contains = |item: &Item<T>| {
            let (title, detail) = (item.title.to_lowercase(), item.detail.to_lowercase());
            words.iter().all(|word| title.contains(word) || detail.contains(word))
        };
        let found = self.items.iter().enumerate().filter(|(_, item)| contains(item));
        self.shown = found.map(|(at, _)| at).collect();
        self.selected = self.selected.min(self.shown.len().saturating_sub(1));
        // Without a search the selection stays: pages replace the entries while they are shown.
        if !self.query.is_empty() {
            self.selected = 0;
        }
    }

    /// Renders the list on the whole screen, with the keys of the page below it.
    pub(super) fn page(&mut self, title: &str, keys: &str, size: Size) -> (Vec<Line>, Cursor) {
        let keys = key_rows(keys, size);
        let rows = size.rows.saturating_sub(keys.len());
        let (mut lines, cursor) = self.view(title, Size { rows, ..size });
        lines.extend(keys);
        (lines, cursor)
    }

    /// Renders the title, the search and as many entries as fit, and the cursor of the search.
    pub(super) fn view(&mut self, title: &str, size: Size) -> (Vec<Line>, Cursor) {
        self.rows = size.rows.saturating_sub(2).max(1);
        let count = format!("{}/{}", (self.selected + 1).min(self.shown.len()), self.shown.len());
        let mut lines = vec![Line::new(title, Role::Accent).with(format!("  {count}"), Role::Dim)];
        let search = format!("› {}", self.query);
        let cursor = Cursor { row: 1, column: width(&search).min(size.columns.saturating_sub(1)) };
        lines.push(truncate(&Line::new(search, Role::Text), size.columns));
        let first = self.selected.saturating_sub(self.rows - 1);
        let widest = self.shown.iter().map(|at| width(&self.items[*at].title)).max().unwrap_or(0);
        let column = widest.min(size.columns / 2);
        for (row, at) in self.shown.iter().enumerate().skip(first).take(self.rows) {
            let item = &self.items[*at];
            let chosen = row == self.selected;
            let on = |role: Role| match chosen {
                true => Style::from(role).on(Ground::Selected),
                false => Style::from(role),
            };
            let sign = if chosen { "▸ " } else { "  " };
            let title = truncate(&Line::new(&item.title, Role::Text), column).plain();
            let pad = " ".repeat(column.saturating_sub(width(&title)) + 2);
            let line = Line::new(sign, on(Role::Accent))
                .with(title, on(Role::Text))
                .with(pad, on(Role::Text))
                .with(&item.detail, on(Role::Dim));
            lines.push(truncate(&line, size.columns));
        }
        if self.shown.is_empty() {
            let text = match (self.loading, self.items.is_empty()) {
                (true, _) => "  …",
                (false, true) => "  nothing here",
                (false, false) => "  no match",
            };
            lines.push(Line::new(text, Role::Dim));
        }
        // What the page adds is at the bottom of the screen.
        lines.resize(lines.len().max(self.rows + 2), Line::default());
        (lines, cursor)
    }
}

#[cfg(test)]
mod tests;
