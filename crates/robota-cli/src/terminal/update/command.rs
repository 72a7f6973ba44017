//! Commands that the user typed: those of the terminal itself, and the data that commands of the
//! session return.

use robota_sdk::CommandResult;
use serde_json::Value;

use super::{page, quit};
use crate::terminal::conversation::Entry;
use crate::terminal::effect::Effect;
use crate::terminal::screens;
use crate::terminal::state::State;

/// Executes a command that only the terminal knows. Returns none for any other text.
pub(super) fn local(state: &mut State, text: &str) -> Option<Vec<Effect>> {
    // Where there are no pages, the session executes the command, and its text is written.
    let name = text.trim().strip_prefix('/').filter(|_| state.pages)?;
    match name {
        "keys" => Some(page::open(state, screens::help())),
        name => screens::by_command(name).map(|open| page::open(state, open)),
    }
}

/// Shows the result of a command, and applies its data.
pub(super) fn done(state: &mut State, typed: String, result: CommandResult) -> Vec<Effect> {
    let text = |key: &str| result.data.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut effects = Vec::new();
    if let Some(name) = text("name") {
        state.facts.name = Some(name);
    }
    if result.data.get("triggerResumePicker").is_some() && state.pages {
        return page::open(state, screens::sessions());
    }
    if result.data.get("resetRequested").is_some() {
        effects.extend(quit(state));
    }
    let CommandResult { message, success: ok, .. } = result;
    state.conversation.push(Entry::Output { typed, text: message, ok });
    effects
}
