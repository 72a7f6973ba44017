//! Variables: the values of those that a script sets itself, and the names that decide what runs.

use std::collections::BTreeMap;

use super::expand::{Live, Scope, variable};
use super::word::{self, Piece, Word, is_name};
use crate::words::covers;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Unknown,
    Set(Word),
    /// One of the words of a loop, which are matched against files at its head.
    Each(Word),
}

/// All values that a script assigns to each variable, in any place.
pub(crate) type Vars = BTreeMap<String, Vec<Value>>;

const MAX_COMBINATIONS: usize = 64;

/// Returns the words with all fully known variables replaced, for every combination of values;
/// nothing where there is no such variable. Variables that are not known stay.
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
        // The variable stays in the words, as one that is not known.
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

/// Returns the words with one variable replaced; what is not quoted is split at blanks.
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

fn stretches(value: &[Live], quoted: bool) -> Vec<Vec<Piece>> {
    if quoted && value.is_empty() {
        return vec![vec![Piece::Text { text: String::new(), quoted: true }]];
    }
    // A loop's globs are expanded at its head, so quotes in its body do not change them.
    let live: Vec<Live> = value.iter().map(|(c, live)| (*c, *live || !quoted)).collect();
    live.split(|(c, _)| !quoted && c.is_whitespace()).map(word::of_live).collect()
}

/// Returns whether a command that is proven read-only stays so with it: neither the shell nor a
/// program that only reads is configured by a name like this.
pub(crate) fn is_inert(name: &str) -> bool {
    is_harmless(name)
        || (!is_dangerous(name)
            && !name.contains('[')
            && !covers("steering-variables", &name.to_ascii_uppercase()))
}

pub(crate) fn is_harmless(name: &str) -> bool {
    covers("harmless-variables", name)
}

pub(crate) fn is_dangerous(name: &str) -> bool {
    !is_harmless(name) && covers("dangerous-variables", name)
}

/// Returns whether `read` with these words takes a line each time and stores it under plain names.
pub(crate) fn reads_lines(args: &[Word]) -> bool {
    let mut at = 0;
    while let Some(text) = args.get(at).map(Word::value) {
        let Some(text) = text else { return false };
        match text.as_str() {
            "-r" | "-ra" | "-a" => {}
            // What ends a line.
            "-d" | "-rd" => {
                if args.get(at + 1).and_then(Word::literal).is_none_or(|end| end.len() > 1) {
                    return false;
                }
                at += 1;
            }
            name => {
                if (!name.is_empty() && !is_name(name))
                    || name.starts_with(|c: char| c.is_ascii_digit())
                    || is_dangerous(name)
                {
                    return false;
                }
            }
        }
        at += 1;
    }
    true
}

pub(crate) fn dumps(words: &[Word]) -> bool {
    let named = |text: &str| !text.starts_with(['-', '+']);
    let args: Vec<String> = words.iter().skip(1).filter_map(Word::value).collect();
    let prints = args.iter().any(|text| !named(text) && text.contains('p'));
    let functions = args.iter().any(|text| !named(text) && text.contains(['f', 'F']));
    prints || (!functions && !args.iter().any(|text| named(text)))
}
