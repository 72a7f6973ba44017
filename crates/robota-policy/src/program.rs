//! Describes programs: their options, the effect of each option, and the meaning of the other
//! words.
//!
//! The knowledge is data (`program/data/*.prog`, one file per family), read once and only for
//! the programs that commands name. One parser ([`args`]) turns the words of a command into
//! typed arguments by it; everything else is a query on these: whether the command only
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

use crate::shell::word::Word;

/// Defines an enum whose values have names in the data.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $first:ident = $name1:literal, $($value:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub(crate) enum $name { #[default] $first, $($value,)* }

        impl $name {
            fn named(name: &str) -> Option<Self> {
                match name {
                    $name1 => Some(Self::$first),
                    $($text => Some(Self::$value),)*
                    _ => None,
                }
            }
        }
    };
}

named! {
    /// What a value, or an option without one, does.
    Effect {
        Inert = "",        // nothing beyond what is printed, and how
        Width = "n",       // inert if every number in it is small: others fill the memory
        Narrow = "only",   // inert, and leaves most files alone
        Format = "fmt",    // a format of git, which may show signatures, for which git runs a program
        Read = "r",        // a file that is read
        Lines = "ln",      // a range of lines and the file they are in: `1,5:file`
        Write = "w",       // a file that is written
        Folder = "d",      // a folder that the program goes to first
        Run = "x",         // a command that is run
        Setting = "set",   // a setting of ssh, of which some name commands that are run
        Shell = "sh",      // a script that a shell runs
        Load = "l",        // code, or settings that name code, which is loaded
        Linker = "ld",     // options of a linker, of which few load code
        Style = "style",   // the name of a part that comes with the program, or a file to load
        Pattern = "p",     // a pattern or another text, instead of the first operand
        Script = "s",      // a script in the program's own language, instead of the first operand
        ScriptFile = "f",  // a file with such a script
        Message = "m",     // a message for people
        Deep = "deep",     // everything below the operands is included
        Links = "links",   // links are followed to wherever they lead
        Remove = "rm",     // the operands, or the value, are removed
        Drop = "drop",     // what is copied is removed
        Strategy = "strategy", // a strategy of git, which is a program unless it comes with git
        InPlace = "i",     // the operands are written in place
        Query = "q",       // it makes the command a query with any operands
        Version = "v",     // alone, it shows the program's version
        Danger = "X",      // it runs, writes or loads something that is not its value
        Other = "o",       // it does something else than reading
    }
}

impl Effect {
    /// Returns whether a command with such an option may still only read.
    pub(crate) fn only_reads(self) -> bool {
        use Effect::{Danger, Drop, Folder, InPlace, Other, Remove, Strategy, Write};
        let changes = matches!(self, Write | Folder | Remove | Drop | InPlace | Danger);
        !self.runs() && !changes && !matches!(self, Strategy | Other)
    }

    /// Returns whether the value is run or loaded.
    pub(crate) fn runs(self) -> bool {
        use Effect::{Linker, Load, Run, Setting, Shell, Style};
        matches!(self, Run | Setting | Shell | Load | Linker | Style)
    }
}

/// What follows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arity {
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

/// One option of a program, as the data lists it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Opt {
    /// With its dashes: `-n`, `--lines`, `-name`.
    pub(crate) name: &'static str,
    pub(crate) arity: Arity,
    pub(crate) effect: Effect,
}

