//! The palette: all commands and the actions that have a key.

use crossterm::event::KeyEvent;

use super::list::{Item, List, ListKey};
use super::{Page, PageContext, PageOutcome};
use crate::terminal::event::Size;
use crate::terminal::keys::Action;
use crate::terminal::screen::Cursor;
use crate::terminal::text::Line;

/// The page of all commands.
pub(super) struct Palette(List<Choice>);

enum Choice {
    /// Enter this command.
    Run(String),
    /// Put it into the composer: it takes arguments.
    Compose(String),
}

impl Palette {
    /// Lists the commands, with their arguments, and their subcommands.
    pub(super) fn new(context: &PageContext<'_>) -> Self {
        let mut items = Vec::new();
        for command in context.commands {
            let title = match &command.argument_hint {
                Some(hint) => format!("/{} {hint}", command.name),
                None => format!("/{}", command.name),
            };
            let value = match command.argument_hint {
                Some(_) => Choice::Compose(format!("/{} ", command.name)),
                None => Choice::Run(format!("/{}", command.name)),
            };
            items.push(Item { title, detail: command.description.clone(), value });
        }
        for (name, detail) in super::PAGES {
            let title = format!("/{name}");
            if !context.commands.iter().any(|command| command.name == *name) {
                let value = Choice::Run(title.clone());
                items.push(Item { title, detail: (*detail).to_owned(), value });
            }
        }
        items.sort_by(|one, other| one.title.cmp(&other.title));
        Self(List::new(items))
    }
}

impl Page for Palette {
    fn key(&mut self, key: &KeyEvent, action: Option<Action>, _: &PageContext<'_>) -> PageOutcome {
        match self.0.key(key, action) {
            ListKey::Used => PageOutcome::Stay(Vec::new()),
            ListKey::Unused => PageOutcome::Ignored,
            ListKey::Accepted => match self.0.selected().map(|item| &item.value) {
                Some(Choice::Run(text)) => PageOutcome::Enter(text.clone()),
                Some(Choice::Compose(text)) => PageOutcome::Compose(text.clone()),
                None => PageOutcome::Stay(Vec::new()),
            },
        }
    }

    fn paste(&mut self, text: &str) {
        self.0.paste(text);
    }

    fn view(&mut self, size: Size, _: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        let keys = "type to search · Enter runs · Esc closes";
        let (lines, cursor) = self.0.page("Commands", keys, size);
        (lines, Some(cursor))
    }
}
