//! Updates the state of the terminal after an event of the session.

use robota_core::event::TurnEnd;
use robota_sdk::{ExecutionResult, InteractiveEvent, Notice};

use super::note;
use crate::terminal::conversation::{Entry, NoteKind, RowState, ToolRow};
use crate::terminal::effect::Effect;
use crate::terminal::notify::LONG_TURN;
use crate::terminal::state::{Queued, State, Turn};

/// Takes an event of the session.
pub(super) fn update(state: &mut State, event: InteractiveEvent) -> Vec<Effect> {
    let now = state.now;
    match event {
        InteractiveEvent::PromptAccepted { input, text } => {
            state.queue.push_back(Queued { input, text });
        }
        InteractiveEvent::PromptChanged { input, text, position } => {
            state.queue.retain(|queued| queued.input != input);
            let at = state.queue.len().min(position as usize);
            state.queue.insert(at, Queued { input, text });
        }
        InteractiveEvent::PromptCancelled { input, reason } => {
            let waiting = state.queue.iter().position(|queued| queued.input == input);
            let cancelled = waiting.and_then(|at| state.queue.remove(at));
            match (reason, cancelled) {
                (Some(reason), _) => {
                    note(state, NoteKind::Error, format!("A hook blocked the prompt: {reason}"));
                }
                (None, Some(cancelled)) => take_back(state, &cancelled.text),
                (None, None) => {}
            }
        }
        InteractiveEvent::PromptStarted { input, text } => {
            state.queue.retain(|queued| queued.input != input);
            state.conversation.push(Entry::Prompt(text));
        }
        InteractiveEvent::ModeChanged { mode } => state.facts.mode = mode,
        InteractiveEvent::Thinking { active: true } => {
            state.turn = Some(Turn { started: now, stopping: false, retrying: None });
            state.idle_at = None;
        }
        // The result follows.
        InteractiveEvent::Thinking { active: false } => {}
        InteractiveEvent::TextDelta { text } => {
            continue_turn(state);
            state.conversation.text(&text);
        }
        // Nothing of the answer is in the scrollback yet, so there is nothing to explain.
        InteractiveEvent::TextReset if !state.conversation.drop_open_text() => {}
        InteractiveEvent::TextReset => {
            note(state, NoteKind::Warning, "The connection broke: the answer begins again.");
        }
        InteractiveEvent::ToolStart(details) => {
            continue_turn(state);
            match state.conversation.row(&details.call) {
                Some(row) => {
                    row.state = RowState::Running;
                    row.started = now;
                    // An approval may have changed the arguments.
                    row.argument.clone_from(&details.first_argument);
                    row.details.time_limit_ms = details.time_limit_ms;
                }
                None => {
                    let row = ToolRow::new(details, RowState::Running, now);
                    state.conversation.push(Entry::Tool(Box::new(row)));
                }
            }
        }
        InteractiveEvent::ToolOutput { call, text } => {
            let shell = state.shell.as_mut().filter(|shell| shell.call == call);
            if let Some(row) = shell.or_else(|| state.conversation.row(&call)) {
                row.output.push(&text);
            }
        }
        InteractiveEvent::ToolEnd(details) => {
            // A call may end without an answer, such as when another client stops the turn.
            state.questions.remove(&details.call, now);
            match state.conversation.row(&details.call) {
                Some(row) => row.end(details, now),
                None => {
                    // A call that ended before it started, such as one that was denied.
                    let mut row = ToolRow::new(details.clone(), RowState::Running, now);
                    row.end(details, now);
                    state.conversation.push(Entry::Tool(Box::new(row)));
                }
            }
        }
        InteractiveEvent::ApprovalDecided { call } => {
            state.questions.remove(&call, now);
        }
        InteractiveEvent::BackgroundTaskEvent { task, change } => {
            state.background.apply(&task, &change);
        }
        InteractiveEvent::ContextUpdate(context) => state.facts.context = Some(context),
        InteractiveEvent::Compacted { .. } => {
            note(state, NoteKind::Plain, "The conversation was compacted.");
        }
        InteractiveEvent::Retry { error, delay_ms } => {
            let seconds = std::time::Duration::from_millis(delay_ms).as_secs_f64();
            let message = error.message.trim_end_matches('.');
            let text = format!("{message}. Trying again in {seconds:.1} s.");
            if let Some(turn) = &mut state.turn {
                turn.retrying = Some(text.clone());
            }
            note(state, NoteKind::Warning, text);
        }
        InteractiveEvent::Complete(result)
        | InteractiveEvent::Interrupted(result)
        | InteractiveEvent::Error(result) => return end_turn(state, &result),
        // The question itself comes as `Event::Asked`, with what the call would do.
        InteractiveEvent::ApprovalAsked { .. } => {}
        _ => {}
    }
    Vec::new()
}

/// Puts a prompt that was cancelled together with the turn back into the composer: it was typed to be
/// sent, and is not lost.
fn take_back(state: &mut State, text: &str) {
    if !state.turn.as_ref().is_some_and(|turn| turn.stopping) {
        return;
    }
    let before = state.composer.text();
    let text = if before.is_empty() { text.to_owned() } else { format!("{before}\n{text}") };
    state.composer.set_text(&text);
}

/// Clears an earlier failure, because the model answers.
fn continue_turn(state: &mut State) {
    if let Some(turn) = &mut state.turn {
        turn.retrying = None;
    }
}

fn end_turn(state: &mut State, result: &ExecutionResult) -> Vec<Effect> {
    state.conversation.finish_text();
    let now = state.now;
    state.questions.end_turn(now);
    for row in state.conversation.open_rows() {
        row.state = RowState::Stopped;
        row.took = Some(now.saturating_sub(row.started));
    }
    let took = state.turn.take().map(|turn| now.saturating_sub(turn.started));
    // With a prompt that waits the next turn starts at once.
    state.idle_at = state.idle_after.filter(|_| state.queue.is_empty()).map(|after| now + after);
    let ended = match result.end {
        TurnEnd::Complete => None,
        TurnEnd::Interrupted => Some((NoteKind::Warning, "Stopped.")),
        TurnEnd::RoundLimit => Some((NoteKind::Warning, "The limit of model calls is reached.")),
        TurnEnd::ContextFull => {
            Some((NoteKind::Error, "The context window is full. /compact or /clear makes room."))
        }
        TurnEnd::Stopped => Some((NoteKind::Warning, "A hook stopped the turn.")),
        TurnEnd::UnknownTools => {
            Some((NoteKind::Error, "The model kept making calls that cannot succeed."))
        }
        TurnEnd::ProviderFailed | TurnEnd::StoreFailed | TurnEnd::Blocked => {
            let failure = result.error.as_ref().map(|error| error.message.as_str());
            Some((NoteKind::Error, failure.unwrap_or("The turn failed.")))
        }
    };
    if let Some((kind, text)) = ended {
        note(state, kind, text);
    }
    if took.is_none_or(|took| took < LONG_TURN) {
        return Vec::new();
    }
    let text = format!("The turn has ended in {}", state.facts.folder);
    state.notifier.report(&text, now).map(Effect::Write).into_iter().collect()
}

/// Shows a message of the SDK.
pub(super) fn notice(state: &mut State, notice: Notice) {
    match notice {
        Notice::Error(text) => note(state, NoteKind::Error, text),
        Notice::Note(text) => note(state, NoteKind::Plain, text),
        Notice::Hint(text) => note(state, NoteKind::Plain, format!("hint: {text}")),
    }
}
