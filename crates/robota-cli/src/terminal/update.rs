//! Changes the state by an event, and says what others must do. No I/O happens here.

mod chat;
mod choice;
mod command;
mod page;
mod question;
mod session;

use crossterm::event::{KeyEvent, KeyEventKind};
use robota_core::permission::Mode;
use robota_sdk::ToolState;

use super::ansi::Output;
use super::composer::{Draft, Image, dropped_images};
use super::conversation::{Entry, NoteKind, RowState, ToolRow};
use super::effect::Effect;
use super::event::{Event, Opened};
use super::keys::{Action, Context};
use super::state::{HINT, Hint, Phase, State, TrustQuestion};
use super::{question as questions, screens};

pub(crate) use choice::answer as answer_user;
pub(crate) use question::{answer, split_rules};

/// Takes an event. The caller has set `state.now`.
pub(crate) fn update(state: &mut State, event: Event) -> Vec<Effect> {
    if state.hint.as_ref().is_some_and(|hint| hint.until <= state.now) {
        state.hint = None;
    }
    if matches!(event, Event::Key(_) | Event::Paste(_)) {
        state.idle_at = None;
    }
    let mut effects = apply(state, event);
    if state.idle_at.is_some_and(|at| at <= state.now) {
        state.idle_at = None;
        effects.push(Effect::NotifyIdle);
    }
    effects
}

fn apply(state: &mut State, event: Event) -> Vec<Effect> {
    match event {
        // Terminals with the keyboard protocol of kitty report releases too.
        Event::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
        Event::Key(key) => {
            state.notifier.typed(state.now);
            on_key(state, &key)
        }
        Event::Paste(text) => {
            state.notifier.typed(state.now);
            on_paste(state, &text)
        }
        Event::Resize(size) => {
            state.size = size;
            Vec::new()
        }
        Event::Clock => Vec::new(),
        Event::Session(event) => session::update(state, event),
        Event::Asked(asked) => question::asked(state, *asked),
        Event::Withdrawn(call) => {
            state.questions.remove(&call, state.now);
            Vec::new()
        }
        Event::UserAsked { id, question } => {
            let first = state.choices.shown().is_none();
            let text = format!("{} (in {})", question.question, state.facts.folder);
            state.choices.push(id, *question, state.now);
            let report = first.then(|| state.notifier.report(&text, state.now)).flatten();
            report.map(Effect::Write).into_iter().collect()
        }
        Event::UserQuestionEnded(id) => {
            state.choices.remove(id, state.now);
            Vec::new()
        }
        Event::RuleTested(test) => question::tested(state, test),
        Event::TrustNeeded(items) => {
            let armed_at = state.now + questions::QUIET;
            state.trust = Some(TrustQuestion { items, armed_at });
            Vec::new()
        }
        Event::Opened(opened) => on_opened(state, *opened),
        Event::OpenFailed { message, hint } => {
            state.phase = Phase::Failed;
            page::close_without_session(state);
            note(state, NoteKind::Error, message);
            if let Some(hint) = hint {
                note(state, NoteKind::Plain, format!("hint: {hint}"));
            }
            Vec::new()
        }
        Event::ShellStarted { call, command } => {
            let details = ToolState::new(call, "Bash", command);
            state.shell = Some(ToolRow::new(details, RowState::Running, state.now));
            Vec::new()
        }
        Event::ShellEnded(call) => {
            if state.shell.as_ref().is_some_and(|shell| shell.call == call) {
                state.shell = None;
            }
            enter_early(state)
        }
        Event::CommandDone { typed, result } => command::done(state, typed, result),
        Event::ModelChanged(model) => {
            note(state, NoteKind::Plain, format!("Model: {model}"));
            state.facts.model = model;
            Vec::new()
        }
        Event::Rejected { typed, why } => {
            note(state, NoteKind::Error, why);
            // What the user has typed since then is not overwritten.
            if state.composer.is_empty() {
                state.composer.set_text(&typed);
            }
            Vec::new()
        }
        Event::Notice(notice) => {
            session::notice(state, notice);
            Vec::new()
        }
        Event::Cost(cost) => {
            state.facts.cost = Some(cost);
            Vec::new()
        }
        Event::Branch(branch) => {
            state.facts.branch = branch;
            Vec::new()
        }
        Event::StatusLines(lines) => {
            let mut output = Output::default();
            state.script_lines = lines.iter().map(|line| output.line(line)).collect();
            Vec::new()
        }
        Event::Focus(focused) => {
            state.notifier.set_focus(focused);
            Vec::new()
        }
        Event::Files(batch) => {
            state.popup.add_files(batch);
            Vec::new()
        }
        Event::Edited(text) => {
            state.composer.set_text(&text);
            Vec::new()
        }
        Event::ImagePasted(Ok(bytes)) => {
            state.composer.attach(Image::Png(bytes.into()));
            Vec::new()
        }
        Event::ImagePasted(Err(why)) => {
            state.hint(why);
            Vec::new()
        }
        Event::Answered(reply) => page::answered(state, reply),
        Event::History(prompts) => {
            state.composer.set_history(prompts);
            Vec::new()
        }
        // These are for the thread that draws.
        Event::Ended(_) | Event::Away(_) | Event::Line(_) => Vec::new(),
    }
}

