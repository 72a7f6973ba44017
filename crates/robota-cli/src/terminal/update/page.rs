//! Pages that fill the terminal.

use std::any::Any;

use crossterm::event::KeyEvent;

use crate::terminal::composer::Draft;
use crate::terminal::effect::Effect;
use crate::terminal::keys::Action;
use crate::terminal::screens::{OpenPage, PageContext, PageOutcome};
use crate::terminal::state::{Phase, State};

/// Opens a page.
pub(super) fn open(state: &mut State, page: OpenPage) -> Vec<Effect> {
    let opened = page(&PageContext::of(state));
    match opened {
        Ok((page, effects)) => {
            state.page = Some(page);
            effects
        }
        Err(why) => {
            state.hint(why);
            Vec::new()
        }
    }
}

/// Gives a key to the page.
pub(super) fn key(state: &mut State, key: &KeyEvent, action: Option<Action>) -> Vec<Effect> {
    let Some(mut page) = state.page.take() else { return Vec::new() };
    let outcome = page.key(key, action, &PageContext::of(state));
    finish(state, page, action, outcome)
}

/// Gives pasted text to the page.
pub(super) fn paste(state: &mut State, text: &str) -> Vec<Effect> {
    if let Some(page) = &mut state.page {
        page.paste(text);
    }
    Vec::new()
}

/// Gives the result of its work to the page.
pub(super) fn answered(state: &mut State, reply: Box<dyn Any + Send>) -> Vec<Effect> {
    let Some(mut page) = state.page.take() else { return Vec::new() };
    let outcome = page.answer(reply, &PageContext::of(state));
    finish(state, page, None, outcome)
}

fn finish(
    state: &mut State,
    page: Box<dyn crate::terminal::screens::Page>,
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
            effects
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
