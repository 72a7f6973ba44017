//! One entry of the conversation.

use std::time::Duration;

use robota_core::ids::CallId;

use super::tool_row;
use crate::terminal::conversation::{Entry, NoteKind};
use crate::terminal::text::{Line, Role, wrap};

/// What is before an entry, for the blank line between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// The beginning of the conversation: no blank line.
    Start,
    /// Text of the same answer.
    Text,
    /// A tool call or a message of the program.
    Row,
    /// Something else.
    Other,
}

impl Spacing {
    /// Returns what is before an entry.
    pub(crate) fn after(before: Option<&Entry>) -> Self {
        match before {
            None => Self::Start,
            Some(Entry::Text(_)) => Self::Text,
            Some(Entry::Tool(_) | Entry::Note(..)) => Self::Row,
            Some(Entry::Prompt(_) | Entry::Output { .. }) => Self::Other,
        }
    }

    /// Returns whether a blank line comes before text.
    pub(crate) fn blank_before_text(self, continues: bool) -> bool {
        match self {
            Self::Start => false,
            Self::Text => !continues,
            Self::Row | Self::Other => true,
        }
    }
}

/// Returns the call of an entry.
pub(crate) fn call(entry: &Entry) -> Option<&CallId> {
    match entry {
        Entry::Tool(row) => Some(&row.call),
        Entry::Prompt(_) | Entry::Text(_) | Entry::Note(..) | Entry::Output { .. } => None,
    }
}

/// Renders an entry that is finished.
pub(crate) fn append(
    entry: &Entry,
    before: Option<&Entry>,
    width: usize,
    expanded: bool,
    out: &mut Vec<Line>,
) {
    append_live(entry, before, (width, Duration::ZERO, expanded), out);
}

/// Renders an entry, with the time for calls that run.
pub(crate) fn append_live(
    entry: &Entry,
    before: Option<&Entry>,
    (width, now, expanded): (usize, Duration, bool),
    out: &mut Vec<Line>,
) {
    let spacing = Spacing::after(before);
    let blank = match entry {
        Entry::Text(block) => spacing.blank_before_text(block.continues),
        Entry::Tool(_) | Entry::Note(..) => !matches!(spacing, Spacing::Start | Spacing::Row),
        Entry::Prompt(_) | Entry::Output { .. } => spacing != Spacing::Start,
    };
    if blank {
        out.push(Line::default());
    }
    match entry {
        Entry::Prompt(text) => prompt(text, width, out),
        Entry::Text(block) => out.extend(block.render(width)),
        Entry::Tool(row) => tool_row::append(row, width, now, expanded, out),
        Entry::Note(kind, text) => note(*kind, text, width, out),
        Entry::Output { typed, text, ok } => {
            prompt(typed, width, out);
            let role = if *ok { Role::Text } else { Role::Bad };
            for line in text.lines() {
                out.extend(wrap(&Line::new(format!("  {line}"), role), width, 2));
            }
        }
    }
}

fn prompt(text: &str, width: usize, out: &mut Vec<Line>) {
    for (row, line) in text.lines().enumerate() {
        let sign = if row == 0 { "› " } else { "  " };
        out.extend(wrap(&Line::new(format!("{sign}{line}"), Role::User), width, 2));
    }
}

fn note(kind: NoteKind, text: &str, width: usize, out: &mut Vec<Line>) {
    let (sign, role) = match kind {
        NoteKind::Plain => ("·", Role::Dim),
        NoteKind::Warning => ("!", Role::Warn),
        NoteKind::Error => ("✗", Role::Bad),
    };
    for (row, line) in text.lines().enumerate() {
        let sign = if row == 0 { sign } else { " " };
        out.extend(wrap(&Line::new(format!("{sign} {line}"), role), width, 2));
    }
}
