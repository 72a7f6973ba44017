//! The prompts that wait.

use crate::terminal::state::State;
use crate::terminal::text::{Line, Role, truncate};

/// How many prompts are shown.
const SHOWN: usize = 3;

/// Renders the queue, and what was entered before the session was open.
pub(crate) fn lines(state: &State, width: usize, out: &mut Vec<Line>) {
    // The prompt whose turn is about to begin does not wait.
    let starting = usize::from(state.turn.is_none());
    let waiting: Vec<&str> = state
        .queue
        .iter()
        .skip(starting)
        .map(|queued| queued.text.as_str())
        .chain(state.early.iter().map(|draft| draft.text.as_str()))
        .collect();
    if waiting.is_empty() {
        return;
    }
    // What was entered before the session is open is not in its queue, and no key reaches it.
    let editable = !state.queue.is_empty();
    for (at, text) in waiting.iter().take(SHOWN).enumerate() {
        let first = text.lines().next().unwrap_or_default();
        let mut line = Line::new("  queued ", Role::Dim).with(first, Role::User);
        let more = waiting.len() - SHOWN.min(waiting.len());
        if at + 1 == waiting.len().min(SHOWN) {
            if more > 0 {
                line.push(format!("  +{more} more"), Role::Dim);
            }
            if editable && state.composer.is_empty() {
                let moves = if waiting.len() > 1 { "Alt+↑ moves, " } else { "" };
                line.push(format!("  (↑ edits, {moves}Ctrl+Enter sends now)"), Role::Dim);
            }
        }
        out.push(truncate(&line, width));
    }
}
