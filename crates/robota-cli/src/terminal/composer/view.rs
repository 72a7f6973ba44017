//! What of the composer is shown.

use super::history::History;
use super::layout::Layout;
use crate::terminal::screen::Cursor;
use crate::terminal::text::{Line, Role, truncate};

/// The rows to show, and the cursor in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) lines: Vec<Line>,
    pub(crate) cursor: Cursor,
    /// How many rows are hidden above and below.
    pub(crate) above: usize,
    pub(crate) below: usize,
}

/// Shows the rows around the cursor.
pub(super) fn text(layout: &Layout<'_>, cursor: usize, height: usize) -> View {
    let (row, column) = layout.position(cursor);
    let height = height.max(1).min(layout.rows());
    // The cursor is in the middle, except at the ends.
    let first = row.saturating_sub(height / 2).min(layout.rows() - height);
    View {
        lines: (first..first + height).map(|row| layout.line(row)).collect(),
        cursor: Cursor { row: row - first, column },
        above: first,
        below: layout.rows() - first - height,
    }
}

/// Shows what is searched in the history, and below it what was found.
pub(super) fn search(history: &History, width: usize, height: usize) -> View {
    let query = history.query();
    let mut head = Line::new("search: ", Role::Dim).with(query, Role::Text);
    let column = head.width().min(width - 1);
    let mut lines = Vec::new();
    match history.found() {
        Some(found) => {
            let all = found.lines().count();
            let room = height.saturating_sub(1).max(1);
            for text in found.lines().take(room) {
                lines.push(truncate(&mark(text, query), width));
            }
            if all > room
                && let Some(last) = lines.last_mut()
            {
                *last = Line::new(format!("… {} more lines", all + 1 - room), Role::Dim);
            }
        }
        None if query.is_empty() => {}
        None => head.push("   nothing found", Role::Dim),
    }
    lines.insert(0, truncate(&head, width));
    View { lines, cursor: Cursor { row: 0, column }, above: 0, below: 0 }
}

/// Marks where the text has what is searched.
fn mark(text: &str, query: &str) -> Line {
    let at = if query.is_empty() { None } else { super::history::find(text, query) };
    match at {
        Some((start, end)) => Line::new(&text[..start], Role::Text)
            .with(&text[start..end], Role::Accent.bold())
            .with(&text[end..], Role::Text),
        None => Line::new(text, Role::Text),
    }
}
