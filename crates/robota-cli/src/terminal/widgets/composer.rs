//! The line in which the user types.

use crate::terminal::screen::Cursor;
use crate::terminal::state::{Phase, State};
use crate::terminal::text::{Line, Role};

/// The sign before the text.
const SIGN: &str = "› ";

/// Renders the composer. Returns the cursor, relative to its first row.
pub(crate) fn lines(state: &mut State, width: usize, rows: usize, out: &mut Vec<Line>) -> Cursor {
    let columns = width.saturating_sub(2).max(1);
    let view = state.composer.view(columns, rows);
    let role =
        if state.composer.before_cursor().starts_with('!') { Role::Warn } else { Role::Accent };
    for (row, line) in view.lines.into_iter().enumerate() {
        let mut shown = match row {
            0 => Line::new(SIGN, role),
            _ => Line::new("  ", Role::Text),
        };
        shown.extend(line);
        out.push(shown);
    }
    if state.composer.is_empty()
        && let Some(line) = out.last_mut()
    {
        let text = match state.phase {
            Phase::Following => "read-only",
            _ if state.conversation.entries().is_empty() => {
                "Ask anything · / commands · @ files · ! shell"
            }
            _ => "",
        };
        line.push(text, Role::Dim);
    }
    Cursor { row: view.cursor.row, column: view.cursor.column + 2 }
}
