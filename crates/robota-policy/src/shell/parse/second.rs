//! A second reading of the text, by an independent grammar (tree-sitter's). Where the two do not
//! see the same words in the same commands, nothing is proven.

mod tree;

use std::collections::HashMap;
use std::path::Path;

use super::{Cwd, Part, Script};
use crate::shell::syntax::{Parsed, Span, Spans, Stop};
use crate::shell::word::Word;

/// Compares the readings. Where they differ or the first one failed, the commands of the second
/// are added for the rules that forbid.
pub(super) fn check(text: &str, first: Result<&Parsed, Stop>, cwd: &Path, script: &mut Script) {
    let ours = first.ok().map(|parsed| &parsed.spans);
    let masked = tree::masked(text, ours.map_or(&[], |ours| ours.masked.as_slice()));
    let Some(theirs) = masked.and_then(|masked| tree::read(&masked)) else {
        script.doubt("the command could not be parsed", true);
        return;
    };
    match (first, ours) {
        (Err(Stop::Unparsable), _) => script.doubt("the command could not be parsed", true),
        (Err(Stop::Exhausted), _) => {
            script.doubt("it would take too many steps to analyse", true);
        }
        (Err(Stop::Unsupported(what)), _) => {
            script.doubt(format!("it contains something that is not understood: {what}"), false);
        }
        (Ok(_), Some(ours)) if agree(ours, &theirs) => return,
        (Ok(_), _) if theirs.broken => {
            script.doubt("one of two parsers does not understand the command", false);
        }
        (Ok(_), _) => script.doubt("two readings of the command differ", true),
    }
    for words in theirs.commands {
        let words = words.iter().map(|(from, to)| Word::parse(&text[*from..*to])).collect();
        // The second reading does not follow `cd`, so the folder is not known.
        let cwd = Cwd { dirs: vec![cwd.to_owned()], lost: true, moved: true, straight: None };
        script.parts.push(Part { words, hidden: true, cwd, ..Part::default() });
    }
}

#[derive(Debug, Default)]
struct Reading {
    commands: Vec<Vec<Span>>,
    loose: Vec<Span>,
    /// Stretches whose words are not compared: headers of loops, patterns, comparisons.
    free: Vec<Span>,
    broken: bool,
}

fn agree(ours: &Spans, theirs: &Reading) -> bool {
    let mut owners: HashMap<Span, usize> = HashMap::new();
    for (index, command) in ours.commands.iter().enumerate() {
        owners.extend(command.iter().map(|span| (*span, index)));
    }
    // How far the free stretches reach that begin here or before.
    let mut reach = theirs.free.clone();
    reach.sort_unstable();
    let mut furthest = 0;
    for (_, to) in &mut reach {
        furthest = furthest.max(*to);
        *to = furthest;
    }
    let is_free = |span: &Span| {
        let after = reach.partition_point(|(from, _)| *from <= span.0);
        after.checked_sub(1).and_then(|at| reach.get(at)).is_some_and(|(_, to)| span.1 <= *to)
    };
    // Each of their commands is one of ours.
    let mut taken = vec![false; ours.commands.len()];
    let mut known: HashMap<Span, ()> = HashMap::new();
    for command in &theirs.commands {
        let mut owner = None;
        for span in command {
            known.insert(*span, ());
            match owners.get(span) {
                Some(index) if owner.is_none_or(|owner| owner == *index) => owner = Some(*index),
                None if is_free(span) => {}
                _ => return false,
            }
        }
        // Two of their commands in one of ours would be another split of the text.
        if let Some(index) = owner
            && std::mem::replace(&mut taken[index], true)
        {
            return false;
        }
    }
    known.extend(theirs.loose.iter().map(|span| (*span, ())));
    let ours_known = |span: &Span| known.contains_key(span) || is_free(span);
    ours.commands.iter().flatten().chain(&ours.loose).all(ours_known)
}
