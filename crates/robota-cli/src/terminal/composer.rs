//! The input field: text of several lines, edited by graphemes, with pasted texts and images that
//! are shown as placeholders.

mod buffer;
mod dropped;
mod history;
mod keys;
mod layout;
mod placeholder;
mod view;

use buffer::Buffer;
pub(crate) use dropped::{dropped_images, image_type};
pub(crate) use history::History;
use layout::Layout;
pub(crate) use placeholder::Image;
use placeholder::{Attachment, Attachments};

use super::text::is_control;
pub(crate) use view::View;

/// What a key asks the composer to do. The key map decides which key it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    Left,
    Right,
    Up,
    Down,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    TextStart,
    TextEnd,
    Newline,
    DeleteLeft,
    DeleteRight,
    /// Deletes to the beginning of the word.
    DeleteWordLeft,
    DeleteWordRight,
    /// Deletes to the space before the cursor.
    KillWord,
    KillToLineEnd,
    KillToLineStart,
    /// Inserts what was killed last.
    Yank,
    Undo,
    Redo,
    /// Deletes the whole text. It can be undone.
    Clear,
    HistoryPrevious,
    HistoryNext,
    /// Starts a search of the history, or continues with the next older entry.
    SearchHistory,
    /// Takes the entry that the search found.
    AcceptSearch,
    CancelSearch,
    /// Replaces the placeholder at the cursor by its text.
    Expand,
}

/// What the user sends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    /// The text, with pasted texts in it. Images are `[Image #1]`.
    pub(crate) text: String,
    /// The images, with the numbers that the text has.
    pub(crate) images: Vec<(usize, Image)>,
}

/// The input field.
#[derive(Debug, Default)]
pub(crate) struct Composer {
    buffer: Buffer,
    attachments: Attachments,
    history: History,
    /// The width of the last view: rows depend on it.
    width: usize,
    /// The column that Up and Down try to keep.
    goal: Option<usize>,
}

impl Composer {
    /// Creates an empty composer with earlier prompts, the oldest first.
    pub(crate) fn new(history: Vec<String>) -> Self {
        Self { history: History::new(history), width: 80, ..Self::default() }
    }

    /// Sets the earlier prompts, the oldest first.
    pub(crate) fn set_history(&mut self, history: Vec<String>) {
        self.history = History::new(history);
    }

