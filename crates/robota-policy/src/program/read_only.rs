//! Commands proven to read and nothing else.

use super::args::{Args, Given, known};
use super::{Effect, Shape, awk, jq, sed, special};
use crate::shell::Part;
use crate::shell::bomb;
use crate::shell::word::{Piece, Word};

/// What a command that only reads is known to read.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// Files and folders.
    pub(crate) paths: Vec<Word>,
    /// It must run where the workspace is: files of the folder it runs in change what it does.
    pub(crate) fixed_cwd: bool,
    /// Its operands may be revisions as well as files.
    pub(crate) revisions: bool,
    /// It follows links below the folders it is given.
    pub(crate) follows: bool,
    /// It shows a program's version, which files of the workspace may choose.
    pub(crate) version: bool,
}

/// What the words read, when they are proven to do nothing else.
pub(crate) fn reads(words: &[Word], part: &Part) -> Option<Reads> {
    if part.is_test {
        return Some(Reads::default());
    }
    // What runs is the program of this name, not a file that is called like it.
    let program = known(words.first()?)?;
    let args = Args::parse(words).filter(|args| args.name == program)?;
    if let [only] = &words[1..]
        && let Some(option) = known(only).and_then(|text| args.program.option(&text))
        && option.effect == Effect::Version
    {
        return Some(Reads { version: true, ..Reads::default() });
    }
    if let Some(found) = special::reads(&args, &words[1..], part) {
        return found;
    }
    let spec = args.spec;
    if !spec.free || !args.is_clear() || args.globals.iter().any(|given| !harmless_global(given)) {
        return None;
    }
    let mut reads = Reads { fixed_cwd: args.name == "git", ..Reads::default() };
    let mut reading = Reading::default();
    for given in &args.options {
        reading.option(&args, given, &mut reads)?;
    }
    // Some programs take an option behind an operand for an option, some for an operand.
    let dashed =
        |word: &Word| known(word).is_some_and(|text| text.len() > 1 && text.starts_with('-'));
    if spec.posix && args.ended.is_none() && args.operands.iter().any(dashed) {
        return None;
    }
    operands(&args, &reading, &mut reads)?;
    Some(reads)
}

/// What the options mean for the operands.
#[derive(Default)]
struct Reading {
    /// The pattern or script was given by an option.
    given: bool,
    query: bool,
    deep: bool,
}

impl Reading {
    /// What one option does; `None` when it does not only read.
    fn option(&mut self, args: &Args, given: &Given, reads: &mut Reads) -> Option<()> {
        let opt = given.opt?;
        let text = || given.value.as_ref().map_or(Some(String::new()), known);
        if !opt.effect.only_reads() {
            let sink = || text().is_some_and(|text| crate::judge_sink(&text));
            return (opt.effect == Effect::Write && sink()).then_some(());
        }
        match opt.effect {
            Effect::Width => bomb::narrow(&text()?).then_some(())?,
            Effect::Format => (!shows_signatures(&text()?)).then_some(())?,
            Effect::Read => reads.paths.extend(given.value.clone()),
            Effect::Deep => self.deep = true,
            Effect::Links => {
                self.deep = true;
                reads.follows = true;
            }
            Effect::Query => self.query = true,
            Effect::Pattern => self.given = true,
            Effect::Script => {
                is_harmless(&args.name, &text()?)?;
                self.given = true;
            }
            Effect::ScriptFile => {
                // A list of patterns is no script.
                (!has_language(&args.name)).then_some(())?;
                reads.paths.extend(given.value.clone());
                self.given = true;
            }
            // Help of a subcommand is shown by a program that the repository may choose.
            Effect::Version => args.sub.is_empty().then_some(())?,
            // The others change nothing but what is printed.
            _ => {}
        }
        Some(())
    }
}

/// Options of git before the subcommand with which it is still read-only.
fn harmless_global(given: &Given) -> bool {
    match given.opt.map(|opt| opt.effect) {
        Some(Effect::Inert) => true,
        Some(Effect::Folder) => given.name == "-C",
        _ => false,
    }
}

