//! Reads `keybindings.json`: `{"bindings": [{"context": "Chat", "bindings": {"ctrl+e":
//! "chat:externalEditor", "ctrl+u": null}}]}`.

use std::collections::HashMap;

use serde::Deserialize;

use super::{Action, Chord, Context};

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
pub(super) fn apply(
    map: &mut HashMap<(Context, Chord), Option<Action>>,
    text: &str,
) -> Vec<String> {
    let file: Bindings = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(error) => return vec![format!("not valid: {error}")],
    };
    let mut problems = Vec::new();
    for group in file.bindings {
        let known = Context::NAMES.iter().find(|(name, _)| *name == group.context);
        let Some((_, context)) = known else {
            problems.push(format!("unknown context `{}`", group.context));
            continue;
        };
        for (key, name) in group.bindings {
            let Some(chord) = Chord::parse(&key) else {
                problems.push(format!("unknown key `{key}`"));
                continue;
            };
            let action = match name {
                None => None,
                Some(name) => match Action::ALL.iter().find(|(known, ..)| *known == name) {
                    Some((_, action, _)) => Some(*action),
                    None => {
                        problems.push(format!("unknown action `{name}`"));
                        continue;
                    }
                },
            };
            map.insert((*context, chord), action);
        }
    }
    problems
}