    /// Returns whether nothing is typed.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.text().is_empty()
    }

    /// Returns whether the history is searched: typed letters belong to the search.
    pub(crate) fn is_searching(&self) -> bool {
        self.history.is_searching()
    }

    /// Returns the text, with pasted texts in it.
    pub(crate) fn text(&self) -> String {
        self.attachments.expand(self.buffer.text()).text
    }

    /// Returns the typed text before the cursor. A placeholder is one private character.
    pub(crate) fn before_cursor(&self) -> &str {
        &self.buffer.text()[..self.buffer.cursor()]
    }

    /// Replaces the last bytes before the cursor, as the choice in a popup does.
    pub(crate) fn replace_before_cursor(&mut self, bytes: usize, text: &str) {
        let start = self.buffer.cursor().saturating_sub(bytes);
        self.buffer.replace(start..self.buffer.cursor(), &clean(text));
        self.goal = None;
    }

    /// Replaces the whole text. It can be undone.
    pub(crate) fn set_text(&mut self, text: &str) {
        self.history.leave();
        self.buffer.replace(0..self.buffer.text().len(), &clean(text));
        self.goal = None;
    }

    /// Inserts a typed letter, or adds it to the search.
    pub(crate) fn insert_char(&mut self, letter: char) {
        let mut bytes = [0; 4];
        self.insert(letter.encode_utf8(&mut bytes));
    }

    /// Inserts typed text, or adds it to the search.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = clean(text);
        self.goal = None;
        if self.history.is_searching() {
            self.history.type_search(&text);
        } else {
            self.history.leave();
            self.buffer.type_text(&text);
        }
    }

    /// Inserts a pasted text. A long one becomes a placeholder; pasting it again expands it.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = clean(text);
        self.goal = None;
        if self.history.is_searching() {
            // The text of a search has one line.
            self.history.type_search(text.lines().next().unwrap_or(""));
            return;
        }
        self.history.leave();
        if !placeholder::is_long(&text) {
            self.buffer.insert(&text);
            return;
        }
        // The same text again, directly behind its placeholder: the user wants to see or edit it.
        let before = self.before_cursor().chars().next_back();
        if before.is_some_and(|letter| self.attachments.pasted(letter) == Some(text.as_str())) {
            self.apply(Action::Expand);
            return;
        }
        let letter = self.attachments.add(Attachment::Pasted(text));
        self.buffer.insert(letter.encode_utf8(&mut [0; 4]));
    }

    /// Inserts an image as a placeholder.
    pub(crate) fn attach(&mut self, image: Image) {
        let letter = self.attachments.add(Attachment::Image(image));
        self.buffer.insert(letter.encode_utf8(&mut [0; 4]));
        self.goal = None;
    }

    /// Takes what the user sends, adds it to the history, and empties the composer.
    pub(crate) fn submit(&mut self) -> Draft {
        let draft = self.attachments.expand(self.buffer.text());
        self.history.add(&draft.text);
        // A new buffer: undo must not bring back a prompt that was sent.
        self.buffer = Buffer::default();
        // Numbers of images begin again in each prompt.
        self.attachments = Attachments::default();
        self.goal = None;
        draft
    }

    /// Inserts a line break.
    pub(crate) fn newline(&mut self) {
        self.apply(Action::Newline);
    }

    /// Replaces a backslash before the cursor by a line break: the way to type one where no key
    /// does. Returns whether there was one.
    pub(crate) fn continues_line(&mut self) -> bool {
        if !self.before_cursor().ends_with('\\') || self.is_searching() {
            return false;
        }
        self.replace_before_cursor(1, "\n");
        true
    }

    /// Deletes the whole text. It can be undone.
    pub(crate) fn clear(&mut self) {
        self.apply(Action::Clear);
    }

    /// Starts a search of the history, or continues with the next older entry.
    pub(crate) fn search_history(&mut self) {
        self.apply(Action::SearchHistory);
    }

    /// Ends the search, with the text as it was before. Returns whether the history was searched.
    pub(crate) fn cancel(&mut self) -> bool {
        self.apply(Action::CancelSearch)
    }

    /// Performs what a key does in a text. Returns whether it had an effect.
    pub(crate) fn key(&mut self, key: &crossterm::event::KeyEvent) -> bool {
        match keys::meaning(key) {
            Some(keys::Meaning::Letter(letter)) => {
                self.insert_char(letter);
                true
            }
            Some(keys::Meaning::Action(action)) => self.apply(action),
            None => false,
        }
    }

    /// Performs an action. Returns whether it had an effect; Up in the first row of a text without
    /// older entries, for example, has none.
    pub(crate) fn apply(&mut self, action: Action) -> bool {
        if self.history.is_searching() {
            return self.apply_to_search(action);
        }
        let goal = self.goal.take();
        match action {
            Action::Up | Action::Down => self.vertical(action == Action::Up, goal),
            Action::HistoryPrevious => self.older(),
            Action::HistoryNext => self.newer(),
            Action::SearchHistory => {
                self.history.start_search();
                true
            }
            Action::AcceptSearch | Action::CancelSearch => false,
            Action::Expand => self.expand(),
            _ => {
                let edited = self.buffer.apply(action);
                if edited && changes_text(action) {
                    self.history.leave();
                }
                edited
            }
        }
    }

    fn apply_to_search(&mut self, action: Action) -> bool {
        match action {
            Action::SearchHistory | Action::Up | Action::HistoryPrevious => {
                self.history.search_older()
            }
            Action::Down | Action::HistoryNext => self.history.search_newer(),
            Action::DeleteLeft => self.history.shorten_search(),
            Action::CancelSearch => self.history.end_search(),
            _ => {
                // Any other key takes the entry and continues with it, as in a shell.
                let found = self.history.found().map(str::to_owned);
                self.history.end_search();
                if let Some(found) = found {
                    self.set_text(&found);
                }
                true
            }
        }
    }

    /// Moves over rows as they are shown; from the first and the last row on through the history.
    fn vertical(&mut self, up: bool, goal: Option<usize>) -> bool {
        let layout = Layout::new(self.buffer.text(), &self.attachments, self.width);
        let (row, column) = layout.position(self.buffer.cursor());
        let goal = goal.unwrap_or(column);
        let target = if up { row.checked_sub(1) } else { Some(row + 1) };
        if let Some(row) = target.filter(|row| *row < layout.rows()) {
            let offset = layout.offset(row, goal);
            self.buffer.move_to(offset);
            // Kept while the cursor crosses shorter rows.
            self.goal = Some(goal);
            return true;
        }
        let moved = if up { self.older() } else { self.newer() };
        if !moved {
            // Like a text editor: to the very beginning or end.
            let end = if up { 0 } else { self.buffer.text().len() };
            if end != self.buffer.cursor() {
                self.buffer.move_to(end);
                return true;
            }
        }
        moved
    }

    fn older(&mut self) -> bool {
        let Some(text) = self.history.older(self.buffer.text()) else { return false };
        self.buffer.show(&clean(&text));
        true
    }

    fn newer(&mut self) -> bool {
        let Some(text) = self.history.newer() else { return false };
        self.buffer.show(&clean(&text));
        true
    }

    fn expand(&mut self) -> bool {
        let cursor = self.buffer.cursor();
        let text = self.buffer.text();
        let before = text[..cursor].char_indices().next_back();
        let after = text[cursor..].chars().next().map(|letter| (cursor, letter));
        // First the placeholder before the cursor: after a paste the cursor is behind it.
        for (at, letter) in before.into_iter().chain(after) {
            if let Some(pasted) = self.attachments.pasted(letter) {
                let pasted = pasted.to_owned();
                self.buffer.replace(at..at + letter.len_utf8(), &pasted);
                return true;
            }
        }
        false
    }

    /// Returns the rows to show, and where the cursor is. At most `height` rows are shown: those
    /// around the cursor.
    pub(crate) fn view(&mut self, width: usize, height: usize) -> View {
        // A letter of a wide script takes two columns.
        self.width = width.max(2);
        if self.history.is_searching() {
            return view::search(&self.history, self.width, height);
        }
        let layout = Layout::new(self.buffer.text(), &self.attachments, self.width);
        view::text(&layout, self.buffer.cursor(), height)
    }
}

fn changes_text(action: Action) -> bool {
    !matches!(
        action,
        Action::Left
            | Action::Right
            | Action::WordLeft
            | Action::WordRight
            | Action::LineStart
            | Action::LineEnd
            | Action::TextStart
            | Action::TextEnd
    )
}

/// Makes line breaks uniform, and removes control characters and the private characters of
/// placeholders.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars()
        .filter(|letter| !is_control(*letter) || matches!(letter, '\n' | '\t'))
        .filter(|letter| !placeholder::is_placeholder(*letter))
        .collect()
}

#[cfg(test)]
mod tests;
