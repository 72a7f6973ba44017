//! The list below the composer: commands after `/`, files after `@`.

mod command;
mod file;
mod matching;
mod trigger;
mod view;
mod walk;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use robota_sdk::CommandInfo;

use super::composer::Composer;
use super::text::Line;
use file::FileIndex;
pub(crate) use file::matching_files;
use trigger::Trigger;
pub(crate) use walk::{Batch, Limits, Walk};

/// How many entries are shown at once.
pub(crate) const ROWS: usize = 8;

/// What a popup did with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PopupOutcome {
    /// The key is not for the popup.
    Ignored,
    /// The popup took the key.
    Taken,
    /// The popup completed a command that can be sent as it is.
    Submit,
}

/// An entry that matches what is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// What is shown: the name of a command, the path of a file.
    name: String,
    /// Which letters of the name match, by character.
    letters: Vec<u32>,
    hint: Option<String>,
    description: String,
    /// What replaces the typed text.
    completion: String,
    /// Whether the completed text can be sent.
    complete: bool,
}

/// The list below the composer.
#[derive(Debug, Default)]
pub(crate) struct Popup {
    commands: Vec<CommandInfo>,
    files: FileIndex,
    trigger: Option<Trigger>,
    entries: Vec<Entry>,
    /// How many entries match, with those that are not kept.
    total: usize,
    selected: usize,
    /// What was typed when the user closed the popup.
    dismissed: Option<String>,
    wants_files: bool,
}

impl Popup {
    /// Sets the commands.
    pub(crate) fn set_commands(&mut self, commands: &[CommandInfo]) {
        self.commands = commands.iter().filter(|it| it.user_invocable).cloned().collect();
        self.find();
    }

    /// Returns whether the files should be listed: true once each time the user begins to name one.
    /// The caller starts a [`Walk`] and passes its results to [`Self::add_files`].
    pub(crate) fn wants_files(&mut self) -> bool {
        std::mem::take(&mut self.wants_files)
    }

    /// Adds files that were found.
    pub(crate) fn add_files(&mut self, batch: Batch) {
        self.files.add(batch);
        if self.is_files() {
            self.find();
        }
    }

    /// Returns whether the popup is shown.
    pub(crate) fn is_open(&self) -> bool {
        self.trigger.is_some() && (!self.entries.is_empty() || self.is_searching_files())
    }

    fn is_files(&self) -> bool {
        matches!(self.trigger, Some(Trigger::File { .. }))
    }

    fn is_searching_files(&self) -> bool {
        self.is_files() && self.files.is_growing()
    }

    /// Closes the popup until something else is typed.
    pub(crate) fn close(&mut self) {
        self.trigger = None;
        self.entries.clear();
        self.dismissed = None;
    }

    /// Shows what matches the text before the cursor.
    pub(crate) fn update(&mut self, composer: &Composer) {
        let before = if composer.is_searching() { "" } else { composer.before_cursor() };
        // The user closed the list of this word: it stays closed while the word grows.
        if self.dismissed.as_deref().is_some_and(|closed| before.starts_with(closed)) {
            return;
        }
        self.dismissed = None;
        let trigger = trigger::find(before);
        // Moving the cursor or typing elsewhere must not reset the selection.
        if trigger == self.trigger {
            return;
        }
        let file = |trigger: &Option<Trigger>| matches!(trigger, Some(Trigger::File { .. }));
        if file(&trigger) && !file(&self.trigger) {
            self.wants_files = true;
        }
        self.trigger = trigger;
        self.selected = 0;
        self.find();
    }

    fn find(&mut self) {
        (self.entries, self.total) = match &self.trigger {
            None => (Vec::new(), 0),
            Some(Trigger::Command { query, .. }) => command::find(&self.commands, query),
            Some(Trigger::File { query, .. }) => self.files.find(query),
        };
        self.selected = self.selected.min(self.entries.len().saturating_sub(1));
    }

    /// Takes a key while the popup is shown.
    pub(crate) fn key(&mut self, key: &KeyEvent, composer: &mut Composer) -> PopupOutcome {
        if !self.is_open() || key.kind == KeyEventKind::Release {
            return PopupOutcome::Ignored;
        }
        let last = self.entries.len().saturating_sub(1);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => {
                self.dismissed = Some(composer.before_cursor().to_owned());
                (self.trigger, self.entries) = (None, Vec::new());
            }
            // While files are searched there is nothing to select: the keys are for the composer.
            _ if self.entries.is_empty() => return PopupOutcome::Ignored,
            KeyCode::Up => self.selected = self.selected.checked_sub(1).unwrap_or(last),
            KeyCode::Char('p') if control => {
                self.selected = self.selected.checked_sub(1).unwrap_or(last);
            }
            KeyCode::Down => {
                self.selected = if self.selected == last { 0 } else { self.selected + 1 }
            }
            KeyCode::Char('n') if control => {
                self.selected = if self.selected == last { 0 } else { self.selected + 1 };
            }
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(ROWS),
            KeyCode::PageDown => self.selected = (self.selected + ROWS).min(last),
            KeyCode::Tab if key.modifiers.is_empty() => {
                self.complete(composer);
            }
            KeyCode::Enter if key.modifiers.is_empty() => return self.enter(composer),
            _ => return PopupOutcome::Ignored,
        }
        PopupOutcome::Taken
    }

    /// Completes the selected entry, and sends a command that is complete with it.
    fn enter(&mut self, composer: &mut Composer) -> PopupOutcome {
        let Some(trigger) = self.trigger.clone() else { return PopupOutcome::Ignored };
        // What is typed is a command already: it is sent as it is.
        let typed = composer.before_cursor().trim_end();
        let exact =
            self.entries.get(self.selected).is_some_and(|it| it.completion.trim_end() == typed);
        let sends = self.complete(composer);
        match trigger {
            Trigger::Command { .. } if exact || sends => {
                self.close();
                PopupOutcome::Submit
            }
            Trigger::Command { .. } | Trigger::File { .. } => PopupOutcome::Taken,
        }
    }

    /// Replaces the typed text by the selected entry. Returns whether it can be sent.
    fn complete(&mut self, composer: &mut Composer) -> bool {
        let (Some(trigger), Some(entry)) = (&self.trigger, self.entries.get(self.selected)) else {
            return false;
        };
        let (completion, complete) = (entry.completion.clone(), entry.complete);
        composer.replace_before_cursor(trigger.length(), &completion);
        self.update(composer);
        complete
    }

    /// Renders the list: at most [`ROWS`] entries, and the count.
    pub(crate) fn view(&self, width: usize, room: usize) -> Vec<Line> {
        if !self.is_open() || room < 2 {
            return Vec::new();
        }
        view::lines(self, width, room)
    }
}

#[cfg(test)]
mod tests;
