//! Shows the state: the lines that are finished, and the live region below them. No I/O happens
//! here; only the caches of the state change.

use super::event::Size;
use super::screen::Cursor;
use super::screens::PageContext;
use super::state::State;
use super::text::{Line, Role};
use super::widgets::{choice, composer, entry, question, queue, status, trust};

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

/// Where the cursor is.
enum Place {
    /// In a text of the question.
    Asked(Cursor),
    /// In the composer.
    Bottom(Cursor),
    /// Nowhere.
    Hidden,
}

/// Renders the state. Finished entries are rendered once; the next frame does not contain them.
pub(crate) fn view(state: &mut State, size: Size) -> Frame {
    if let Some(mut page) = state.page.take() {
        let shown = page.view(size, &PageContext::of(state));
        state.page = Some(page);
        return Frame { page: Some(shown), ..Frame::default() };
    }
    let width = size.columns;
    let finished = finished(state, width);
    let (bottom, typing) = bottom(state, size);
    let left = size.rows.saturating_sub(bottom.len());
    let mut asked = Vec::new();
    let place = if state.trust.is_some() {
        trust::lines(state, width, left, &mut asked);
        Place::Bottom(typing)
    } else if state.questions.shown().is_some() {
        match question::lines(state, width, left, &mut asked) {
            Some(field) => Place::Asked(field),
            None if state.questions.is_armed(state.now) => Place::Hidden,
            None => Place::Bottom(typing),
        }
    } else if state.choices.shown().is_some() {
        match choice::lines(state, width, &mut asked) {
            Some(field) => Place::Asked(field),
            None if state.choices.is_armed(state.now) => Place::Hidden,
            None => Place::Bottom(typing),
        }
    } else {
        Place::Bottom(typing)
    };
    let mut live = entries(state, width, left.saturating_sub(asked.len()));
    let room = live.len() + asked.len() + bottom.len() < size.rows;
    if live.is_empty() && room && state.conversation.last_committed().is_some() {
        live.push(Line::default());
    }
    let (above_asked, above_bottom) = (live.len(), live.len() + asked.len());
    let moved = |cursor: Cursor, by: usize| Some(Cursor { row: cursor.row + by, ..cursor });
    let cursor = match place {
        Place::Asked(cursor) => moved(cursor, above_asked),
        Place::Bottom(cursor) => moved(cursor, above_bottom),
        Place::Hidden => None,
    };
    live.extend(asked);
    live.extend(bottom);
    Frame { finished, live, cursor, page: None }
}

/// Renders the entries that finished since the last frame.
fn finished(state: &mut State, width: usize) -> Vec<Line> {
    let expanded = state.expanded;
    let mut lines = Vec::new();
    for (before, finished) in state.conversation.commit() {
        entry::append(finished, before, width, expanded, &mut lines);
    }
    lines
}

/// Renders the queue, the composer, its popup and the status line.
fn bottom(state: &mut State, size: Size) -> (Vec<Line>, Cursor) {
    let width = size.columns;
    let mut lines = Vec::new();
    queue::lines(state, width, &mut lines);
    lines.push(Line::new("─".repeat(width), Role::Dim));
    let above = lines.len();
    let most = (size.rows / 2).saturating_sub(2).max(1);
    let cursor = composer::lines(state, width, most, &mut lines);
    let room = size.rows.saturating_sub(lines.len() + 1 + state.script_lines.len());
    lines.extend(state.popup.view(width, room));
    status::lines(state, size, &mut lines);
    (lines, Cursor { row: above + cursor.row, ..cursor })
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
        }
        before = Some(live);
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
