//! Shows the state: the lines that are finished, and the live region below them. No I/O happens
//! here; only the caches of the state change.

use super::conversation::Entry;
use super::event::Size;
use super::screen::Cursor;
use super::screens::PageContext;
use super::state::{LastPrompt, State};
use super::text::{Line, Role, truncate};
use super::widgets::{choice, composer, entry, question, queue, status, tool_row, trust};

/// What the terminal shows.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    /// Lines that are finished: they are written once.
    pub(crate) finished: Vec<Line>,
    /// The live region.
    pub(crate) live: Vec<Line>,
    pub(crate) cursor: Option<Cursor>,
    /// The page that covers everything.
    pub(crate) page: Option<(Vec<Line>, Option<Cursor>)>,
}

/// The part of the live region that has the cursor.
enum CursorPlace {
    /// The user types an answer in the question.
    Asked(Cursor),
    /// The user types a prompt in the composer.
    Bottom(Cursor),
    /// A question is shown that the user answers with a key: the cursor is not drawn.
    Hidden,
}

/// Renders the state. Finished entries are rendered once; the next frame does not contain them.
pub(crate) fn view(state: &mut State, size: Size) -> Frame {
    // Taken out for the call, because the page reads the rest of the state.
    if let Some(mut page) = state.page.take() {
        let shown = page.view(size, &PageContext::of(state));
        state.page = Some(page);
        return Frame { page: Some(shown), ..Frame::default() };
    }
    let width = size.columns;
    let finished = finished(state, width);
    let Bottom { lines: mut bottom, rule, cursor: typing } = bottom(state, size);
    let left = size.rows.saturating_sub(bottom.len());
    let mut asked = Vec::new();
    let place = if state.trust.is_some() {
        trust::lines(state, width, left, &mut asked);
        CursorPlace::Bottom(typing)
    } else if state.questions.shown().is_some() {
        match question::lines(state, width, left, &mut asked) {
            Some(field) => CursorPlace::Asked(field),
            None if state.questions.is_armed(state.now) => CursorPlace::Hidden,
            None => CursorPlace::Bottom(typing),
        }
    } else if state.choices.shown().is_some() {
        match choice::lines(state, width, &mut asked) {
            Some(field) => CursorPlace::Asked(field),
            None if state.choices.is_armed(state.now) => CursorPlace::Hidden,
            None => CursorPlace::Bottom(typing),
        }
    } else {
        CursorPlace::Bottom(typing)
    };
    let mut live = entries(state, width, left.saturating_sub(asked.len()));
    let room = live.len() + asked.len() + bottom.len() < size.rows;
    if live.is_empty() && room && state.conversation.last_committed().is_some() {
        live.push(Line::default());
    }
    let rows = live.len() + asked.len() + bottom.len();
    if let Some(prompt) = hidden_prompt(state, size, rows)
        && let Some(rule) = bottom.get_mut(rule)
    {
        *rule = titled_rule(prompt, width);
    }
    let (above_asked, above_bottom) = (live.len(), live.len() + asked.len());
    let moved = |cursor: Cursor, by: usize| Some(Cursor { row: cursor.row + by, ..cursor });
    let cursor = match place {
        CursorPlace::Asked(cursor) => moved(cursor, above_asked),
        CursorPlace::Bottom(cursor) => moved(cursor, above_bottom),
        CursorPlace::Hidden => None,
    };
    live.extend(asked);
    live.extend(bottom);
    Frame { finished, live, cursor, page: None }
}

/// Renders the entries that finished since the last frame.
fn finished(state: &mut State, width: usize) -> Vec<Line> {
    let State { conversation, expanded, last_prompt, .. } = state;
    let mut lines = Vec::new();
    for (before, finished) in conversation.commit() {
        let above = lines.len();
        entry::append(finished, before, width, *expanded, &mut lines);
        match (finished, last_prompt.as_mut()) {
            (Entry::Prompt(text), _) => *last_prompt = Some(LastPrompt::new(text)),
            (_, Some(prompt)) => prompt.rows_below += lines.len() - above,
            (_, None) => {}
        }
    }
    lines
}

/// Returns the prompt of the running turn if its row has left the screen; `live` is the height of the
/// live region.
fn hidden_prompt(state: &State, size: Size, live: usize) -> Option<&str> {
    let prompt = state.last_prompt.as_ref().filter(|_| state.turn.is_some())?;
    (prompt.rows_below + live >= size.rows).then_some(prompt.first_line.as_str())
}

/// Renders a rule with a text in it.
fn titled_rule(text: &str, width: usize) -> Line {
    let line = Line::new("── ", Role::Dim).with(text, Role::User).with(" ", Role::Dim);
    let line = truncate(&line, width);
    let rest = width.saturating_sub(line.width());
    line.with("─".repeat(rest), Role::Dim)
}

/// The part of the live region below the conversation and the questions.
struct Bottom {
    lines: Vec<Line>,
    /// The row of the rule above the composer.
    rule: usize,
    cursor: Cursor,
}

/// Renders the queue, the composer, its popup and the status line.
fn bottom(state: &mut State, size: Size) -> Bottom {
    let width = size.columns;
    let mut lines = Vec::new();
    queue::lines(state, width, &mut lines);
    let rule = lines.len();
    lines.push(Line::new("─".repeat(width), Role::Dim));
    let above = lines.len();
    // The composer takes at most half of the terminal: the question above it must stay visible.
    let most = (size.rows / 2).saturating_sub(2).max(1);
    let cursor = composer::lines(state, width, most, &mut lines);
    let room = size.rows.saturating_sub(lines.len() + 1 + state.script_lines.len());
    lines.extend(state.popup.view(width, room));
    status::lines(state, size, &mut lines);
    Bottom { lines, rule, cursor: Cursor { row: above + cursor.row, ..cursor } }
}

/// Renders the end of the entries that are not finished, at most `rows` rows.
fn entries(state: &mut State, width: usize, rows: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let (now, expanded) = (state.now, state.expanded);
    let asked = state.questions.shown().map(|asked| asked.call.clone());
    let mut before = state.conversation.last_committed();
    for live in state.conversation.live() {
        // The call that is asked about is shown with its question.
        if entry::call(live).is_none() || entry::call(live) != asked.as_ref() {
            entry::append_live(live, before, (width, now, expanded), &mut lines);
            before = Some(live);
        }
    }
    if let Some(shell) = &state.shell {
        if !matches!(entry::Spacing::after(before), entry::Spacing::Start | entry::Spacing::Row) {
            lines.push(Line::default());
        }
        tool_row::append(shell, width, now, expanded, &mut lines);
    }
    if state.conversation.is_writing() {
        let after = entry::Spacing::after(before);
        let (open, continues) = state.conversation.open_lines(width);
        if after.blank_before_text(continues) {
            lines.push(Line::default());
        }
        // A block that is taller than the terminal shows its end.
        lines.extend(open.iter().skip(open.len().saturating_sub(rows)).cloned());
    } else if !lines.is_empty() {
        lines.push(Line::default());
    }
    if state.conversation.is_writing() {
        lines.push(Line::default());
    }
    let hidden = lines.len().saturating_sub(rows);
    lines.drain(..hidden);
    lines
}

#[cfg(test)]
mod tests;