named! {
    /// What the words are that are no options.
    Shape {
        Any = "any",             // nothing is known of them
        Text = "text",           // texts that name no file
        Nothing = "none",        // there must be none
        Reads = "reads",         // files that are read
        One = "one",             // one file that is read; a second one is written
        Names = "names",         // files and folders of which names and sizes are shown
        Facts = "facts",         // files of which it is shown whether they exist, and how large they are
        Trees = "trees",         // folders that are read with all that is in them
        Pattern = "pattern",     // a pattern or a script, then files that are read
        PatternTrees = "patterntrees", // a pattern, then folders that are read with all that is in them
        Writes = "writes",       // files that are written
        Creates = "creates",     // files and folders that are created
        Edits = "edits",         // files that are read and written
        Copies = "copies",       // files that are copied to the last one
        Moves = "moves",         // files that are moved to the last one
        Removes = "removes",     // files that are removed
        Modes = "modes",         // a mode or an owner, then files that are changed
        Fetches = "fetches",     // addresses that are fetched or sent to
        Revisions = "revisions", // revisions and files of a repository
        Query = "query",         // none, unless an option makes the command a query
        Command = "command",     // its number is how many words come before a command
        Tails = "tails",         // any of them may begin a command
        Script = "script",       // its number is how many words come before the text of a script for a shell
        Shell = "shell",         // a script for a shell (`-c`), or a file with one
        Code = "code",           // a program of its own language, in a word or a file
        Sub = "sub",             // the first word names a subcommand
        Find = "find",           // starting points and an expression
        Device = "device",       // `if=file` that is read, `of=file` that is written
    }
}

named! {
    /// What else is known of a program or a subcommand.
    Trait {
        Free = "free",           // it only reads, as long as its options are known to
        Clear = "clear",         // every kind of rule applies to the command it runs
        Gnu = "gnu",             // long options may be shortened
        Posix = "posix",         // options end at the first operand
        Single = "single",       // long options have one dash, and there are no clusters
        Digits = "digits",       // `-5` is an option
        Assigns = "assigns",     // `NAME=value` may come before the command
        RunsInput = "stdin",     // it runs what it reads from its input
        NamesInput = "names",    // it takes names of files from its input
        Inert = "inert",         // its words do nothing to files and are no commands, with any options
        Breaks = "breaks",       // it can make a machine unusable
        Empties = "empties",     // it writes over the device that it is given
        Volumes = "volumes",     // it removes volumes and pools, which have no path
        Redefines = "redefines", // it changes what later words mean
        PlainEdit = "edit",      // where edits are free it may be, since it does nothing else
        Broad = "broad",         // a rule for the program alone would allow almost anything
        Danger = "danger",       // the command itself is code that is run, with any options
        MayWrite = "writes",     // it may write to the files it is given to read, or next to them
        Interprets = "code",     // its words may be programs of a language of their own
        Inline = "inline",       // its words may be programs that remove files
        Targets = "targets",     // it has no subcommands; its first word selects what it does
        Git = "git",             // it works on a repository, whose settings decide what it runs
        Shows = "shows",         // it shows contents of files and revisions
        Searches = "searches",   // it searches everything below
        Lists = "lists",         // it lists files, those that show contents with an option
        Sets = "sets",           // with a second operand it sets a value
        OneName = "names-one",   // with one known operand it is a query
        Makes = "makes",         // operands after as many as its number are created
        Cleans = "cleans",       // with force it removes what is not tracked
        Files = "files",         // without an option it removes files alone
        Whole = "whole",         // it removes folders with all that is in them, with any options
        Remover = "remover",     // a command that it is given may be a removal of its own
        Linked = "linked",       // it compares folders with what links in them lead to
        Remote = "remote",       // `host:path` is a file of another machine
        Here = "here",           // one operand alone is linked into the working directory
        Own = "own",             // it is for more than running the command it is given
        Keys = "keys",           // `-i` names a key, which everybody has and which is read
        Asked = "asked",         // it searches folders only where an option asks for that
        Passes = "passes",       // it passes lines on as they are, or not at all
        Sources = "sources",     // it runs its first operand, or its input, as a script
        Fills = "fills",         // names that it reads are added to the command
        First = "first",         // only the first operand is a script
        Rest = "rest",           // any word may begin the command as well
        Prints = "prints",       // it prints its words
        Variables = "variables", // its words name variables, which are set
        Indexes = "indexes",     // its words name variables, and an index in one is evaluated
        Declares = "declares",   // it declares variables
        Old = "old",             // its first word may be options without a dash
        Make = "make",           // `NAME=value` can contain a call of the shell
        Plus = "plus",           // `+command` is run
        Exec = "exec",           // an address can be a command
        Flags = "flags",         // operands can be options of a compiler
    }
}

named! {
    /// The language of a program's scripts.
    Language {
        Sed = "sed",
        Awk = "awk",
        Jq = "jq",
        Paths = "paths",       // proven only where a script is a path
        Perl = "perl",         // never proven
        Database = "database", // queries, and commands that leave the prompt
    }
}

