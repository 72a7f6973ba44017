//! Lists the commands of the model that only read, for tests that run them.

use super::{Arity, INDEX, Program, Trait};

/// A program, or a subcommand of one, that only reads as long as its options do.
#[derive(Debug, Clone)]
pub struct FreeCommand {
    /// The program's name, and those of the subcommand.
    pub words: Vec<&'static str>,
    /// The options that are known of it.
    pub options: Vec<FreeOption>,
}

/// An option of a command that only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeOption {
    /// The name with its dashes, such as `-n` or `--lines`.
    pub name: &'static str,
    /// It takes a value, behind it or in the same word.
    pub value: bool,
    /// The value is in the same word, if there is one.
    pub attached: bool,
    /// The command still only reads with it.
    pub free: bool,
}

/// Returns every command that only reads, by name.
#[must_use]
pub fn free_commands() -> Vec<FreeCommand> {
    let mut out = Vec::new();
    for name in INDEX.keys() {
        let Some(program) = Program::find(name) else { continue };
        let whole = std::iter::once((vec![*name], program));
        let subs = program.subs.iter().map(|sub| {
            let words = std::iter::once(*name).chain(sub.names.iter().copied());
            (words.collect(), sub)
        });
        out.extend(whole.chain(subs).filter(|(_, spec)| spec.is(Trait::Free)).map(
            |(words, spec)| FreeCommand {
                words,
                options: spec.options.iter().map(option).collect(),
            },
        ));
    }
    out.sort_by(|a, b| a.words.cmp(&b.words));
    out
}

fn option(opt: &super::Opt) -> FreeOption {
    FreeOption {
        name: opt.name,
        value: opt.arity != Arity::None,
        attached: opt.arity == Arity::Attached,
        free: opt.effect.only_reads(),
    }
}
