//! Commands proven to read and nothing else.

use super::args::{Args, Given, known};
use super::{Effect, Shape, awk, jq, sed, special};
use crate::shell::Part;
use crate::shell::bomb;
use crate::shell::word::{Piece, Word};

/// What a command that only reads is known to read.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    /// Files and folders.
    pub(crate) paths: Vec<Word>,
    /// It must run where the workspace is: it obeys files of the folder it runs in.
    pub(crate) fixed_cwd: bool,
    /// Its operands may be revisions as well as files.
    pub(crate) revisions: bool,
    /// It follows links that lie below the folders it is given.
    pub(crate) follows: bool,
    /// It shows a program's version, which files of the workspace may choose.
    pub(crate) version: bool,
}

/// What the words read, when they are proven to do nothing else.
pub(crate) fn looks(words: &[Word], part: &Part) -> Option<Looks> {
    if part.is_test {
        return Some(Looks::default());
    }
    // What runs is the program of this name, not a file that is called like it.
    let program = known(words.first()?)?;
    let args = Args::parse(words).filter(|args| args.name == program)?;
    if let [only] = &words[1..]
        && let Some(option) = known(only).and_then(|text| args.program.option(&text))
        && option.effect == Effect::Version
    {
        return Some(Looks { version: true, ..Looks::default() });
    }
    if let Some(found) = special::looks(&args, &words[1..], part) {
        return found;
    }
    let spec = args.spec;
    if !spec.free || !args.is_clear() || args.globals.iter().any(|given| !harmless_global(given)) {
        return None;
    }
    let mut looks = Looks { fixed_cwd: args.name == "git", ..Looks::default() };
    let mut reading = Reading::default();
    for given in &args.options {
        reading.option(&args, given, &mut looks)?;
    }
    // Some programs take an option behind an operand for an option, some for an operand.
    let dashed =
        |word: &Word| known(word).is_some_and(|text| text.len() > 1 && text.starts_with('-'));
    if spec.posix && args.ended.is_none() && args.operands.iter().any(dashed) {
        return None;
    }
    operands(&args, &reading, &mut looks)?;
    Some(looks)
}

/// What the options say about the operands.
#[derive(Default)]
struct Reading {
    /// The pattern or script was given by an option.
    given: bool,
    query: bool,
    deep: bool,
}

impl Reading {
    /// What one option does; `None` when it is not a look.
    fn option(&mut self, args: &Args, given: &Given, looks: &mut Looks) -> Option<()> {
        let opt = given.opt?;
        let text = || given.value.as_ref().map_or(Some(String::new()), known);
        match opt.effect {
            Effect::Inert | Effect::Message | Effect::Lines | Effect::Version => {}
            Effect::Width => bomb::narrow(&text()?).then_some(())?,
            Effect::Format => (!shows_signatures(&text()?)).then_some(())?,
            Effect::Read => looks.paths.extend(given.value.clone()),
            Effect::Deep => self.deep = true,
            Effect::Links => {
                self.deep = true;
                looks.follows = true;
            }
            Effect::Query => self.query = true,
            Effect::Pattern => self.given = true,
            Effect::Script => {
                is_tame(&args.name, &text()?)?;
                self.given = true;
            }
            Effect::ScriptFile => {
                // A list of patterns is no script.
                (!has_language(&args.name)).then_some(())?;
                looks.paths.extend(given.value.clone());
                self.given = true;
            }
            Effect::Write if text().is_some_and(|text| crate::judge_sink(&text)) => {}
            Effect::Write
            | Effect::Folder
            | Effect::Run
            | Effect::Shell
            | Effect::Load
            | Effect::Remove
            | Effect::InPlace
            | Effect::Danger
            | Effect::Other => return None,
        }
        Some(())
    }
}

/// Options of git before the subcommand under which it stays a look.
fn harmless_global(given: &Given) -> bool {
    match given.opt.map(|opt| opt.effect) {
        Some(Effect::Inert) => true,
        Some(Effect::Folder) => given.name == "-C",
        _ => false,
    }
}

fn operands(args: &Args, reading: &Reading, looks: &mut Looks) -> Option<()> {
    let mut operands = args.operands.iter();
    match args.spec.shape {
        // What commands in it print was proven where they stand.
        Shape::Text => looks.paths.extend(args.operands.iter().filter_map(glob_folder)),
        Shape::Nothing => args.operands.is_empty().then_some(())?,
        Shape::One => {
            // A glob may become two files, of which the second is written.
            (args.operands.len() <= 1 && args.operands.iter().all(|w| known(w).is_some()))
                .then_some(())?;
            looks.paths.extend(operands.cloned());
        }
        Shape::Facts => {
            args.operands.iter().all(|word| !word.has_unknown()).then_some(())?;
            looks.paths.extend(args.operands.iter().filter_map(glob_folder));
        }
        Shape::Reads | Shape::Names | Shape::Trees => looks.paths.extend(operands.cloned()),
        Shape::Pattern | Shape::PatternTrees => {
            if !reading.given {
                match operands.next() {
                    Some(first) if has_language(&args.name) => {
                        is_tame(&args.name, &known(first)?)?;
                    }
                    Some(first) => super::args::is_one(first).then_some(())?,
                    None if has_language(&args.name) => return None,
                    None => {}
                }
            }
            let files: Vec<Word> = operands.cloned().collect();
            // `a=b` among the files of awk is an assignment.
            let assigns = |word: &Word| known(word).is_none_or(|text| text.contains('='));
            if awk::speaks(&args.name) && files.iter().any(assigns) {
                return None;
            }
            looks.paths.extend(files);
        }
        Shape::Revisions => {
            looks.revisions = true;
            looks.paths.extend(operands.cloned());
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
    looks.follows |= matches!(args.name.as_str(), "diff" | "colordiff");
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
    matches!(name, "sed" | "gsed" | "jq" | "gojq" | "yq" | "perl") || awk::speaks(name)
}

/// Whether a script is proven to print what it reads and nothing else.
fn is_tame(name: &str, script: &str) -> Option<()> {
    let tame = match name {
        "sed" | "gsed" => sed::is_tame(script),
        "jq" | "gojq" => jq::is_tame(script),
        // Only paths: its functions read files and variables.
        "yq" => script
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '[' | ']' | '"')),
        _ => awk::speaks(name) && awk::is_tame(script),
    };
    tame.then_some(())
}

/// Whether a script of this program cannot run, read or write anything else.
pub(super) fn is_tame_script(name: &str, script: &str) -> bool {
    is_tame(name, script).is_some()
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

/// The folders that git is told to go to first (`-C`), of a git command.
pub(crate) fn git_folders(words: &[Word]) -> Option<Vec<Word>> {
    let args = Args::parse(words).filter(|args| args.name == "git")?;
    let folders = args.globals.into_iter().filter(|given| given.name == "-C");
    Some(folders.filter_map(|given| given.value).collect())
}
