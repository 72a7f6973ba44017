//! The key map: which key does what, in which context. It is data; users change it with
//! `keybindings.json`.

mod chord;
mod edit;
mod file;
mod table;

use std::collections::HashMap;

use crossterm::event::KeyEvent;

pub(crate) use chord::Chord;
pub(crate) use table::{Action, Context};

use super::composer::{self, Composer};

/// The bindings.
#[derive(Debug, Clone)]
pub(crate) struct KeyMap {
    actions: HashMap<(Context, Chord), Option<Action>>,
    /// What users bound in texts.
    edits: HashMap<Chord, Option<composer::Action>>,
}

impl Default for KeyMap {
    fn default() -> Self {
        let parse = |(context, chord, action): &(Context, &str, Action)| {
            Some(((*context, Chord::parse(chord)?), Some(*action)))
        };
        let actions = table::BINDINGS.iter().filter_map(parse).collect();
        Self { actions, edits: HashMap::new() }
    }
}

impl KeyMap {
    /// Returns what a key does in a context: what is bound there, else what is bound everywhere.
    pub(crate) fn action(&self, context: Context, key: &KeyEvent) -> Option<Action> {
        let chord = Chord::of(key);
        let own = self.actions.get(&(context, chord));
        own.or_else(|| self.actions.get(&(Context::Global, chord))).copied().flatten()
    }

    /// Returns the keys of an action in some contexts, in the order of their names.
    pub(crate) fn keys(&self, contexts: &[Context], action: Action) -> Vec<String> {
        let bound = self
            .actions
            .iter()
            .filter(|((context, _), bound)| **bound == Some(action) && contexts.contains(context));
        let mut keys: Vec<_> = bound.map(|((_, chord), _)| chord.to_string()).collect();
        keys.sort_by_key(|key| (key.len(), key.clone()));
        keys.dedup();
        keys
    }

    /// Takes the bindings of a file of the user. Returns what is wrong with it.
    pub(crate) fn apply(&mut self, text: &str) -> Vec<String> {
        file::apply(self, text)
    }

    /// Edits a text by a key. Returns whether the key edits.
    pub(crate) fn edit(&self, key: &KeyEvent, composer: &mut Composer) -> bool {
        match self.edits.get(&Chord::of(key)) {
            Some(Some(action)) => composer.apply(*action),
            // The user has unbound the key, which must not edit then.
            Some(None) => false,
            None => composer.key(key),
        }
    }
}

#[cfg(test)]
mod tests;
