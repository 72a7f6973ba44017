//! The key map: which key does what, in which context. It is data; users change it with
//! `keybindings.json`.

mod chord;
mod file;
mod table;

use std::collections::HashMap;

use crossterm::event::KeyEvent;

pub(crate) use chord::Chord;
pub(crate) use table::{Action, Context};

/// The bindings.
#[derive(Debug, Clone)]
pub(crate) struct KeyMap(HashMap<(Context, Chord), Option<Action>>);

impl Default for KeyMap {
    fn default() -> Self {
        let parse = |(context, chord, action): &(Context, &str, Action)| {
            Some(((*context, Chord::parse(chord)?), Some(*action)))
        };
        Self(table::BINDINGS.iter().filter_map(parse).collect())
    }
}

impl KeyMap {
    /// Returns what a key does in a context: what is bound there, else what is bound everywhere.
    pub(crate) fn action(&self, context: Context, key: &KeyEvent) -> Option<Action> {
        let chord = Chord::of(key);
        let own = self.0.get(&(context, chord));
        own.or_else(|| self.0.get(&(Context::Global, chord))).copied().flatten()
    }

    /// Returns the keys of an action, in the order of their names.
    pub(crate) fn keys(&self, action: Action) -> Vec<String> {
        let bound = self.0.iter().filter(|(_, bound)| **bound == Some(action));
        let mut keys: Vec<_> = bound.map(|((_, chord), _)| chord.to_string()).collect();
        keys.sort_by_key(|key| (key.len(), key.clone()));
        keys.dedup();
        keys
    }

    /// Takes the bindings of a file of the user. Returns what is wrong with it.
    pub(crate) fn apply(&mut self, text: &str) -> Vec<String> {
        file::apply(&mut self.0, text)
    }
}

#[cfg(test)]
mod tests;
