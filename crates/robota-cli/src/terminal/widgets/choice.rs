//! A question of the model to the user, with its answers.

use crate::terminal::screen::Cursor;
use crate::terminal::state::State;
use crate::terminal::text::{Ground, Line, Role, Style, truncate, wrap};

/// Renders the question. Returns the cursor in the text of another answer, relative to the first row.
pub(crate) fn lines(state: &mut State, width: usize, out: &mut Vec<Line>) -> Option<Cursor> {
    let armed = state.choices.is_armed(state.now);
    let choice = state.choices.shown_mut()?;
    let header = choice.header.as_deref().map(|header| format!("{header}: ")).unwrap_or_default();
    let title = Line::new("? ", Role::Warn).with(header, Role::Accent);
    out.extend(wrap(&title.with(&choice.question, Role::Warn), width, 2));
    let mut cursor = None;
    if let Some(text) = &mut choice.text {
        let label = "  answer: ";
        let view = text.view(width.saturating_sub(label.len()).max(1), 3);
        cursor = Some(Cursor {
            row: out.len() + view.cursor.row,
            column: view.cursor.column + label.len(),
        });
        for (row, line) in view.lines.into_iter().enumerate() {
            let label = if row == 0 { label.to_owned() } else { " ".repeat(label.len()) };
            let mut shown = Line::new(label, Role::Accent);
            shown.extend(line);
            out.push(shown);
        }
        out.push(Line::new("  Enter sends it   Esc back", Role::Dim));
        out.push(Line::default());
        return cursor;
    }
    let other = "something else …".to_owned();
    let rows = choice.options.iter().map(|option| {
        let mark = match (choice.several, option.marked) {
            (false, _) => "",
            (true, true) => "[x] ",
            (true, false) => "[ ] ",
        };
        (format!("{mark}{}", option.label), option.description.as_str())
    });
    for (at, (label, description)) in rows.chain([(other, "")]).enumerate() {
        let chosen = at == choice.selected;
        let on = |role: Role| match chosen {
            true => Style::from(role).on(Ground::Selected),
            false => Style::from(role),
        };
        let number = Line::new(format!("  {}. ", at + 1), on(Role::Accent));
        let line = number.with(label, on(Role::Text));
        let line = match description {
            "" => line,
            text => line.with(format!("  {text}"), on(Role::Dim)),
        };
        out.push(truncate(&line, width));
    }
    let keys = match choice.several {
        true => "  ↑↓ or a number marks   Space marks   Enter sends   Esc no answer",
        false => "  ↑↓ and Enter, or a number   Esc no answer",
    };
    let role = if armed { Role::Accent } else { Role::Dim };
    out.extend(wrap(&Line::new(keys, role), width, 2));
    out.push(Line::default());
    cursor
}
