//! Which files a command reads, writes and removes, for the programs that are known.

use super::args::{Args, Given, known, prefix};
use super::{Effect, Shape, Trait, read_only};
use crate::shell::Part;
use crate::shell::word::Word;

#[derive(Debug, Default)]
pub(crate) struct Uses {
    pub(crate) reads: Vec<Word>,
    pub(crate) trees: Vec<Word>,
    pub(crate) writes: Vec<Word>,
    /// Changed, moved or removed with everything below.
    pub(crate) below: Vec<Word>,
    /// Written into, when it is a folder: `cp a b folder`.
    pub(crate) into: Option<(Vec<Word>, Word)>,
    pub(crate) removes: Vec<Word>,
    /// The command has no other effect on files, so it can be allowed where edits are.
    pub(crate) plain_edit: bool,
    /// It writes contents, so it needs permission to edit even if the command is allowed.
    pub(crate) needs_leave: bool,
    /// Words that may hold further files (`--file=x`, `@x`).
    pub(crate) maybe_reads: Vec<Word>,
}

/// Returns what the words do to files; nothing for programs that are not known.
pub(crate) fn uses(words: &[Word], part: &Part) -> Uses {
    let mut uses = Uses::default();
    if part.is_test {
        return uses;
    }
    let Some(args) = Args::parse(words) else { return uses };
    let spec = args.spec;
    let operands = args.operands.clone();
    options(&args, &mut uses);
    match spec.shape {
        Shape::Reads | Shape::One | Shape::Facts | Shape::Names | Shape::Code | Shape::Shell => {
            uses.reads.extend(operands);
        }
        Shape::Find => uses.reads.extend(or_here(operands)),
        Shape::Trees => uses.trees.extend(operands),
        Shape::Pattern | Shape::PatternTrees => pattern(&args, part, &mut uses),
        Shape::Writes => {
            uses.writes.extend(operands);
            uses.needs_leave = true;
        }
        Shape::Creates => uses.writes.extend(operands),
        Shape::Copies | Shape::Moves => copy(&args, &mut uses),
        Shape::Removes => {
            if args.has(Effect::Deep) || !spec.is(Trait::Files) {
                uses.below.clone_from(&operands);
            }
            uses.removes = operands;
        }
        Shape::Modes => {
            // `--reference=file`, and the options of setfacl, replace the mode.
            let given = args.has(Effect::Read) || args.has(Effect::Pattern);
            let files: Vec<Word> = operands.into_iter().skip(usize::from(!given)).collect();
            if args.has(Effect::Deep) {
                uses.below.clone_from(&files);
            }
            uses.writes.extend(files);
        }
        Shape::Edits => {
            uses.reads.extend(operands.iter().cloned());
            uses.writes.extend(operands);
        }
        Shape::Fetches => fetch(words, &mut uses),
        Shape::Revisions => git(&args, &mut uses),
        Shape::Device => device(words, &mut uses),
        _ => {}
    }
    uses.plain_edit |= spec.is(Trait::PlainEdit);
    if uses.writes.iter().any(|word| word.has_unknown() && word.pieces.len() == 1) {
        // It merges folders, and what is in them is not known.
        uses.plain_edit = false;
    }
    uses
}

fn or_here(words: Vec<Word>) -> Vec<Word> {
    if words.is_empty() { vec![Word::plain(".")] } else { words }
}

fn options(args: &Args, uses: &mut Uses) {
    for given in args.all() {
        let Some(value) = &given.value else { continue };
        match given.opt.map(|opt| opt.effect) {
            Some(Effect::Read | Effect::ScriptFile | Effect::Other) => {
                uses.reads.push(value.clone());
            }
            Some(Effect::Lines) => {
                let text = value.value().unwrap_or_default();
                uses.reads.extend(text.rsplit_once(':').map(|(_, file)| Word::plain(file)));
            }
            Some(Effect::Write)
                if known(value).as_deref() != Some("-") && !is_target(args, given) =>
            {
                // The archive is in the same place whether it is read or written.
                let reads = args.spec.is(Trait::MayWrite) && args.spec.shape == Shape::Trees;
                if reads {
                    uses.maybe_reads.push(value.clone());
                } else if args.spec.is(Trait::Free) || args.spec.shape == Shape::Fetches {
                    // What builds write is seen where it is mentioned.
                    uses.writes.push(value.clone());
                    uses.needs_leave = true;
                }
            }
            // An option that is not listed may take a file.
            None => uses.maybe_reads.push(value.clone()),
            _ => {}
        }
    }
}

fn is_target(args: &Args, given: &Given) -> bool {
    matches!(args.spec.shape, Shape::Copies | Shape::Moves)
        && matches!(given.name.as_str(), "-t" | "--target-directory")
}

