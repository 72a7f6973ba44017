//! Completion in the composer: `/` commands and `@` files.

use std::path::Path;

use crossterm::event::KeyEvent;
use robota_sdk::CommandInfo;

use super::composer::Composer;
use super::text::Line;

/// What a key did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completed {
    /// The key is not for the list.
    Ignored,
    /// The list took the key.
    Taken,
    /// An entry was chosen that needs no more text: send it.
    Submit,
}

/// The list below the composer.
#[derive(Debug, Default)]
pub(crate) struct Completion {
    commands: Vec<CommandInfo>,
}

impl Completion {
    /// Sets the commands.
    pub(crate) fn set_commands(&mut self, commands: &[CommandInfo]) {
        self.commands = commands.to_vec();
    }

    /// Sets the folder whose files are completed.
    pub(crate) fn set_folder(&mut self, _folder: &Path) {}

    /// Takes a key while the list is open.
    pub(crate) fn key(&mut self, _key: &KeyEvent, _composer: &mut Composer) -> Completed {
        Completed::Ignored
    }

    /// Opens, changes or closes the list after the text changed.
    pub(crate) fn update(&mut self, _composer: &Composer) {}

    /// Closes the list.
    pub(crate) fn close(&mut self) {}

    /// Renders the list.
    pub(crate) fn view(&self, _width: usize, _rows: usize) -> Vec<Line> {
        Vec::new()
    }
}