named! {
    /// How a program lists files, for commands that get the list as arguments.
    Lists {
        Find = "find",       // by an expression
        Fd = "fd",           // by a pattern
        Names = "names",     // with an option, those in which a pattern matches
        Matches = "matches", // the same, below folders with another one
        Entries = "entries", // the entries of folders
        Git = "git",         // those of the repository
    }
}

named! {
    /// How it is proven that a command with a grammar of its own only reads.
    Proof {
        Never = "never",     // it is not
        Enter = "cd",        // one folder, which is entered
        Find = "find",       // only tests and printing
        Wait = "wait",       // times that end soon
        Shown = "shown",     // words that are printed
        Printf = "printf",   // a format that assigns nothing, and words that are printed
        Count = "count",     // numbers that are not far from each other
        Public = "public",   // names of variables that are no secrets
        Date = "date",       // formats of the time
        Test = "test",       // comparisons that evaluate nothing
        Lookup = "lookup",   // with an option that asks for names
        Known = "known",     // known words
        Bsd = "bsd",         // letters that show no variables of other programs
        Lines = "lines",     // lines of an input, stored under plain names
        Strict = "strict",   // options that make a script stricter
        Code = "exit",       // nothing, or a small number
        Listing = "listing", // letters that list an archive
        Unzip = "unzip",     // an option that lists an archive
        Pipe = "pipe",       // with an option that prints, or without a file
        Batch = "batch",     // printed a number of times
        Alone = "alone",     // no words
        Screen = "screen",   // questions about the screen
    }
}

/// A program, or a subcommand of one.
#[derive(Debug, Default)]
pub(crate) struct Program {
    /// The words that name it, without the program's own name for a subcommand.
    pub(crate) names: Vec<&'static str>,
    pub(crate) shape: Shape,
    /// How many words come before a command or a script.
    pub(crate) places: usize,
    pub(crate) traits: Vec<Trait>,
    pub(crate) proof: Option<Proof>,
    pub(crate) language: Option<Language>,
    pub(crate) lists: Option<Lists>,
    /// Files that choose the toolchain, and so which program runs.
    pub(crate) chosen_by: Vec<&'static str>,
    /// Subcommands whose next word selects what they do; `*` are all.
    pub(crate) groups: Vec<&'static str>,
    /// Subcommands whose further words only select what of the project they work on, or what they
    /// show: "always" saves a rule for any of these words. Words of a group are joined by `/`.
    pub(crate) prefixes: Vec<&'static str>,
    pub(crate) options: Vec<Opt>,
    pub(crate) subs: Vec<Program>,
}

impl Program {
    /// Returns the description of a program by its name.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        let known = |name| {
            let entry: &'static Entry = INDEX.get(name)?;
            // Parsed at first use: a session asks about few of the programs.
            Some(entry.parsed.get_or_init(|| read::program(entry.text)))
        };
        // `mkfs.ext4`, `newfs_msdos`
        known(name).or_else(|| {
            let stem = name.split(['.', '_']).next()?;
            known(stem).filter(|program| program.is(Trait::Empties))
        })
    }

    /// Returns the description of the program that these words run, in any folder.
    pub(crate) fn of(words: &[Word]) -> Option<&'static Self> {
        Self::find(args::base(&words.first()?.value()?))
    }

    pub(crate) fn is(&self, what: Trait) -> bool {
        self.traits.contains(&what)
    }

    /// Returns the option of this name, as it is written in full.
    pub(crate) fn option(&self, name: &str) -> Option<&Opt> {
        self.options.iter().find(|option| option.name == name)
    }

    /// Returns the long option that this abbreviates, when only one matches.
    pub(crate) fn long(&self, name: &str) -> Option<&Opt> {
        if let Some(found) = self.option(name) {
            return Some(found);
        }
        // Two characters are only the dashes.
        if !self.is(Trait::Gnu) || name.len() < 3 {
            return None;
        }
        let mut found = self.options.iter().filter(|option| option.name.starts_with(name));
        let first = found.next()?;
        // An abbreviation of two options is an error of the program, so it is none of them here.
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
