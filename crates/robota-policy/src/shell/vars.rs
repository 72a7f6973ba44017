//! Variables that a script gives values to itself: what they stand for where they are used.

use std::collections::BTreeMap;

use super::expand::{Live, Scope, variable};
use super::word::{self, Piece, Word};

/// A value that a script gives to a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Unknown,
    Set(Word),
    /// One of the words of a loop, which are matched against files at its head.
    Each(Word),
}

/// All values a script gives to each variable, wherever it does so.
pub(crate) type Vars = BTreeMap<String, Vec<Value>>;

const MAX_COMBINATIONS: usize = 64;

/// Every way the words read once the variables that are fully known are replaced; nothing where
/// there is no such variable. Variables that are not known stay.
pub(crate) fn readings(words: &[Word], scope: &Scope<'_>) -> Vec<Vec<Word>> {
    let mut names: Vec<&str> = Vec::new();
    for piece in words.iter().flat_map(|word| &word.pieces) {
        if let Piece::Var { name, .. } = piece
            && scope.vars.contains_key(name)
            && !names.contains(&name.as_str())
        {
            names.push(name);
        }
    }
    let mut out = vec![words.to_vec()];
    let mut replaced = false;
    for name in names {
        let values = variable(name, true, scope, 0).0;
        if values.is_empty() || out.len() * values.len() > MAX_COMBINATIONS {
            continue;
        }
        replaced = true;
        out = out
            .iter()
            .flat_map(|words| values.iter().map(move |value| replace(words, name, value)))
            .collect();
    }
    if replaced { out } else { Vec::new() }
}

/// The words with one variable replaced; what is not quoted is split at blanks.
fn replace(words: &[Word], name: &str, value: &[Live]) -> Vec<Word> {
    let mut out = Vec::new();
    for word in words {
        let uses = |piece: &Piece| matches!(piece, Piece::Var { name: n, .. } if n == name);
        if !word.pieces.iter().any(uses) {
            out.push(word.clone());
            continue;
        }
        let mut fields: Vec<Vec<Piece>> = vec![Vec::new()];
        for piece in &word.pieces {
            let replaced = match piece {
                Piece::Var { quoted, .. } if uses(piece) => stretches(value, *quoted),
                _ => vec![vec![piece.clone()]],
            };
            for (i, stretch) in replaced.into_iter().enumerate() {
                if i > 0 {
                    fields.push(Vec::new());
                }
                fields.last_mut().into_iter().for_each(|field| field.extend(stretch.clone()));
            }
        }
        for field in fields.into_iter().filter(|field| !field.is_empty()) {
            out.push(Word::of(word::text(&field), field));
        }
    }
    out
}

/// A value as pieces, one list for each word it becomes.
fn stretches(value: &[Live], quoted: bool) -> Vec<Vec<Piece>> {
    let mut fields: Vec<Vec<Piece>> = vec![Vec::new()];
    for (c, live) in value {
        if !quoted && c.is_whitespace() {
            fields.push(Vec::new());
            continue;
        }
        // A loop's globs are matched at its head, whatever quotes its body has.
        let live = *live || !quoted;
        let Some(field) = fields.last_mut() else { continue };
        match field.last_mut() {
            Some(Piece::Text { text, quoted }) if *quoted != live => text.push(*c),
            _ => field.push(Piece::Text { text: c.to_string(), quoted: !live }),
        }
    }
    if quoted && value.is_empty() {
        fields = vec![vec![Piece::Text { text: String::new(), quoted: true }]];
    }
    fields
}
