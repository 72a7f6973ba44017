//! Draws the list.

use unicode_segmentation::UnicodeSegmentation as _;

use super::{Entry, Popup, ROWS};
use crate::terminal::text::{Ground, Line, Role, Style, truncate, width};

/// Renders the entries around the selected one, and the count.
pub(super) fn lines(popup: &Popup, columns: usize, room: usize) -> Vec<Line> {
    let rows = ROWS.min(room - 1).min(popup.entries.len());
    let first = popup.selected.saturating_sub(rows.saturating_sub(1));
    let shown = &popup.entries[first..(first + rows).min(popup.entries.len())];
    let names = shown.iter().map(name_width).max().unwrap_or(0).min(columns / 2);
    let mut lines: Vec<Line> = shown
        .iter()
        .enumerate()
        .map(|(row, entry)| line(entry, first + row == popup.selected, names, columns))
        .collect();
    lines.push(count(popup, columns));
    lines
}

fn name_width(entry: &Entry) -> usize {
    width(&entry.name) + entry.hint.as_ref().map_or(0, |hint| width(hint) + 1)
}

fn line(entry: &Entry, selected: bool, names: usize, columns: usize) -> Line {
    let ground = if selected { Ground::Selected } else { Ground::Plain };
    let style = |role: Role| Style::from(role).on(ground);
    let mut line = Line::new(if selected { "› " } else { "  " }, style(Role::Accent));
    // The matcher counts a grapheme as one letter.
    for (at, grapheme) in (0..).zip(entry.name.graphemes(true)) {
        let matches = entry.letters.binary_search(&at).is_ok();
        let name = if matches { style(Role::Accent).bold() } else { style(Role::Text) };
        line.push(grapheme, name);
    }
    if let Some(hint) = &entry.hint {
        line.push(format!(" {hint}"), style(Role::Dim));
    }
    if !entry.description.is_empty() {
        let missing = (names + 2).saturating_sub(name_width(entry));
        line.push(" ".repeat(missing.max(2)), style(Role::Text));
        let description = entry.description.lines().next().unwrap_or("");
        line.push(description, style(Role::Dim));
    }
    let line = truncate(&line, columns);
    if selected { line.pad(columns, style(Role::Text)) } else { line }
}

fn count(popup: &Popup, columns: usize) -> Line {
    let text = if popup.entries.is_empty() {
        "looking for files…".to_owned()
    } else {
        let more =
            if popup.files.is_truncated() && popup.is_files() { " (not all files)" } else { "" };
        format!("{}/{}{more}", popup.selected + 1, popup.total)
    };
    truncate(&Line::new(format!("  {text}"), Role::Dim), columns)
}