fn pattern(args: &Args, part: &Part, uses: &mut Uses) {
    let skip = usize::from(!args.has_pattern());
    let paths: Vec<Word> = args.operands.iter().skip(skip).cloned().collect();
    if args.has(Effect::InPlace) {
        uses.writes.extend(paths.iter().cloned());
        uses.needs_leave = true;
    }
    let asked = args.spec.is(Trait::Asked);
    let recursive = args.spec.shape == Shape::PatternTrees
        && (!asked || args.has(Effect::Deep) || args.has(Effect::Links));
    if recursive {
        let fed = part.piped && !asked;
        uses.trees.extend(if fed && paths.is_empty() { paths } else { or_here(paths) });
    } else {
        uses.reads.extend(paths);
    }
}

fn copy(args: &Args, uses: &mut Uses) {
    let mut operands = args.operands.clone();
    // `host:path` is a file of another machine.
    let remote = |word: &Word| {
        args.spec.is(Trait::Remote)
            && word.value().is_some_and(|t| t.split('/').next().is_some_and(|h| h.contains(':')))
    };
    let folder = args.options.iter().find(|given| is_target(args, given));
    let target = match folder.and_then(|given| given.value.clone()) {
        Some(folder) => Some(folder),
        // `ln -s x` links into the working directory.
        None if args.spec.is(Trait::Here) && operands.len() == 1 => Some(Word::plain(".")),
        None => operands.pop(),
    };
    operands.retain(|word| !remote(word));
    if args.spec.shape == Shape::Moves {
        uses.writes.extend(operands.iter().cloned());
    }
    uses.below.extend(operands.iter().cloned());
    uses.reads.extend(operands.iter().cloned());
    // A folder is moved with its content, and so is a link to one.
    uses.trees.extend(operands.iter().cloned());
    // `cp -r x/. .` and `cp -rT x .` merge all entries of `x`.
    let merges = |word: &Word| {
        word.value().is_some_and(|t| matches!(t.rsplit('/').next(), Some("." | "..")))
    };
    let whole = args.has_any(&["-T", "--no-target-directory"]);
    if operands.iter().any(merges) || whole {
        uses.writes.push(Word::unknown());
    }
    if let Some(target) = target.filter(|word| !remote(word)) {
        uses.into = Some((operands, target));
    }
    uses.needs_leave = !args.program.is(Trait::Git);
}

fn device(words: &[Word], uses: &mut Uses) {
    for word in words.iter().skip(1) {
        if let Some(file) = after(word, "if=") {
            uses.reads.push(file);
        } else if let Some(file) = after(word, "of=") {
            uses.writes.push(file);
            uses.needs_leave = true;
        }
    }
}

pub(super) fn after(word: &Word, start: &str) -> Option<Word> {
    prefix(word).0.starts_with(start).then_some(())?;
    Some(Word::of(word.raw.clone(), word.after(start.len())?))
}

fn fetch(words: &[Word], uses: &mut Uses) {
    for text in words.iter().skip(1).filter_map(Word::value) {
        for sign in ['@', '<'] {
            if let Some((_, file)) = text.split_once(sign) {
                uses.maybe_reads.push(Word::plain(file.split(';').next().unwrap_or(file)));
            }
        }
        uses.maybe_reads.extend(text.strip_prefix("file://").map(Word::plain));
    }
}

/// What may be files among a git command's words: also after a `:`, and by its own patterns.
fn git(args: &Args, uses: &mut Uses) {
    // Messages of commits and notes name no files.
    if !args.spec.is(Trait::Shows) {
        return;
    }
    for word in &args.operands {
        uses.reads.push(word.clone());
        let Some(text) = word.value() else { continue };
        if text.contains(['*', '?', '[']) {
            // Quoted for the shell, git matches it itself.
            uses.reads.push(Word::bare_text(&text));
        }
        if let Some((_, file)) = text.rsplit_once(':') {
            let file = file.rsplit_once(')').map_or(file, |(_, file)| file);
            uses.reads.push(Word::plain(file));
        }
    }
    // It searches everything below, and prints what it finds.
    if args.spec.is(Trait::Searches) {
        let skip = usize::from(!args.has_pattern());
        let rest: Vec<Word> = args.operands.iter().skip(skip).cloned().collect();
        // Revisions may be among them, and then all of them is searched.
        let behind = args.ended.and_then(|at| args.operands.get(at..)).unwrap_or_default();
        if !behind.is_empty() {
            uses.trees = behind.to_vec();
            return;
        }
        let only_paths = !rest.is_empty()
            && rest.iter().all(|word| word.value().is_some_and(|text| text.contains('/')));
        uses.trees = if only_paths { rest } else { vec![Word::plain(".")] };
    }
}

/// Returns whether a sed command line may run or write something by one of its scripts.
pub(super) fn sed_may_run_or_write(args: &Args) -> bool {
    let given: Vec<&Given> = args.given(Effect::Script).collect();
    let harmless = |word: Option<&Word>| {
        let text = word.and_then(Word::value);
        text.is_some_and(|text| read_only::is_harmless(args.program, &text))
    };
    let all = match given.as_slice() {
        [] => harmless(args.operands.first()),
        given => given.iter().all(|given| harmless(given.value.as_ref())),
    };
    !all || args.open || args.has(Effect::ScriptFile)
}
