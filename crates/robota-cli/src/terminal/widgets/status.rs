//! The status line: what the session does, and its facts. Unknown values are left out.

use std::time::Duration;

use robota_core::permission::Mode;

use crate::terminal::event::{Size, clock_text};
use crate::terminal::keys::{Action, Context};
use crate::terminal::state::{Phase, State};
use crate::terminal::text::{Line, Role, truncate, width};

/// The rows below which only the status line itself is shown.
const SMALL: usize = 12;

/// Renders the status line, and what the user's command printed below it.
pub(crate) fn lines(state: &State, size: Size, out: &mut Vec<Line>) {
    let script = if size.rows < SMALL { &[] } else { state.script_lines.as_slice() };
    // A hint answers a key, so it is shown also if the line is hidden.
    if !state.hides_status || state.hint.is_some() || script.is_empty() {
        out.push(line(state, size.columns));
    }
    out.extend(script.iter().map(|line| truncate(line, size.columns)));
}

/// Renders the status line. Where it is too long, its last parts are left out.
fn line(state: &State, columns: usize) -> Line {
    if let Some(hint) = &state.hint {
        return truncate(&Line::new(&hint.text, Role::Warn), columns);
    }
    let (word, role) = activity(state);
    let mut line = truncate(&Line::new(word, role), columns);
    for (part, role) in parts(state) {
        if part.is_empty() {
            continue;
        }
        if line.width() + 3 + width(&part) > columns {
            return line;
        }
        line.push(" · ", Role::Dim);
        line.push(part, role);
    }
    let keys = "? keys";
    let gap = columns.saturating_sub(line.width() + width(keys));
    // With a text in the composer the key is a letter of the text.
    if gap >= 2 && state.composer.is_empty() {
        line.push(" ".repeat(gap), Role::Text);
        line.push(keys, Role::Dim);
    }
    line
}

/// Returns what the session does now.
fn activity(state: &State) -> (String, Role) {
    match state.phase {
        Phase::Starting if state.trust.is_some() => return ("waiting for you".into(), Role::Warn),
        Phase::Starting => return ("starting".into(), Role::Dim),
        Phase::Failed => return ("no session".into(), Role::Bad),
        Phase::Ending => return ("ending".into(), Role::Warn),
        Phase::Ready | Phase::Following => {}
    }
    let Some(turn) = &state.turn else {
        if state.questions.shown().is_some() || state.choices.shown().is_some() {
            return ("waiting for you".into(), Role::Warn);
        }
        if let Some(shell) = &state.shell {
            let elapsed = clock_text(state.now.saturating_sub(shell.started));
            return (format!("{} {elapsed}", super::tool_row::running_words(shell)), Role::Accent);
        }
        let sending = !state.queue.is_empty();
        return (if sending { "sending" } else { "ready" }.to_owned(), Role::Dim);
    };
    let elapsed = clock_text(state.now.saturating_sub(turn.started));
    let (word, role) = if turn.stopping {
        ("stopping".to_owned(), Role::Warn)
    } else if state.questions.shown().is_some() || state.choices.shown().is_some() {
        ("waiting for you".to_owned(), Role::Warn)
    } else if turn.retrying.is_some() {
        ("trying again".to_owned(), Role::Warn)
    } else if let Some(row) = state.conversation.running() {
        (super::tool_row::running_words(row), Role::Accent)
    } else if state.conversation.is_writing() {
        ("writing".to_owned(), Role::Accent)
    } else {
        ("thinking".to_owned(), Role::Accent)
    };
    (format!("{word} {elapsed}"), role)
}

/// Returns the facts, the most important first.
fn parts(state: &State) -> Vec<(String, Role)> {
    let facts = &state.facts;
    let mut parts = Vec::new();
    if let Some(owner) = &facts.follows {
        parts.push((format!("read-only, written by {owner}"), Role::Warn));
    }
    if let Some(key) = background_key(state) {
        parts.push((format!("{key} background"), Role::Dim));
    }
    if let Some(context) = facts.context.filter(|context| context.max_tokens > 0) {
        let percent = context.used_percentage;
        let role = if percent >= 80.0 { Role::Warn } else { Role::Dim };
        parts.push((format!("ctx {percent:.0}%"), role));
    }
    match (facts.cost.unwrap_or(0.0), facts.budget) {
        (cost, Some(budget)) => {
            let role = if cost >= budget * 0.8 { Role::Warn } else { Role::Dim };
            parts.push((format!("${cost:.2} of ${budget:.2}"), role));
        }
        (cost, None) if cost > 0.0 => parts.push((format!("${cost:.2}"), Role::Dim)),
        (_, None) => {}
    }
    match state.background.running() {
        0 => {}
        count => parts.push((format!("{count} in background"), Role::Accent)),
    }
    if state.phase != Phase::Starting {
        parts.push(mode(facts.mode));
    }
    parts.push((facts.model.clone(), Role::Dim));
    let folder = match facts.branch.as_ref().filter(|_| !state.hides_branch) {
        Some(branch) => format!("{} ({branch})", facts.folder),
        None => facts.folder.clone(),
    };
    parts.push((folder, Role::Dim));
    if !facts.sandbox.is_empty() {
        parts.push((format!("sandbox {}", facts.sandbox), Role::Dim));
    }
    parts
}

/// How long a call runs before the status line says how to move it to the background.
const LONG: Duration = Duration::from_secs(3);

/// Returns the key that moves what runs to the background, if it has run for a while.
fn background_key(state: &State) -> Option<String> {
    let started = state.conversation.movable().map(|row| row.started).min()?;
    let long = state.phase == Phase::Ready && state.now.saturating_sub(started) >= LONG;
    let keys = state.keys.keys(&[Context::Global, Context::Chat], Action::Background);
    keys.into_iter().next().filter(|_| long)
}

/// Returns the short name of a mode.
pub(crate) fn mode(mode: Mode) -> (String, Role) {
    match mode {
        Mode::Default => ("ask".into(), Role::Dim),
        Mode::DontAsk => ("don't ask".into(), Role::Accent),
        Mode::AcceptEdits => ("edits".into(), Role::Accent),
        Mode::Plan => ("plan".into(), Role::Accent),
        Mode::BypassPermissions => ("bypass".into(), Role::Bad),
    }
}