/// Takes a text that the user entered, in the terminal for screen readers.
pub(crate) fn enter(state: &mut State, text: &str) -> Vec<Effect> {
    if !matches!(state.phase, Phase::Ready | Phase::Starting | Phase::Failed) {
        may_write(state);
        if !matches!(text, "/exit" | "/quit" | "exit" | "quit") {
            return Vec::new();
        }
    }
    let draft = Draft { text: text.to_owned(), ..Draft::default() };
    chat::enter(state, draft, false)
}

/// Stops the running turn, or the shell command of the user, if there is one.
pub(crate) fn stop(state: &mut State) -> Vec<Effect> {
    if state.turn.is_none() {
        return if state.shell.is_some() { vec![Effect::StopShell] } else { Vec::new() };
    }
    chat::interrupt(state);
    vec![Effect::Interrupt]
}

/// Adds a message of the program to the conversation.
pub(super) fn note(state: &mut State, kind: NoteKind, text: impl Into<String>) {
    state.conversation.push(Entry::Note(kind, text.into()));
}

fn on_opened(state: &mut State, opened: Opened) -> Vec<Effect> {
    let Opened { session, name, model, mode, sandbox, context, commands, history, follows, .. } =
        opened;
    let built_in = opened.built_in_status.unwrap_or_default();
    state.hides_status = built_in.enabled == Some(false);
    state.hides_branch = built_in.git_branch == Some(false);
    // Not replaced: the user may have pressed Ctrl+O before.
    state.expanded |= opened.verbose;
    state.facts.budget = opened.budget;
    let first = opened.first_prompt.filter(|_| state.early.is_empty());
    state.script_lines.clear();
    let notifies = state.notifier.set_channel(opened.notify);
    (state.idle_after, state.idle_at) = (opened.idle_after, None);
    state.phase = if follows.is_some() { Phase::Following } else { Phase::Ready };
    page::close_without_session(state);
    if let Some(owner) = &follows {
        let text =
            format!("{owner} writes this session. This terminal follows it and changes nothing.");
        note(state, NoteKind::Warning, text);
    }
    // What belonged to a session before this one.
    state.queue.clear();
    state.questions.clear();
    state.choices.clear();
    state.background.clear();
    (state.turn, state.facts.cost, state.facts.context) = (None, None, context);
    let facts = &mut state.facts;
    (facts.session, facts.name, facts.model) = (session, name, model);
    (facts.mode, facts.sandbox, facts.follows) = (mode, sandbox, follows);
    state.popup.set_commands(&commands);
    state.commands = commands;
    for entry in history {
        state.conversation.push(entry);
    }
    state.shell = None;
    let mut effects = enter_early(state);
    // The session adds it to the first prompt of the user, so it is entered only if there is none. The user
    // has not typed it, so it is never a shell command.
    effects.extend(first.map(|text| Effect::Enter(Draft { text, ..Draft::default() })));
    if notifies {
        effects.push(Effect::WatchFocus);
    }
    effects
}

/// Enters what the user entered when it could not be taken yet.
fn enter_early(state: &mut State) -> Vec<Effect> {
    let early = std::mem::take(&mut state.early);
    early.into_iter().flat_map(|draft| chat::enter(state, draft, false)).collect()
}

fn on_paste(state: &mut State, text: &str) -> Vec<Effect> {
    if state.page.is_some() {
        return page::paste(state, text);
    }
    if let Some(field) = &mut state.questions.form.field {
        field.composer.paste(&text.replace(['\r', '\n'], " "));
        return question::field_changed(state);
    }
    let armed = state.questions.shown().is_none() && state.choices.is_armed(state.now);
    if let Some(answer) =
        state.choices.shown_mut().filter(|_| armed).and_then(|it| it.text.as_mut())
    {
        answer.paste(text);
        return Vec::new();
    }
    // Files that are dropped onto the terminal arrive as their paths.
    match dropped_images(text) {
        Some(files) => files.into_iter().for_each(|file| state.composer.attach(Image::File(file))),
        None => state.composer.paste(text),
    }
    complete(state)
}

/// Shows what completes the text. Files are listed when the user begins to name one.
fn complete(state: &mut State) -> Vec<Effect> {
    state.popup.update(&state.composer);
    if state.popup.wants_files() { vec![Effect::ListFiles] } else { Vec::new() }
}

