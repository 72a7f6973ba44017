//! A question before something that cannot be undone.

use crossterm::event::{KeyCode, KeyEvent};

use super::{Opening, Page, PageContext, PageOutcome};
use crate::terminal::composer::Draft;
use crate::terminal::effect::Effect;
use crate::terminal::event::Size;
use crate::terminal::keys::Action;
use crate::terminal::screen::Cursor;
use crate::terminal::text::{Line, Role, wrap};

/// The question, and the command that a yes executes.
struct Confirm {
    question: &'static str,
    command: &'static str,
}

/// Asks before `/reset`.
pub(super) fn reset() -> Opening {
    let question = "This deletes your settings of Robota (~/.robota/settings.json: providers, model, \
                    permissions) and ends the program. Sessions and keys stay.";
    Ok((Box::new(Confirm { question, command: "/reset" }), Vec::new()))
}

impl Page for Confirm {
    fn key(&mut self, key: &KeyEvent, action: Option<Action>, _: &PageContext<'_>) -> PageOutcome {
        match (action, key.code) {
            // Only a letter: Enter may have been meant for what was before this page.
            (None, KeyCode::Char('y')) => {
                let draft = Draft { text: self.command.to_owned(), ..Draft::default() };
                PageOutcome::Close(vec![Effect::Enter(draft)])
            }
            (None, KeyCode::Char('n' | 'q')) => PageOutcome::Close(Vec::new()),
            _ => PageOutcome::Ignored,
        }
    }

    fn view(&mut self, size: Size, _: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        let mut lines = wrap(&Line::new(self.question, Role::Warn), size.columns, 0);
        lines.push(Line::default());
        let keys = Line::new("y", Role::Bad).with(" do it   ", Role::Text);
        lines.push(keys.with("n", Role::Accent).with(" leave everything unchanged", Role::Text));
        (lines, None)
    }
}

#[cfg(test)]
mod tests;
