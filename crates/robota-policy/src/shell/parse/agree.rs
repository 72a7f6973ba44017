//! Whether the grammar and the lexer see the same words in the same commands.

use std::path::Path;

use super::{Cwd, Part, Script};
use crate::shell::lexer::{self, Kind, Token};
use crate::shell::word::Word;

/// Words that belong to the language, not to a command.
const RESERVED: &[&str] = &[
    "if", "then", "elif", "else", "fi", "for", "in", "do", "done", "while", "until", "case",
    "esac", "{", "}", "!", "select",
];

/// Adds a doubt (and, for the rules that forbid, the lexer's view) when they differ.
pub(super) fn check(
    text: &str,
    owned: &[(usize, usize, usize)],
    free: &[(usize, usize)],
    cwd: &Path,
    script: &mut Script,
) {
    let Some(tokens) = lexer::tokens(text) else {
        // A line continued inside a word: the grammar sees two words where the shell sees one.
        if text.contains("\\\n") {
            script.doubt("a line is continued in a way that is not understood", true);
        }
        if script.doubts.is_empty() {
            script.doubt("it contains something that is not understood", false);
        }
        return;
    };
    // Functions are in doubt already, and their headers look like commands to the lexer.
    let function = tokens.iter().any(|token| &text[token.start..token.end] == "function");
    if agrees(text, &tokens, owned, free) || (function && !script.doubts.is_empty()) {
        return;
    }
    script.doubt("two readings of the command differ", true);
    for words in tokens.split(|token| token.kind == Kind::Control) {
        let words: Vec<Word> = words
            .iter()
            .filter(|token| token.kind == Kind::Word)
            .map(|token| Word::parse(&text[token.start..token.end]))
            .collect();
        if !words.is_empty() {
            let cwd = Cwd { dirs: vec![cwd.to_owned()], lost: true, moved: true };
            script.parts.push(Part { words, hidden: true, cwd, ..Part::default() });
        }
    }
}

fn agrees(
    text: &str,
    tokens: &[Token],
    owned: &[(usize, usize, usize)],
    free: &[(usize, usize)],
) -> bool {
    // Sorted, so that a long script costs no more per word than a short one. Where two claim
    // the same word, the last one has it.
    let mut owners = owned.to_vec();
    owners.sort_by_key(|(start, end, _)| (*start, *end));
    let owner = |want: (usize, usize)| {
        let after = owners.partition_point(|(start, end, _)| (*start, *end) <= want);
        let (start, end, part) = *owners.get(after.checked_sub(1)?)?;
        ((start, end) == want).then_some(part)
    };
    let is_word = |start: usize, end: usize| {
        let at = tokens.binary_search_by_key(&start, |token| token.start);
        at.ok().and_then(|at| tokens.get(at)).is_some_and(|t| t.kind == Kind::Word && t.end == end)
    };
    // How far the free stretches reach that begin here or before.
    let mut reach = free.to_vec();
    reach.sort_unstable();
    let mut furthest = 0;
    for (_, to) in &mut reach {
        furthest = furthest.max(*to);
        *to = furthest;
    }
    let is_free = |start: usize, end: usize| {
        let after = reach.partition_point(|(from, _)| *from <= start);
        after.checked_sub(1).and_then(|at| reach.get(at)).is_some_and(|(_, to)| end <= *to)
    };
    // Every word of the grammar must be a word of the lexer.
    let words_agree =
        owned.iter().all(|(start, end, _)| is_word(*start, *end) || is_free(*start, *end));
    if !words_agree {
        return false;
    }
    let mut previous: Option<usize> = None;
    let mut parted = true;
    for token in tokens {
        match token.kind {
            Kind::Control => parted = true,
            Kind::Redirect => {}
            Kind::Word => match owner((token.start, token.end)) {
                Some(part) => {
                    // One command's words stand together; two commands are parted by something.
                    if (previous == Some(part)) == parted && previous.is_some() {
                        return false;
                    }
                    previous = Some(part);
                    parted = false;
                }
                None if is_free(token.start, token.end) => {
                    parted = true;
                }
                None if RESERVED.contains(&&text[token.start..token.end]) => parted = true,
                None => return false,
            },
        }
    }
    true
}
