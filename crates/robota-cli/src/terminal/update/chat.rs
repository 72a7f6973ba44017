//! Keys in the composer.

use crossterm::event::KeyEvent;

use super::{ask_again, may_write, page, quit};
use crate::terminal::composer::Draft;
use crate::terminal::effect::Effect;
use crate::terminal::keys::Action;
use crate::terminal::popup::PopupOutcome;
use crate::terminal::screens;
use crate::terminal::state::{HINT, Phase, State, Turn};

/// Takes a key.
pub(super) fn key(state: &mut State, key: &KeyEvent, action: Option<Action>) -> Vec<Effect> {
    if state.questions.shown().is_some() {
        state.questions.type_ahead(state.now);
    }
    state.choices.type_ahead(state.now);
    if let Some(trust) = &mut state.trust {
        trust.armed_at = state.now + crate::terminal::question::QUIET;
    }
    // Any other key between two Esc makes them two single ones.
    let escaped = state.last_escape.take();
    // Another key ends a series of moves; the next series begins with the last prompt again.
    if !matches!(action, Some(Action::QueueUp | Action::QueueDown)) {
        state.moving = None;
    }
    match state.popup.key(key, &mut state.composer) {
        PopupOutcome::Ignored => {}
        PopupOutcome::Taken => return Vec::new(),
        PopupOutcome::Submit => return submit(state, false),
    }
    let searching = state.composer.is_searching();
    match action {
        Some(Action::Help) if state.composer.is_empty() => {
            return page::open(state, screens::help());
        }
        // A backslash before Enter is a new line.
        Some(Action::Submit) if !searching && state.composer.continues_line() => return Vec::new(),
        Some(Action::Submit) if !searching => return submit(state, false),
        Some(Action::SubmitNow) => return submit(state, true),
        Some(Action::Newline) => {
            state.composer.newline();
            return Vec::new();
        }
        Some(Action::Cancel) if state.composer.cancel() => return Vec::new(),
        Some(Action::Cancel) => return cancel(state, escaped),
        Some(Action::Up) if state.composer.is_empty() && !state.queue.is_empty() => {
            return take_back(state);
        }
        Some(Action::QueueUp) if state.queue.len() > 1 => return move_queued(state, -1),
        Some(Action::QueueDown) if state.queue.len() > 1 => return move_queued(state, 1),
        Some(Action::SearchHistory) => {
            state.composer.search_history();
            return Vec::new();
        }
        Some(Action::PasteImage) => return vec![Effect::PasteImage],
        Some(Action::Editor) => return vec![Effect::Editor(state.composer.text())],
        Some(Action::Exit) if state.composer.is_empty() => {
            if state.hint.as_ref().is_some_and(|hint| hint.quits) {
                return quit(state);
            }
            ask_again(state, "Ctrl+D");
            return Vec::new();
        }
        _ => {}
    }
    state.keys.edit(key, &mut state.composer);
    super::complete(state)
}

/// Sends what is in the composer.
fn submit(state: &mut State, now: bool) -> Vec<Effect> {
    if state.composer.is_empty() {
        // With prompts that wait, "send now" stops the turn, so that the first of them begins.
        if now && state.turn.is_some() && !state.queue.is_empty() {
            interrupt(state);
            return vec![Effect::StartNext];
        }
        return Vec::new();
    }
    if !matches!(state.phase, Phase::Ready | Phase::Starting) {
        may_write(state);
        return Vec::new();
    }
    let draft = state.composer.submit();
    state.popup.close();
    enter(state, draft, now)
}

/// Takes what the user entered, or keeps it until the session is open.
pub(super) fn enter(state: &mut State, draft: Draft, now: bool) -> Vec<Effect> {
    let text = draft.text.trim();
    match text {
        "" => return Vec::new(),
        "/exit" | "/quit" | "exit" | "quit" => return quit(state),
        _ => {}
    }
    if let Some(effects) = super::command::local(state, text) {
        return effects;
    }
    if state.phase == Phase::Starting || state.shell.is_some() {
        state.early.push(draft);
        return Vec::new();
    }
    if let Some(command) = text.strip_prefix('!') {
        let command = command.trim();
        if command.is_empty() {
            return Vec::new();
        }
        return vec![Effect::Shell(command.to_owned())];
    }
    match now && state.turn.is_some() {
        true => {
            interrupt(state);
            vec![Effect::EnterNow(draft)]
        }
        false => vec![Effect::Enter(draft)],
    }
}

/// Stops the turn, or does what the second Esc does.
fn cancel(state: &mut State, before: Option<std::time::Duration>) -> Vec<Effect> {
    if state.turn.is_some() || state.shell.is_some() {
        return super::stop(state);
    }
    if before.is_some_and(|before| state.now.saturating_sub(before) <= HINT) {
        if !state.composer.is_empty() {
            state.composer.clear();
            return Vec::new();
        }
        return page::open(state, screens::rewind());
    }
    state.last_escape = Some(state.now);
    let what = if state.composer.is_empty() { "go back to a prompt" } else { "clear the text" };
    state.hint(format!("press Esc again to {what}"));
    Vec::new()
}

/// Marks the turn as one that is being stopped.
pub(super) fn interrupt(state: &mut State) {
    if let Some(Turn { stopping, .. }) = &mut state.turn {
        *stopping = true;
    }
}

/// Moves a waiting prompt by one place: the last one, or the one that was moved before.
fn move_queued(state: &mut State, by: isize) -> Vec<Effect> {
    if state.phase != Phase::Ready {
        may_write(state);
        return Vec::new();
    }
    let moving = state.moving.take();
    let found = state.queue.iter().position(|queued| Some(&queued.input) == moving.as_ref());
    let last = state.queue.len() - 1;
    let from = found.unwrap_or(last);
    let to = from.saturating_add_signed(by).min(last);
    let input = state.queue[from].input.clone();
    state.moving = Some(input.clone());
    if from == to {
        return Vec::new();
    }
    state.queue.swap(from, to);
    vec![Effect::MovePrompt(input, to)]
}

/// Takes the last prompt of the queue back into the composer.
fn take_back(state: &mut State) -> Vec<Effect> {
    // Before the queue changes: the prompt stays in the queue of the process that writes the session.
    if state.phase != Phase::Ready {
        may_write(state);
        return Vec::new();
    }
    let Some(queued) = state.queue.pop_back() else { return Vec::new() };
    state.composer.set_text(&queued.text);
    vec![Effect::CancelPrompt(queued.input)]
}
