//! The keys, as they are bound.

use std::any::Any;

use crossterm::event::KeyEvent;

use super::{Page, PageContext, PageOutcome};
use crate::terminal::event::Size;
use crate::terminal::keys::{Action, KeyMap};
use crate::terminal::screen::Cursor;
use crate::terminal::text::{Line, Role, truncate, width};

/// The page of keys.
pub(crate) struct Help {
    rows: Vec<(String, &'static str)>,
    first: usize,
    last: usize,
}

impl Help {
    /// Lists the bindings.
    pub(crate) fn new(keys: &KeyMap) -> Self {
        let row = |(_, action, what): &(&str, Action, &'static str)| {
            let names = keys.keys(*action).join(", ");
            (!names.is_empty()).then_some((names, *what))
        };
        let fixed = [("/", "commands"), ("@", "files"), ("!", "run a shell command")];
        let mut rows: Vec<_> = Action::ALL.iter().filter_map(row).collect();
        rows.extend(fixed.map(|(key, what)| (key.to_owned(), what)));
        Self { rows, first: 0, last: 0 }
    }
}

impl Page for Help {
    fn key(
        &mut self,
        _key: &KeyEvent,
        action: Option<Action>,
        context: &PageContext<'_>,
    ) -> PageOutcome {
        let page = context.size.rows.saturating_sub(3).max(1);
        self.first = match action {
            Some(Action::ScrollUp) => self.first.saturating_sub(1),
            Some(Action::ScrollDown) => self.first + 1,
            Some(Action::PageUp) => self.first.saturating_sub(page),
            Some(Action::PageDown) => self.first + page,
            Some(Action::Top) => 0,
            Some(Action::Bottom) => self.last,
            // Any other key goes back to work.
            Some(Action::Suspend) => return PageOutcome::Ignored,
            _ => return PageOutcome::Close(Vec::new()),
        }
        .min(self.last);
        PageOutcome::Stay(Vec::new())
    }

    fn answer(&mut self, _: Box<dyn Any + Send>, _: &PageContext<'_>) -> PageOutcome {
        PageOutcome::Stay(Vec::new())
    }

    fn view(&mut self, size: Size, _: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        let column = self.rows.iter().map(|(keys, _)| width(keys)).max().unwrap_or(0);
        let column = column.min(size.columns / 2) + 2;
        let shown = size.rows.saturating_sub(2).max(1);
        self.last = self.rows.len().saturating_sub(shown);
        self.first = self.first.min(self.last);
        let mut lines = vec![Line::new("Keys", Role::Accent)];
        for (keys, what) in self.rows.iter().skip(self.first).take(shown) {
            let pad = " ".repeat(column.saturating_sub(width(keys)).max(1));
            let line = Line::new(format!("  {keys}"), Role::Accent).with(pad, Role::Text);
            lines.push(truncate(&line.with(*what, Role::Text), size.columns));
        }
        let more = self.rows.len() - self.first - shown.min(self.rows.len() - self.first);
        let end = if more > 0 {
            format!("{more} more ↓ · any key closes")
        } else {
            "any key closes".to_owned()
        };
        lines.push(Line::new(end, Role::Dim));
        (lines, None)
    }
}
