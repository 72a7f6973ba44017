//! What is known of programs: their options, what each does, and what the other words are.
//!
//! The knowledge is data (`program/data/*.prog`, one file per family), read once and only for
//! the programs that are asked about. One parser ([`args`]) turns the words of a command into
//! typed arguments by it; everything else is a question to those: whether the command only
//! reads ([`read_only`]), which files it touches ([`files`]), what it runs ([`wrap`], [`reach`]),
//! whether an option makes it run something else ([`danger`]) and what it removes
//! ([`removal`]).

pub(crate) mod args;
mod awk;
pub(crate) mod danger;
pub(crate) mod files;
mod jq;
pub(crate) mod listing;
pub(crate) mod reach;
mod read;
pub(crate) mod read_only;
pub(crate) mod removal;
mod sed;
mod special;
pub(crate) mod wrap;

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

/// What a value, or an option without one, does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing beyond what is printed, and how.
    Inert,
    /// Like inert, if every number in the value is small: others fill the memory.
    Width,
    /// A format of git, which may show signatures, for which git runs a program.
    Format,
    /// A file that is read.
    Read,
    /// A range of lines and the file they are in: `1,5:file`.
    Lines,
    /// A file that is written.
    Write,
    /// A folder that the program goes to first.
    Folder,
    /// A command that is run.
    Run,
    /// A script that a shell runs.
    Shell,
    /// Code, or settings that name code, which is loaded.
    Load,
    /// A pattern or another text, instead of the first operand.
    Pattern,
    /// A script in the program's own language, instead of the first operand.
    Script,
    /// A file with such a script.
    ScriptFile,
    /// A message for people.
    Message,
    /// Everything below the operands is included.
    Deep,
    /// Links are followed to wherever they lead.
    Links,
    /// The operands are removed once they are copied.
    Remove,
    /// The operands are written in place.
    InPlace,
    /// It makes the command a query with any operands.
    Query,
    /// Alone, it shows the program's version.
    Version,
    /// It runs, writes or loads something that is not its value.
    Danger,
    /// It does something else than reading.
    Other,
}

impl Effect {
    /// Whether a command with such an option may still only read.
    pub(crate) fn only_reads(self) -> bool {
        match self {
            Self::Inert
            | Self::Width
            | Self::Format
            | Self::Read
            | Self::Lines
            | Self::Pattern
            | Self::Script
            | Self::ScriptFile
            | Self::Message
            | Self::Deep
            | Self::Links
            | Self::Query
            | Self::Version => true,
            Self::Write
            | Self::Folder
            | Self::Run
            | Self::Shell
            | Self::Load
            | Self::Remove
            | Self::InPlace
            | Self::Danger
            | Self::Other => false,
        }
    }
}

/// What follows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arity {
    /// Nothing.
    None,
    /// A value: the rest of the word, or the next one.
    Required,
    /// A value in the same word, or none.
    Attached,
    /// A command up to `;` or `+`, or to the end.
    Command,
    /// A name and a value, the next two words.
    Pair,
}

/// One option.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Opt {
    /// With its dashes: `-n`, `--lines`, `-name`.
    pub(crate) name: &'static str,
    pub(crate) arity: Arity,
    pub(crate) effect: Effect,
}

/// What the words are that are no options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Nothing is known of them.
    Any,
    /// Texts that name no file.
    Text,
    /// There must be none.
    Nothing,
    /// Files that are read.
    Reads,
    /// One file that is read; a second one is written.
    One,
    /// Files and folders of which names and sizes are shown.
    Names,
    /// Files of which it is shown whether they exist, and how large they are.
    Facts,
    /// Folders that are read with all that is in them.
    Trees,
    /// A pattern or a script, then files that are read.
    Pattern,
    /// A pattern, then folders that are read with all that is in them.
    PatternTrees,
    /// Files that are written.
    Writes,
    /// Files and folders that are created.
    Creates,
    /// Files that are read and written.
    Edits,
    /// Files that are copied to the last one.
    Copies,
    /// Files that are moved to the last one.
    Moves,
    /// Files that are removed.
    Removes,
    /// A mode or an owner, then files that are changed.
    Modes,
    /// Addresses that are fetched or sent to.
    Fetches,
    /// Revisions and files of a repository.
    Revisions,
    /// None, unless an option makes the command a query.
    Query,
    /// So many words, then a command.
    Command(u8),
    /// Any of them may begin a command.
    Tails,
    /// So many words, then the text of a script for a shell.
    Script(u8),
    /// A script for a shell (`-c`), or a file with one.
    Shell,
    /// A program of its own language, in a word or a file.
    Code,
    /// The first word names a subcommand.
    Sub,
    /// Starting points and an expression, as find has them.
    Find,
}