fn operands(args: &Args, reading: &Reading, reads: &mut Reads) -> Option<()> {
    let mut operands = args.operands.iter();
    match args.spec.shape {
        // Commands in substitutions are proven separately.
        Shape::Text => reads.paths.extend(args.operands.iter().filter_map(glob_folder)),
        Shape::Nothing => args.operands.is_empty().then_some(())?,
        Shape::One => {
            // A glob may become two files, of which the second is written.
            (args.operands.len() <= 1 && args.operands.iter().all(|w| known(w).is_some()))
                .then_some(())?;
            reads.paths.extend(operands.cloned());
        }
        Shape::Facts => {
            args.operands.iter().all(|word| !word.has_unknown()).then_some(())?;
            reads.paths.extend(args.operands.iter().filter_map(glob_folder));
        }
        Shape::Reads | Shape::Names | Shape::Trees => reads.paths.extend(operands.cloned()),
        Shape::Pattern | Shape::PatternTrees => {
            if !reading.given {
                match operands.next() {
                    Some(first) if has_language(&args.name) => {
                        is_harmless(&args.name, &known(first)?)?;
                    }
                    Some(first) => super::args::is_one(first).then_some(())?,
                    None if has_language(&args.name) => return None,
                    None => {}
                }
            }
            let files: Vec<Word> = operands.cloned().collect();
            // `a=b` among the files of awk is an assignment.
            let assigns = |word: &Word| known(word).is_none_or(|text| text.contains('='));
            if awk::is_awk(&args.name) && files.iter().any(assigns) {
                return None;
            }
            reads.paths.extend(files);
        }
        Shape::Revisions => {
            reads.revisions = true;
            reads.paths.extend(operands.cloned());
        }
        Shape::Query => {
            let names = args.spec.names.as_slice();
            // `git config user.name` shows it; with a second word it would set it.
            let key = |word: &Word| {
                known(word).is_some_and(|key| key.contains('.') && !key.contains('/'))
            };
            let fine = match (names, args.operands.as_slice()) {
                (_, []) => names != ["config"] || reading.query,
                (["config"], [one]) => reading.query || key(one),
                (["symbolic-ref"], [one]) => known(one).is_some(),
                _ => reading.query,
            };
            fine.then_some(())?;
        }
        _ => return None,
    }
    // Folders are compared with what links in them lead to.
    reads.follows |= matches!(args.name.as_str(), "diff" | "colordiff" | "sdiff");
    Some(())
}

/// The folder whose names a glob shows.
pub(super) fn glob_folder(word: &Word) -> Option<Word> {
    let mut pieces = Vec::new();
    for piece in &word.pieces {
        match piece {
            Piece::Text { text, quoted: false } if text.contains(['*', '?', '[']) => {
                let at = text.find(['*', '?', '[']).unwrap_or(text.len());
                let folder = text[..at].rfind('/').map_or("", |slash| &text[..=slash]);
                pieces.push(Piece::Text { text: folder.to_owned(), quoted: false });
                // A word without a folder is about the one where it runs.
                let here =
                    pieces.iter().all(|p| matches!(p, Piece::Text { text, .. } if text.is_empty()));
                return (!here).then(|| Word::of(word.raw.clone(), pieces));
            }
            other => pieces.push(other.clone()),
        }
    }
    None
}

/// Programs whose first operand is a script of a language of its own.
fn has_language(name: &str) -> bool {
    matches!(name, "sed" | "gsed" | "jq" | "gojq" | "yq" | "perl") || awk::is_awk(name)
}

/// Whether a script is proven to print what it reads and nothing else.
fn is_harmless(name: &str, script: &str) -> Option<()> {
    let harmless = match name {
        "sed" | "gsed" => sed::is_harmless(script),
        "jq" | "gojq" => jq::is_harmless(script),
        // Only paths: its functions read files and variables.
        "yq" => script
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '[' | ']' | '"')),
        _ => awk::is_awk(name) && awk::is_harmless(script),
    };
    harmless.then_some(())
}

/// Whether a script of this program cannot run, read or write anything else.
pub(super) fn is_harmless_script(name: &str, script: &str) -> bool {
    is_harmless(name, script).is_some()
}

/// A format that shows signatures, for which git runs another program.
fn shows_signatures(value: &str) -> bool {
    ["%G", "%+G", "%-G", "% G", "signature"].iter().any(|sign| value.contains(sign))
}

/// Text that would run a command if a builtin took it for an array element.
pub(crate) fn indexes(word: &Word) -> bool {
    word.pieces.iter().any(|piece| match piece {
        Piece::Text { text, .. } | Piece::Ansi(text) => {
            text.contains('[') && (text.contains("$(") || text.contains('`'))
        }
        _ => false,
    })
}

/// The folders of the option `-C` of a git command.
pub(crate) fn git_folders(words: &[Word]) -> Option<Vec<Word>> {
    let args = Args::parse(words).filter(|args| args.name == "git")?;
    let folders = args.globals.into_iter().filter(|given| given.name == "-C");
    Some(folders.filter_map(|given| given.value).collect())
}
