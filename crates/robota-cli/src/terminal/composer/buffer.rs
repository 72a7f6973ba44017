//! A text with a cursor, and its undo.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};

use super::Action;

/// How many steps can be undone, and how many bytes they may take.
const STEPS: usize = 300;
const BYTES: usize = 4 * 1024 * 1024;

/// What the last change was: changes of one kind are undone together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Last {
    #[default]
    Other,
    Typed,
    Deleted,
}

/// A text with a cursor, which is always between two graphemes.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    text: String,
    cursor: usize,
    undo: Vec<(String, usize)>,
    redo: Vec<(String, usize)>,
    last: Last,
    killed: String,
}

impl Buffer {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Moves the cursor to an offset between two graphemes.
    pub(super) fn move_to(&mut self, offset: usize) {
        self.cursor = offset.min(self.text.len());
        self.last = Last::Other;
    }

    /// Shows another text, with the cursor at its end, without a step of undo: an entry of the
    /// history.
    pub(super) fn show(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        self.move_to(self.text.len());
    }

    /// Inserts typed text. A word is one step of undo.
    pub(super) fn type_text(&mut self, text: &str) {
        let space = text.chars().all(char::is_whitespace);
        let before = self.text[..self.cursor].chars().next_back();
        let new_word = !space && before.is_none_or(char::is_whitespace);
        if self.last != Last::Typed || new_word {
            self.save();
        }
        self.put(text);
        self.last = Last::Typed;
    }

    /// Inserts text as one step of undo.
    pub(super) fn insert(&mut self, text: &str) {
        self.replace(self.cursor..self.cursor, text);
    }

    /// Replaces a part of the text as one step of undo.
    pub(super) fn replace(&mut self, range: Range<usize>, text: &str) {
        self.save();
        self.text.replace_range(range.clone(), "");
        self.cursor = range.start;
        self.put(text);
        self.last = Last::Other;
    }

    fn put(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    /// Performs an action that needs nothing but the text. Returns whether it had an effect.
    pub(super) fn apply(&mut self, action: Action) -> bool {
        match action {
            Action::Left => self.go(self.left()),
            Action::Right => self.go(self.right()),
            Action::WordLeft => self.go(self.word_left()),
            Action::WordRight => self.go(self.word_right()),
            Action::LineStart => self.go(self.line_start()),
            Action::LineEnd => self.go(self.line_end()),
            Action::TextStart => self.go(0),
            Action::TextEnd => self.go(self.text.len()),
            Action::Newline => {
                self.insert("\n");
                true
            }
            Action::DeleteLeft => self.delete(self.left()..self.cursor),
            Action::DeleteRight => self.delete(self.cursor..self.right()),
            Action::DeleteWordLeft => self.kill(self.word_left()..self.cursor),
            Action::DeleteWordRight => self.kill(self.cursor..self.word_right()),
            Action::KillWord => self.kill(self.space_left()..self.cursor),
            Action::KillToLineStart => {
                let start = self.line_start();
                // At the beginning of a line the line break goes.
                self.kill(if start == self.cursor { self.left() } else { start }..self.cursor)
            }
            Action::KillToLineEnd => {
                let end = self.line_end();
                self.kill(self.cursor..if end == self.cursor { self.right() } else { end })
            }
            Action::Yank if !self.killed.is_empty() => {
                let killed = self.killed.clone();
                self.insert(&killed);
                true
            }
            Action::Clear => self.kill(0..self.text.len()),
            Action::Undo => self.step(true),
            Action::Redo => self.step(false),
            Action::Yank
            | Action::Up
            | Action::Down
            | Action::HistoryPrevious
            | Action::HistoryNext
            | Action::SearchHistory
            | Action::AcceptSearch
            | Action::CancelSearch
            | Action::Expand => false,
        }
    }

    fn go(&mut self, offset: usize) -> bool {
        let moved = offset != self.cursor;
        self.move_to(offset);
        moved
    }

    fn delete(&mut self, range: Range<usize>) -> bool {
        if range.is_empty() {
            return false;
        }
        // Characters that are deleted one after the other come back together.
        if self.last != Last::Deleted {
            self.save();
        }
        // After a new change, steps that were undone no longer fit the text.
        self.redo.clear();
        self.cursor = range.start;
        self.text.replace_range(range, "");
        self.last = Last::Deleted;
        true
    }

    fn kill(&mut self, range: Range<usize>) -> bool {
        if range.is_empty() {
            return false;
        }
        self.text[range.clone()].clone_into(&mut self.killed);
        self.replace(range, "");
        true
    }

    fn save(&mut self) {
        self.redo.clear();
        self.undo.push((self.text.clone(), self.cursor));
        let mut bytes = 0;
        // Each step has the whole text, so a long text has fewer steps.
        let kept = self.undo.iter().rev().take(STEPS).take_while(|(text, _)| {
            bytes += text.len();
            bytes <= BYTES
        });
        // At least one step, so that the last change of a text beyond the limit can be undone.
        let dropped = self.undo.len() - kept.count().max(1);
        self.undo.drain(..dropped);
    }

    fn step(&mut self, back: bool) -> bool {
        let (from, to) =
            if back { (&mut self.undo, &mut self.redo) } else { (&mut self.redo, &mut self.undo) };
        let Some((text, cursor)) = from.pop() else { return false };
        to.push((std::mem::replace(&mut self.text, text), self.cursor));
        self.move_to(cursor);
        true
    }

    fn left(&self) -> usize {
        let mut at = GraphemeCursor::new(self.cursor, self.text.len(), true);
        at.prev_boundary(&self.text, 0).ok().flatten().unwrap_or(0)
    }

    fn right(&self) -> usize {
        let mut at = GraphemeCursor::new(self.cursor, self.text.len(), true);
        at.next_boundary(&self.text, 0).ok().flatten().unwrap_or(self.text.len())
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_left(&self) -> usize {
        // At the beginning of a line the cursor moves to the line before, and no further.
        let start = if self.line_start() < self.cursor { self.line_start() } else { self.left() };
        let words = self.text[start..self.cursor].split_word_bound_indices().rev();
        words.into_iter().find(|(_, word)| is_word(word)).map_or(start, |(at, _)| start + at)
    }

    fn word_right(&self) -> usize {
        let end = if self.line_end() > self.cursor { self.line_end() } else { self.right() };
        let mut words = self.text[self.cursor..end].split_word_bound_indices();
        let word = words.find(|(_, word)| is_word(word));
        word.map_or(end, |(at, word)| self.cursor + at + word.len())
    }

    fn space_left(&self) -> usize {
        let before = &self.text[..self.cursor];
        let word = before.trim_end();
        word.rfind(char::is_whitespace)
            .map_or(0, |at| at + word[at..].chars().next().map_or(1, char::len_utf8))
    }
}

fn is_word(text: &str) -> bool {
    text.chars().any(|letter| letter.is_alphanumeric() || letter == '_')
}