/// A program, or a subcommand of one.
#[derive(Debug)]
pub(crate) struct Program {
    /// The words that name it, without the program's own name for a subcommand.
    pub(crate) names: Vec<&'static str>,
    pub(crate) shape: Shape,
    /// It only reads, as long as its options are known to.
    pub(crate) free: bool,
    /// Every kind of rule applies to the command it runs.
    pub(crate) clear: bool,
    /// Long options may be shortened.
    pub(crate) short_longs: bool,
    /// Options end at the first operand.
    pub(crate) posix: bool,
    /// Long options have one dash, and there are no clusters.
    pub(crate) single: bool,
    /// `-5` is an option.
    pub(crate) digits: bool,
    /// `NAME=value` may come before the command.
    pub(crate) assigns: bool,
    /// It runs what it reads from its input.
    pub(crate) runs_input: bool,
    /// It takes names of files from its input.
    pub(crate) names_input: bool,
    /// Its words do nothing to files and are no commands, with any options.
    pub(crate) inert: bool,
    /// It can make a machine unusable.
    pub(crate) breaks: bool,
    /// It changes what later words mean.
    pub(crate) redefines: bool,
    /// Where edits are free it may be, since it does nothing else.
    pub(crate) plain_edit: bool,
    /// A rule for the program alone would allow almost anything.
    pub(crate) broad: bool,
    /// The command itself is code that is run, with any options.
    pub(crate) danger: bool,
    /// It may write to the files it is given to read, or beside them.
    pub(crate) may_write: bool,
    /// Its words may be programs of a language of their own.
    pub(crate) interprets: bool,
    /// It has no subcommands; its first word selects what it does.
    pub(crate) has_targets: bool,
    /// Subcommands whose next word selects what they do; `*` are all.
    pub(crate) groups: Vec<&'static str>,
    /// Subcommands whose words change what they do from a query to a change: "always" saves only
    /// the exact command.
    pub(crate) exact: Vec<&'static str>,
    pub(crate) options: Vec<Opt>,
    pub(crate) subs: Vec<Program>,
}

impl Program {
    /// What is known of a program by its name.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        let entry = INDEX.get(name)?;
        Some(entry.parsed.get_or_init(|| read::program(entry.text)))
    }

    /// The option of this name, as it is written in full.
    pub(crate) fn option(&self, name: &str) -> Option<&Opt> {
        self.options.iter().find(|option| option.name == name)
    }

    /// The long option that this abbreviates, when only one matches.
    pub(crate) fn long(&self, name: &str) -> Option<&Opt> {
        if let Some(found) = self.option(name) {
            return Some(found);
        }
        if !self.short_longs || name.len() < 3 {
            return None;
        }
        let mut found = self.options.iter().filter(|option| option.name.starts_with(name));
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }
}

/// A program's entry in the data, and its parsed form once it was needed.
struct Entry {
    text: &'static str,
    parsed: OnceLock<Program>,
}

/// The data, one file per family.
const FAMILIES: &[&str] = &[
    include_str!("program/data/coreutils.prog"),
    include_str!("program/data/text.prog"),
    include_str!("program/data/search.prog"),
    include_str!("program/data/git.prog"),
    include_str!("program/data/archive.prog"),
    include_str!("program/data/builds.prog"),
    include_str!("program/data/network.prog"),
    include_str!("program/data/machines.prog"),
    include_str!("program/data/code.prog"),
    include_str!("program/data/shell.prog"),
    include_str!("program/data/system.prog"),
];

/// Every program's entry by every name it goes by. Entries are only cut apart here.
static INDEX: LazyLock<HashMap<&'static str, Entry>> = LazyLock::new(|| {
    let entries = FAMILIES.iter().flat_map(|family| read::entries(family));
    entries
        .flat_map(|text| {
            let entry = move || Entry { text, parsed: OnceLock::new() };
            read::names(text).map(move |name| (name, entry()))
        })
        .collect()
});

#[cfg(test)]
mod tests;