fn on_key(state: &mut State, key: &KeyEvent) -> Vec<Effect> {
    let context = context(state);
    let action = state.keys.action(context, key);
    if state.phase == Phase::Ending {
        // The second Ctrl+C does not wait for the session.
        return if action == Some(Action::ClearOrQuit) { vec![Effect::Quit] } else { Vec::new() };
    }
    // The second of two Ctrl+C must follow the first.
    if !matches!(action, Some(Action::ClearOrQuit | Action::Exit)) {
        state.hint = None;
    }
    if state.page.is_none()
        && let Some(effects) = everywhere(state, action)
    {
        return effects;
    }
    match context {
        Context::Page if state.page.is_some() => page::key(state, key, action),
        Context::Page => choice::key(state, key, action),
        Context::Question if state.trust.is_some() => question::trust_key(state, key, action),
        Context::Question => question::key(state, action),
        Context::Field => question::field_key(state, key, action),
        Context::Chat | Context::Global => chat::key(state, key, action),
    }
}

/// Returns who takes the next key.
fn context(state: &State) -> Context {
    if state.page.is_some() {
        return Context::Page;
    }
    if let Some(trust) = &state.trust {
        return if state.now >= trust.armed_at { Context::Question } else { Context::Chat };
    }
    // Lists have the same keys everywhere.
    if state.questions.shown().is_none() && state.choices.is_armed(state.now) {
        return Context::Page;
    }
    match (&state.questions.form.field, state.questions.is_armed(state.now)) {
        (_, false) => Context::Chat,
        (Some(_), true) => Context::Field,
        (None, true) => Context::Question,
    }
}

/// Handles keys that work everywhere except on pages.
fn everywhere(state: &mut State, action: Option<Action>) -> Option<Vec<Effect>> {
    match action? {
        Action::ClearOrQuit => Some(clear_or_quit(state)),
        Action::Suspend => Some(vec![Effect::Suspend]),
        Action::Reflow => {
            state.conversation.uncommit();
            Some(vec![Effect::Reflow])
        }
        Action::ToggleOutput => {
            state.expanded = !state.expanded;
            let last = state.conversation.last_row().cloned();
            // What is in the scrollback stays; the last call is written again with all its output.
            if let (true, None, Some(row)) = (state.expanded, &state.turn, last) {
                state.conversation.push(Entry::Tool(Box::new(row)));
            }
            Some(Vec::new())
        }
        Action::CycleMode => {
            // Nothing more permissive than `acceptEdits`: one key too many must not turn off all
            // questions.
            let mode = match state.facts.mode {
                Mode::Default => Mode::AcceptEdits,
                Mode::AcceptEdits => Mode::Plan,
                Mode::Plan | Mode::DontAsk | Mode::BypassPermissions => Mode::Default,
            };
            Some(if may_write(state) { vec![Effect::SetMode(mode)] } else { Vec::new() })
        }
        Action::Transcript => Some(page::open(state, screens::transcript())),
        Action::Background => Some(background(state)),
        Action::Palette => Some(page::open(state, screens::palette())),
        Action::Models => Some(page::open(state, screens::models())),
        _ => None,
    }
}

/// Moves what the turn waits for to the background; if it waits for nothing that can be moved, shows
/// what is there.
fn background(state: &mut State) -> Vec<Effect> {
    let calls: Vec<_> = state.conversation.movable().map(|row| row.call.clone()).collect();
    if calls.is_empty() || state.phase != Phase::Ready {
        return page::open(state, screens::background());
    }
    vec![Effect::MoveToBackground(calls)]
}

/// Returns whether this terminal may change the session; says so if not.
fn may_write(state: &mut State) -> bool {
    match state.phase {
        Phase::Ready => true,
        Phase::Following => {
            state.hint("another process writes this session");
            false
        }
        Phase::Starting | Phase::Failed | Phase::Ending => false,
    }
}

/// Clears the composer; pressed twice, ends the program.
fn clear_or_quit(state: &mut State) -> Vec<Effect> {
    if state.hint.as_ref().is_some_and(|hint| hint.quits) {
        return quit(state);
    }
    let busy = state.turn.is_some() || state.shell.is_some();
    if state.composer.is_empty() && busy && state.questions.shown().is_none() {
        let effects = stop(state);
        ask_again(state, "Ctrl+C");
        return effects;
    }
    state.composer.clear();
    state.popup.close();
    ask_again(state, "Ctrl+C");
    Vec::new()
}

/// Ends the program.
fn quit(state: &mut State) -> Vec<Effect> {
    state.phase = Phase::Ending;
    state.hint = None;
    vec![Effect::Quit]
}

fn ask_again(state: &mut State, key: &str) {
    let text = format!("press {key} again to quit");
    state.hint = Some(Hint { text, until: state.now + HINT, quits: true });
}

#[cfg(test)]
mod tests;
