//! Proves that commands only read.

use super::args::{Args, Given, known};
use super::{Effect, Language, Program, Shape, Trait, awk, jq, sed, special};
use crate::shell::Part;
use crate::shell::bomb;
use crate::shell::word::{Piece, Word};
use crate::words;

#[derive(Debug, Default)]
pub(crate) struct Reads {
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

/// Returns what the words read, when they are proven to do nothing else.
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
    let global = |given: &Given| given.does(Effect::Inert) || given.does(Effect::Folder);
    if !spec.is(Trait::Free) || !args.is_clear() || !args.globals.iter().all(global) {
        return None;
    }
    // git takes its settings from the repository that it finds from the folder it runs in.
    let mut reads = Reads { fixed_cwd: args.program.is(Trait::Git), ..Reads::default() };
    let mut reading = Reading::default();
    for given in &args.options {
        reading.option(&args, given, &mut reads)?;
    }
    // Some programs take an option behind an operand for an option, some for an operand.
    let dashed =
        |word: &Word| known(word).is_some_and(|text| text.len() > 1 && text.starts_with('-'));
    if spec.is(Trait::Posix) && args.ended.is_none() && args.operands.iter().any(dashed) {
        return None;
    }
    operands(&args, &reading, &mut reads)?;
    Some(reads)
}

#[derive(Default)]
struct Reading {
    given: bool,
    query: bool,
    /// The scripts of all options so far, as the program joins them.
    script: String,
}

impl Reading {
    /// Returns what one option does; `None` when it does not only read.
    fn option(&mut self, args: &Args, given: &Given, reads: &mut Reads) -> Option<()> {
        let opt = given.opt?;
        let text = || given.value.as_ref().map_or(Some(String::new()), known);
        if !opt.effect.only_reads() {
            let sink = || text().is_some_and(|text| crate::judge_sink(&text));
            return (opt.effect == Effect::Write && sink()).then_some(());
        }
        match opt.effect {
            Effect::Width => bomb::narrow(&text()?).then_some(())?,
            // A format that shows signatures, for which git runs another program.
            Effect::Format => {
                (!words::within("signatures", &text()?.replace(' ', "~"))).then_some(())?;
            }
            Effect::Read => reads.paths.extend(given.value.clone()),
            Effect::Links => reads.follows = true,
            Effect::Query => self.query = true,
            Effect::Pattern => self.given = true,
            Effect::Script => {
                let text = text()?;
                is_harmless(args.program, &text).then_some(())?;
                self.script.push_str(&text);
                self.script.push('\n');
                // A jump or a `D` in one of them may repeat the others.
                let joined = args.program.language == Some(Language::Sed);
                (!joined || is_harmless(args.program, &self.script)).then_some(())?;
                self.given = true;
            }
            Effect::ScriptFile => {
                // A list of patterns is no script.
                args.program.language.is_none().then_some(())?;
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
                let first = operands.next();
                let fine = match args.program.language {
                    Some(_) => is_harmless(args.program, &known(first?)?),
                    None => first.is_none_or(super::args::is_one),
                };
                fine.then_some(())?;
            }
            let files: Vec<Word> = operands.cloned().collect();
            // `a=b` among the files of awk is an assignment.
            let assigns = |word: &Word| known(word).is_none_or(|text| text.contains('='));
            if args.program.language == Some(Language::Awk) && files.iter().any(assigns) {
                return None;
            }
            reads.paths.extend(files);
        }
        Shape::Revisions => {
            reads.revisions = true;
            reads.paths.extend(operands.cloned());
        }
        Shape::Query => {
            // `git config user.name` shows it; with a second word it would set it.
            let key = |word: &Word| {
                known(word).is_some_and(|key| key.contains('.') && !key.contains('/'))
            };
            let fine = match args.operands.as_slice() {
                [] => !args.spec.is(Trait::Sets),
                [one] if args.spec.is(Trait::Sets) => key(one),
                [one] if args.spec.is(Trait::OneName) => return known(one).map(|_| ()),
                _ => false,
            };
            (fine || reading.query).then_some(())?;
        }
        _ => return None,
    }
    // Folders are compared with what links in them lead to.
    reads.follows |= args.program.is(Trait::Linked);
    Some(())
}

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

/// Returns whether a script of this program is proven to print what it reads and nothing else.
pub(super) fn is_harmless(program: &Program, script: &str) -> bool {
    match program.language {
        Some(Language::Sed) => sed::is_harmless(script),
        Some(Language::Jq) => jq::is_harmless(script),
        Some(Language::Awk) => awk::is_harmless(script),
        // Its functions read files and variables.
        Some(Language::Paths) => {
            script.chars().all(|c| c.is_ascii_alphanumeric() || "._-[]\"".contains(c))
        }
        Some(Language::Perl | Language::Database) | None => false,
    }
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

pub(crate) fn git_folders(words: &[Word]) -> Option<Vec<Word>> {
    let args = Args::parse(words).filter(|args| args.program.is(Trait::Git))?;
    let folders = args.globals.into_iter().filter(|given| given.does(Effect::Folder));
    Some(folders.filter_map(|given| given.value).collect())
}
