//! A page whose text is found by work, such as `/cost`.

use std::any::Any;

use crossterm::event::KeyEvent;

use super::text::TextPage;
use super::{Opening, Page, PageContext, PageOutcome};
use crate::terminal::effect::Effect;
use crate::terminal::event::Size;
use crate::terminal::keys::Action;
use crate::terminal::screen::Cursor;
use crate::terminal::text::{Line, Role};

/// The text, or why it cannot be found.
pub(super) struct Report(pub(super) Result<Vec<Line>, String>);

/// Shown until the text is there.
struct Waiting {
    message: &'static str,
    /// By how much the text is indented where it is broken.
    indent: usize,
}

/// Opens a page with the text that the work returns as a [`Report`].
pub(super) fn open(find: Effect) -> Opening {
    open_with("…", 2, find)
}

/// Opens a page with a message until the work has returned its [`Report`], whose lines are broken
/// with this indentation.
pub(super) fn open_with(message: &'static str, indent: usize, find: Effect) -> Opening {
    Ok((Box::new(Waiting { message, indent }), vec![find]))
}

impl Page for Waiting {
    fn key(&mut self, _: &KeyEvent, _: Option<Action>, _: &PageContext<'_>) -> PageOutcome {
        PageOutcome::Ignored
    }

    fn is_loading(&self) -> bool {
        true
    }

    fn answer(&mut self, reply: Box<dyn Any + Send>, _: &PageContext<'_>) -> PageOutcome {
        let Ok(report) = reply.downcast::<Report>() else { return PageOutcome::Ignored };
        let indent = self.indent;
        match report.0 {
            Ok(lines) => PageOutcome::Open(Box::new(move |_| {
                Ok((Box::new(TextPage::new(lines, indent)), Vec::new()))
            })),
            Err(why) => PageOutcome::Fail(why),
        }
    }

    fn view(&mut self, _: Size, _: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        (vec![Line::new(self.message, Role::Dim)], None)
    }
}

#[cfg(test)]
mod tests;
