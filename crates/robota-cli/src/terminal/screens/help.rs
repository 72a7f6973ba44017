//! The keys, as they are bound.

use std::any::Any;

use crossterm::event::KeyEvent;

use super::{Page, PageContext, PageOutcome};
use crate::terminal::event::Size;
use crate::terminal::keys::{Action, Context, KeyMap};
use crate::terminal::screen::Cursor;
use crate::terminal::text::{Line, Role, width, wrap};

/// The groups of keys: where they are bound, and the title.
const GROUPS: [(&[Context], &str); 4] = [
    (&[Context::Global, Context::Chat], "Keys"),
    (&[Context::Question], "In a question"),
    (&[Context::Field], "In a rule or a note"),
    (&[Context::Page], "On pages"),
];

/// What begins a command, a file and a shell command.
const SIGNS: [(&str, &str); 3] = [("/", "commands"), ("@", "files"), ("!", "run a shell command")];

/// A line of the page: keys and what they do, or the title of a group.
enum Row {
    Title(&'static str),
    Keys(String, &'static str),
}

/// The page of keys.
pub(crate) struct Help {
    rows: Vec<Row>,
    /// The lines, for this many columns.
    lines: Vec<Line>,
    columns: usize,
    first: usize,
    last: usize,
}

impl Help {
    /// Lists the bindings.
    pub(crate) fn new(keys: &KeyMap) -> Self {
        let mut rows = Vec::new();
        for (contexts, title) in GROUPS {
            rows.push(Row::Title(title));
            for (_, action, what) in Action::ALL {
                let bound = keys.keys(contexts, action).join(", ");
                if !bound.is_empty() {
                    rows.push(Row::Keys(bound, what));
                }
            }
            if title == GROUPS[0].1 {
                rows.extend(SIGNS.map(|(key, what)| Row::Keys(key.to_owned(), what)));
            }
        }
        Self { rows, lines: Vec::new(), columns: 0, first: 0, last: 0 }
    }
}

impl Page for Help {
    fn key(
        &mut self,
        _key: &KeyEvent,
        action: Option<Action>,
        context: &PageContext<'_>,
    ) -> PageOutcome {
        let page = context.size.rows.saturating_sub(2).max(1);
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
        if self.columns != size.columns {
            self.columns = size.columns;
            self.lines = render(&self.rows, size.columns);
        }
        let shown = size.rows.saturating_sub(1).max(1);
        self.last = self.lines.len().saturating_sub(shown);
        self.first = self.first.min(self.last);
        let mut lines: Vec<_> = self.lines.iter().skip(self.first).take(shown).cloned().collect();
        lines.resize(shown, Line::default());
        let more = self.lines.len().saturating_sub(self.first + shown);
        let end = if more > 0 {
            format!("{more} more ↓ · any key closes")
        } else {
            "any key closes".to_owned()
        };
        lines.push(Line::new(end, Role::Dim));
        (lines, None)
    }
}

/// Renders the keys in one column and what they do in another, which is broken where it is too long.
fn render(rows: &[Row], columns: usize) -> Vec<Line> {
    let keys = rows.iter().map(|row| match row {
        Row::Title(_) => 0,
        Row::Keys(keys, _) => width(keys),
    });
    let column =
        keys.max().unwrap_or(0).min(if columns < 60 { columns / 3 } else { columns / 2 }) + 4;
    let mut lines = Vec::new();
    for row in rows {
        match row {
            Row::Title(title) => lines.push(Line::new(title, Role::Accent.bold())),
            Row::Keys(keys, what) => {
                let line = Line::new(format!("  {keys}"), Role::Accent);
                // Long keys have a row of their own.
                let mut line = if line.width() + 2 > column {
                    lines.extend(wrap(&line, columns, 2));
                    Line::default()
                } else {
                    line
                };
                line.push(" ".repeat(column - line.width()), Role::Text);
                lines.extend(wrap(&line.with(*what, Role::Text), columns, column));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests;
