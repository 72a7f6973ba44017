//! Pages that fill the terminal.

use std::any::Any;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::terminal::composer::Draft;
use crate::terminal::effect::Effect;
use crate::terminal::event::Event;
use crate::terminal::keys::Action;
use crate::terminal::screens::{OpenPage, Page, PageContext, PageOutcome};
use crate::terminal::state::{Phase, State};

/// Opens a page.
pub(super) fn open(state: &mut State, page: OpenPage) -> Vec<Effect> {
    let opened = page(&PageContext::of(state));
    match opened {
        Ok((page, effects)) => {
            state.pages_opened += 1;
            state.page = Some(page);
            if close_without_session(state) {
                return Vec::new();
            }
            of_page(state.pages_opened, effects)
        }
        Err(why) => {
            state.hint(why);
            Vec::new()
        }
    }
}

/// Closes a page that waits for what it shows if there is no session to ask. Returns whether it did.
pub(super) fn close_without_session(state: &mut State) -> bool {
    let why = match state.phase {
        Phase::Failed => "there is no session",
        Phase::Following => "another process writes this session",
        Phase::Starting | Phase::Ready | Phase::Ending => return false,
    };
    if !is_loading(state) {
        return false;
    }
    state.page = None;
    state.page_input.clear();
    state.hint(why);
    true
}

/// The result of work, for the page with this number.
struct Reply {
    page: u64,
    reply: Box<dyn Any + Send>,
}

/// Marks the results of work with the number of the page that asked for it.
fn of_page(page: u64, effects: Vec<Effect>) -> Vec<Effect> {
    let marked = effects.into_iter().map(|effect| match effect {
        Effect::Work(work) => Effect::Work(Box::new(move |context| {
            let working = work(context);
            Box::pin(async move {
                Box::new(Reply { page, reply: working.await }) as Box<dyn Any + Send>
            })
        })),
        effect => effect,
    });
    marked.collect()
}

/// Gives a key to the page.
pub(super) fn key(state: &mut State, key: &KeyEvent, action: Option<Action>) -> Vec<Effect> {
    if is_loading(state) && waits(key, action) {
        state.page_input.push(Event::Key(*key));
        return Vec::new();
    }
    let Some(mut page) = state.page.take() else { return Vec::new() };
    let outcome = page.key(key, action, &PageContext::of(state));
    let effects = finish(state, page, action, outcome);
    if state.page.is_none() {
        state.page_input.clear();
    }
    effects
}

fn is_loading(state: &State) -> bool {
    state.page.as_ref().is_some_and(|page| page.is_loading())
}

/// Returns whether a key is kept until the page has what it shows. Keys that could end or remove
/// what the user has not seen are not.
fn waits(key: &KeyEvent, action: Option<Action>) -> bool {
    let plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    match action {
        None => plain && matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace),
        Some(
            Action::ScrollUp
            | Action::ScrollDown
            | Action::PageUp
            | Action::PageDown
            | Action::Top
            | Action::Bottom
            | Action::Accept,
        ) => true,
        Some(_) => false,
    }
}

/// Gives pasted text to the page.
pub(super) fn paste(state: &mut State, text: &str) -> Vec<Effect> {
    if is_loading(state) {
        state.page_input.push(Event::Paste(text.to_owned()));
    } else if let Some(page) = &mut state.page {
        page.paste(text);
    }
    Vec::new()
}

/// Gives the result of its work to the page, and then the keys that waited for it.
pub(super) fn answered(state: &mut State, reply: Box<dyn Any + Send>) -> Vec<Effect> {
    let reply = match reply.downcast::<Reply>() {
        // The user closed the page that asked for it, and may have opened another one.
        Ok(marked) if marked.page != state.pages_opened => return Vec::new(),
        Ok(marked) => marked.reply,
        Err(reply) => reply,
    };
    let Some(mut page) = state.page.take() else { return Vec::new() };
    let outcome = page.answer(reply, &PageContext::of(state));
    let mut effects = finish(state, page, None, outcome);
    if is_loading(state) {
        return effects;
    }
    let waiting = std::mem::take(&mut state.page_input);
    // They were meant for the page; one of them may close it.
    if state.page.is_some() {
        effects.extend(waiting.into_iter().flat_map(|event| super::update(state, event)));
    }
    effects
}

fn finish(
    state: &mut State,
    page: Box<dyn Page>,
    action: Option<Action>,
    outcome: PageOutcome,
) -> Vec<Effect> {
    match outcome {
        PageOutcome::Ignored => match action {
            // What the page does not use closes it.
            Some(Action::Cancel | Action::ClearOrQuit) => Vec::new(),
            Some(Action::Suspend) => {
                state.page = Some(page);
                vec![Effect::Suspend]
            }
            _ => {
                state.page = Some(page);
                Vec::new()
            }
        },
        PageOutcome::Stay(effects) => {
            state.page = Some(page);
            of_page(state.pages_opened, effects)
        }
        PageOutcome::Close(effects) => effects,
        PageOutcome::Switch { session, fork } => {
            // Prompts that are entered from now on wait for the other session.
            state.phase = Phase::Starting;
            vec![Effect::Switch { session, fork }]
        }
        PageOutcome::Enter(text) => {
            super::chat::enter(state, Draft { text, ..Draft::default() }, false)
        }
        PageOutcome::Compose(text) => {
            state.composer.set_text(&text);
            Vec::new()
        }
        PageOutcome::Open(next) => open(state, next),
        PageOutcome::Fail(why) => {
            state.hint(why);
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests;
