//! Reads `keybindings.json`: `{"bindings": [{"context": "Chat", "bindings": {"ctrl+e":
//! "chat:externalEditor", "ctrl+u": null}}]}`.

use serde::Deserialize;

use super::{Action, Chord, Context, KeyMap, edit};

#[derive(Deserialize)]
struct Bindings {
    bindings: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    context: String,
    bindings: indexmap::IndexMap<String, Option<String>>,
}

/// Takes the bindings of a file. What is not understood is left out and reported.
pub(super) fn apply(map: &mut KeyMap, text: &str) -> Vec<String> {
    let file: Bindings = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(error) => return vec![format!("not valid: {error}")],
    };
    let mut problems = Vec::new();
    for group in file.bindings {
        let context = Context::NAMES.iter().find(|(name, _)| *name == group.context);
        if context.is_none() && group.context != "Edit" {
            problems.push(format!("unknown context `{}`", group.context));
            continue;
        }
        for (key, name) in group.bindings {
            let Some(chord) = Chord::parse(&key) else {
                problems.push(format!("unknown key `{key}`"));
                continue;
            };
            let name = name.as_deref();
            let known = match context {
                Some((_, context)) => {
                    let find = |(known, ..): &&(&str, Action, &str)| Some(*known) == name;
                    let action = Action::ALL.iter().find(find).map(|(_, action, _)| *action);
                    // Null unbinds a key, so no name is not the same as an unknown name.
                    let known = name.is_none() || action.is_some();
                    known.then(|| map.actions.insert((*context, chord), action)).is_some()
                }
                None => {
                    let action = edit::NAMES.iter().find(|(known, _)| Some(*known) == name);
                    let action = action.map(|(_, action)| *action);
                    let known = name.is_none() || action.is_some();
                    known.then(|| map.edits.insert(chord, action)).is_some()
                }
            };
            if !known {
                problems.push(format!("unknown action `{}`", name.unwrap_or_default()));
            }
        }
    }
    problems
}
