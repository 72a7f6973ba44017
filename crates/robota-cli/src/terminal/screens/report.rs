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
struct Waiting;

/// Opens a page with the text that the work returns as a [`Report`].
pub(super) fn open(find: Effect) -> Opening {
    Ok((Box::new(Waiting), vec![find]))
}

impl Page for Waiting {
    fn key(&mut self, _: &KeyEvent, _: Option<Action>, _: &PageContext<'_>) -> PageOutcome {
        PageOutcome::Ignored
    }

    fn answer(&mut self, reply: Box<dyn Any + Send>, _: &PageContext<'_>) -> PageOutcome {
        let Ok(report) = reply.downcast::<Report>() else { return PageOutcome::Ignored };
        match report.0 {
            Ok(lines) => PageOutcome::Open(Box::new(move |_| {
                Ok((Box::new(TextPage::new(lines, 2)), Vec::new()))
            })),
            Err(why) => PageOutcome::Fail(why),
        }
    }

    fn view(&mut self, _: Size, _: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        (vec![Line::new("…", Role::Dim)], None)
    }
}

#[cfg(test)]
mod tests;
