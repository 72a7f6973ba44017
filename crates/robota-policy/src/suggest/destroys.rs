//! Commands that remove or overwrite what may not come back. They are allowed once, never always.

use crate::program::args::{Args, known};
use crate::program::{Effect, Program, Shape, Trait};
use crate::shell::Word;
use crate::words;

/// Returns whether a command removes or overwrites something, as far as it is known.
pub(crate) fn destroys(given: &[Word]) -> bool {
    let Some(args) = Args::parse(given) else { return false };
    let is = |what| args.spec.is(what) || args.program.is(what);
    if matches!(args.spec.shape, Shape::Removes | Shape::Device)
        || is(Trait::Breaks)
        || is(Trait::Empties)
        || args.spec.is(Trait::Cleans)
        || args.has(Effect::Remove)
        || args.has(Effect::Drop)
    {
        return true;
    }
    let selected = selected(&args);
    let Some(first) = selected.first() else { return false };
    let own = words::list_of("destroying", &args.name);
    let options = words::list_of("destroying", &format!("{}-{first}", args.name));
    let has = |list: Option<&[&str]>, word: &str| list.is_some_and(|list| list.contains(&word));
    let given = given.iter().skip(1).filter_map(known);
    selected.iter().any(|word| words::covers("destroying", word) || has(own, word))
        || given.into_iter().any(|word| {
            let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
            has(options, name)
        })
}

/// Returns the words that select what the program does.
fn selected(args: &Args) -> Vec<String> {
    let operands = args.operands.iter().map_while(known);
    let words = args.sub.iter().cloned().chain(operands);
    match args.program {
        program if program.is(Trait::Targets) => words.collect(),
        program if program.shape == Shape::Sub => {
            let words: Vec<_> = words.collect();
            let count = words.first().map_or(0, |first| depth(program, first));
            words.into_iter().take(count).collect()
        }
        _ => Vec::new(),
    }
}

fn depth(program: &Program, first: &str) -> usize {
    match () {
        () if program.groups.contains(&"*") => 3,
        () if program.groups.contains(&first) => 2,
        () => 1,
    }
}
