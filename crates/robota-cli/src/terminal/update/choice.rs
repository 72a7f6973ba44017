//! Keys in questions of the model.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::terminal::composer::Composer;
use crate::terminal::conversation::{Entry, NoteKind};
use crate::terminal::effect::Effect;
use crate::terminal::keys::Action;
use crate::terminal::state::State;

/// Takes a key.
pub(super) fn key(state: &mut State, key: &KeyEvent, action: Option<Action>) -> Vec<Effect> {
    let Some(choice) = state.choices.shown_mut() else { return Vec::new() };
    if let Some(text) = &mut choice.text {
        return match action {
            Some(Action::Accept) => {
                let typed = text.text().trim().to_owned();
                if typed.is_empty() { Vec::new() } else { answer(state, Some(typed)) }
            }
            // Back to the answers, if there are some.
            Some(Action::Cancel) if !choice.options.is_empty() => {
                choice.text = None;
                Vec::new()
            }
            Some(Action::Cancel) => answer(state, None),
            _ => {
                state.keys.edit(key, text);
                Vec::new()
            }
        };
    }
    // The last row is for another answer.
    let last = choice.options.len();
    match (action, key.code) {
        (Some(Action::ScrollUp), _) => choice.selected = choice.selected.saturating_sub(1),
        (Some(Action::ScrollDown), _) => choice.selected = (choice.selected + 1).min(last),
        (Some(Action::Accept), _) => return choose(state),
        (Some(Action::Cancel), _) => return answer(state, None),
        (_, KeyCode::Char(' ')) if choice.several => toggle(state),
        (_, KeyCode::Char(digit @ '1'..='9')) if key.modifiers == KeyModifiers::NONE => {
            let at = usize::from(digit as u8 - b'1');
            if at <= last {
                choice.selected = at;
                if !choice.several || at == last {
                    return choose(state);
                }
                toggle(state);
            }
        }
        _ => {}
    }
    Vec::new()
}

fn toggle(state: &mut State) {
    if let Some(choice) = state.choices.shown_mut()
        && let Some(option) = choice.options.get_mut(choice.selected)
    {
        option.marked = !option.marked;
    }
}

/// Takes the selected answer, or begins another one.
fn choose(state: &mut State) -> Vec<Effect> {
    let Some(choice) = state.choices.shown_mut() else { return Vec::new() };
    if choice.selected == choice.options.len() {
        choice.text = Some(Composer::default());
        return Vec::new();
    }
    let chosen = choice.answer();
    answer(state, chosen)
}

/// Answers the question that is shown; none declines it.
pub(crate) fn answer(state: &mut State, answer: Option<String>) -> Vec<Effect> {
    let Some(choice) = state.choices.take(state.now) else { return Vec::new() };
    let said = answer.as_deref().unwrap_or("(no answer)");
    let note = format!("{} {said}", choice.question);
    state.conversation.push(Entry::Note(NoteKind::Plain, note));
    vec![Effect::AnswerUser { id: choice.id, answer }]
}
