//! The question whether to trust the settings of the folder.

use crate::terminal::state::State;
use crate::terminal::text::{Line, Role, wrap};

/// Renders the question.
pub(crate) fn lines(state: &State, width: usize, rows: usize, out: &mut Vec<Line>) {
    let Some(trust) = &state.trust else { return };
    let folder = &state.facts.folder;
    let text = format!(
        "? {folder} has settings that can run commands, widen permissions or redirect requests:"
    );
    out.extend(wrap(&Line::new(text, Role::Warn), width, 2));
    // What it would run is shown whole, as long as there is room.
    let room = rows.saturating_sub(out.len() + 3).max(1);
    let mut shown = Vec::new();
    let mut items = trust.items.iter().peekable();
    while let Some(item) = items.peek() {
        let lines = wrap(&Line::new(format!("    {item}"), Role::Text), width, 6);
        if shown.len() + lines.len() > room && !shown.is_empty() {
            break;
        }
        shown.extend(lines);
        items.next();
    }
    shown.truncate(room);
    out.append(&mut shown);
    let more = items.count();
    if more > 0 {
        out.push(Line::new(format!("    … {more} more: robota trust"), Role::Dim));
    }
    let armed = state.now >= trust.armed_at;
    let role = if armed { Role::Accent } else { Role::Dim };
    let keys = Line::new("  t", role).with(" trust them   ", Role::Text);
    let keys = keys.with("c", role).with(" continue without them   ", Role::Text);
    out.extend(wrap(&keys.with("q", role).with(" quit", Role::Text), width, 2));
    out.push(Line::default());
}
