//! Which files a command reads, writes and removes, for the programs that are known.

use super::files_table::{SHAPES, Shape};
use super::parse::Part;
use super::word::Word;
use super::wrappers::base;
use super::{readonly, sed};

/// The files a command touches.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// Shown, in whole or in part.
    pub(crate) reads: Vec<Word>,
    /// Shown with all that lies below.
    pub(crate) trees: Vec<Word>,
    /// Created or changed.
    pub(crate) writes: Vec<Word>,
    /// Written into, when it is a folder: `cp a b folder`.
    pub(crate) into: Option<(Vec<Word>, Word)>,
    /// Removed.
    pub(crate) removes: Vec<Word>,
    /// It does nothing but this to files, and can be free where edits are free.
    pub(crate) plain_edit: bool,
    /// It writes contents, so that it needs leave to edit even where the command is allowed.
    pub(crate) needs_leave: bool,
    /// Words that may hold further files (`--file=x`, `@x`).
    pub(crate) maybe_reads: Vec<Word>,
}

/// What the words do to files; nothing for programs that are not known.
pub(crate) fn uses(words: &[Word], part: &Part) -> Uses {
    let mut uses = Uses::default();
    let Some(program) = words.first().and_then(Word::value) else { return uses };
    let name = base(&program);
    if part.is_test {
        return uses;
    }
    let Some((_, shape)) = SHAPES.iter().find(|(known, _)| *known == name) else { return uses };
    let args = &words[1..];
    let (operands, flags) = split(args);
    uses.maybe_reads = hidden_files(&flags);
    match shape {
        Shape::Read => {
            uses.reads = operands;
            if name == "sort" {
                uses.writes.extend(value_of(args, 'o', "output"));
                uses.needs_leave = !uses.writes.is_empty();
            }
        }
        Shape::PatternRead | Shape::PatternTree => {
            pattern_read(name, *shape, words, part, &mut uses);
        }
        Shape::Tree => uses.trees = operands,
        Shape::List => uses.reads = if name == "find" { starts(args) } else { operands },
        Shape::Write => {
            uses.writes = operands;
            uses.plain_edit = name == "tee";
            uses.needs_leave = true;
        }
        Shape::Create => {
            uses.writes = operands;
            uses.plain_edit = matches!(name, "touch" | "mkdir");
        }
        Shape::CopyTo | Shape::Move => {
            copy(name, *shape, args, operands, &mut uses);
        }
        Shape::Remove => uses.removes = operands,
        Shape::ModeWrite => uses.writes = operands.into_iter().skip(1).collect(),
        Shape::Edit => {
            uses.reads = operands.clone();
            uses.writes = operands;
        }
        Shape::Dd => dd(args, &mut uses),
        Shape::Fetch => fetch(name, args, &operands, &mut uses),
        Shape::Git => {
            uses.reads = git_files(&operands);
            // It searches all that lies below, and prints what it finds.
            if operands.iter().any(|word| word.raw == "grep") {
                uses.trees = git_grep_trees(args);
            }
        }
    }
    uses
}

/// Words that are no options, and those that are.
fn split(args: &[Word]) -> (Vec<Word>, Vec<Word>) {
    let (mut operands, mut flags) = (Vec::new(), Vec::new());
    let mut only_operands = false;
    for word in args {
        let text = word.value().unwrap_or_default();
        if only_operands || !text.starts_with('-') || text == "-" {
            operands.push(word.clone());
        } else if text == "--" {
            only_operands = true;
        } else {
            flags.push(word.clone());
        }
    }
    (operands, flags)
}

/// Files that may hide in options: `--file=x`, `-fx`, `-Ix`.
fn hidden_files(flags: &[Word]) -> Vec<Word> {
    let mut out = Vec::new();
    for flag in flags {
        let Some(text) = flag.value() else { continue };
        if let Some((_, value)) = text.split_once('=') {
            out.push(Word::plain(value));
        } else if !text.starts_with("--") && text.len() > 2 {
            out.extend(text.char_indices().nth(2).map(|(i, _)| Word::plain(&text[i..])));
        }
    }
    out
}

/// The value of `-o X`, `-oX`, `--output X`, `--output=X`.
fn value_of(args: &[Word], short: char, long: &str) -> Option<Word> {
    for (i, word) in args.iter().enumerate() {
        let Some(text) = word.value() else { continue };
        if let Some(rest) = text.strip_prefix("--") {
            // Long options may be shortened: `--target-d=x`.
            let (name, value) = rest.split_once('=').map_or((rest, None), |(n, v)| (n, Some(v)));
            if name.len() >= 2 && long.starts_with(name) {
                return value.map(Word::plain).or_else(|| args.get(i + 1).cloned());
            }
        } else if let Some(cluster) = text.strip_prefix('-')
            && let Some(at) = cluster.find(short)
        {
            let rest = &cluster[at + short.len_utf8()..];
            return if rest.is_empty() {
                args.get(i + 1).cloned()
            } else {
                Some(Word::plain(rest))
            };
        }
    }
    None
}

fn pattern_read(name: &str, shape: Shape, words: &[Word], part: &Part, uses: &mut Uses) {
    let args = &words[1..];
    let (operands, flags) = split(args);
    let has = |short: char, long: &[&str]| {
        flags.iter().any(|flag| {
            let text = flag.value().unwrap_or_default();
            match text.strip_prefix("--") {
                Some(rest) => long.contains(&rest.split('=').next().unwrap_or(rest)),
                None => text.contains(short),
            }
        })
    };
    // Where the options are understood, the operands are exact.
    let paths = match readonly::looks(words, part) {
        Some(looks) => looks.paths,
        None => {
            let inline = has('e', &["regexp", "expression"]) || has('f', &["file", "from-file"]);
            operands.into_iter().skip(usize::from(!inline)).collect()
        }
    };
    if has('f', &["file", "from-file"]) {
        uses.maybe_reads.extend(value_of(args, 'f', "file"));
    }
    let recursive = match name {
        "grep" | "egrep" | "fgrep" => {
            has('r', &["recursive"]) || has('R', &["dereference-recursive"])
        }
        _ => shape == Shape::PatternTree,
    };
    if matches!(name, "sed" | "gsed" | "perl") && has('i', &["in-place"]) {
        uses.writes.clone_from(&paths);
        uses.needs_leave = true;
    }
    if recursive {
        uses.trees = if paths.is_empty() && !(part.piped && name != "grep") {
            vec![Word::plain(".")]
        } else {
            paths
        };
    } else {
        uses.reads = paths;
    }
}

/// The starting points of find.
fn starts(args: &[Word]) -> Vec<Word> {
    let paths: Vec<Word> = args
        .iter()
        .skip_while(|w| matches!(w.raw.as_str(), "-L" | "-H" | "-P"))
        .take_while(|w| {
            !w.value().is_some_and(|t| t.starts_with('-') || matches!(t.as_str(), "(" | "!"))
        })
        .cloned()
        .collect();
    if paths.is_empty() { vec![Word::plain(".")] } else { paths }
}

fn copy(name: &str, shape: Shape, args: &[Word], mut operands: Vec<Word>, uses: &mut Uses) {
    let remote = |word: &Word| {
        matches!(name, "scp" | "rsync")
            && word.value().is_some_and(|t| t.split('/').next().is_some_and(|h| h.contains(':')))
    };
    let folder = match name {
        "cp" | "mv" | "install" | "ln" | "gcp" | "gmv" => value_of(args, 't', "target-directory"),
        _ => None,
    };
    let target = match folder {
        Some(folder) => {
            operands.retain(|word| *word != folder);
            Some(folder)
        }
        // `ln -s x` links into the working directory.
        None if name == "ln" && operands.len() == 1 => Some(Word::plain(".")),
        None => operands.pop(),
    };
    operands.retain(|word| !remote(word));
    if shape == Shape::Move {
        uses.writes.clone_from(&operands);
    }
    uses.reads.clone_from(&operands);
    if matches!(name, "rsync" | "scp" | "cp" | "ditto" | "gcp") {
        let deep = args.iter().any(|w| {
            w.raw.starts_with('-') && !w.raw.starts_with("--") && w.raw.contains(['r', 'R', 'a'])
                || w.raw == "--recursive"
                || w.raw == "--archive"
        });
        if deep {
            uses.trees.clone_from(&operands);
        }
    }
    if let Some(target) = target.filter(|word| !remote(word)) {
        uses.into = Some((operands, target));
    }
    uses.plain_edit = matches!(name, "cp" | "mv");
    uses.needs_leave = true;
    // `cp -r x/. .` and `cp -rT x .` merge what is in `x`, whatever that is.
    let merges = |word: &Word| {
        word.value().is_some_and(|t| matches!(t.rsplit('/').next(), Some("." | "..")))
    };
    let whole = args.iter().any(|w| {
        w.value().is_some_and(|t| {
            (t.starts_with('-') && !t.starts_with("--") && t.contains('T'))
                || t.starts_with("--no-t")
        })
    });
    if uses.reads.iter().any(merges) || whole {
        uses.plain_edit = false;
        uses.writes.push(Word::unknown());
    }
}

fn dd(args: &[Word], uses: &mut Uses) {
    for word in args {
        let raw = &word.raw;
        if let Some(rest) = raw.strip_prefix("if=") {
            uses.reads.push(Word::parse(rest));
        } else if let Some(rest) = raw.strip_prefix("of=") {
            uses.writes.push(Word::parse(rest));
            uses.needs_leave = true;
        }
    }
}

fn fetch(name: &str, args: &[Word], operands: &[Word], uses: &mut Uses) {
    let outputs: &[(char, &str)] = match name {
        "curl" => &[('o', "output"), ('c', "cookie-jar"), ('D', "dump-header")],
        "wget" => &[('O', "output-document"), ('o', "output-file"), ('P', "directory-prefix")],
        _ => &[('o', "output")],
    };
    for (short, long) in outputs {
        if let Some(word) = value_of(args, *short, long)
            && word.raw != "-"
        {
            uses.writes.push(word);
            uses.needs_leave = true;
        }
    }
    let inputs: &[(char, &str)] = match name {
        "curl" => &[('T', "upload-file"), ('K', "config"), ('b', "cookie"), ('E', "cert")],
        _ => &[('i', "input-file")],
    };
    for (short, long) in inputs {
        uses.reads.extend(value_of(args, *short, long));
    }
    for word in args.iter().chain(operands) {
        let Some(text) = word.value() else { continue };
        for sign in ['@', '<'] {
            if let Some((_, file)) = text.split_once(sign) {
                uses.maybe_reads.push(Word::plain(file.split(';').next().unwrap_or(file)));
            }
        }
        for prefix in ["--post-file=", "--body-file=", "file://"] {
            uses.maybe_reads.extend(text.strip_prefix(prefix).map(Word::plain));
        }
    }
}

/// What may be files among a git command's words: also what follows a `:`.
fn git_files(operands: &[Word]) -> Vec<Word> {
    let message = |i: usize| i > 0 && matches!(operands[i - 1].raw.as_str(), "-m" | "--message");
    let mut out = Vec::new();
    // Words of commits and notes name no files.
    let sub = operands.first().map(|w| w.raw.as_str()).unwrap_or_default();
    if !matches!(
        sub,
        "show"
            | "diff"
            | "log"
            | "blame"
            | "grep"
            | "cat-file"
            | "annotate"
            | "archive"
            | "apply"
            | "difftool"
            | "whatchanged"
    ) {
        return out;
    }
    for (i, word) in operands.iter().enumerate().skip(1) {
        if message(i) {
            continue;
        }
        out.push(word.clone());
        if let Some(text) = word.value()
            && let Some((_, file)) = text.rsplit_once(':')
        {
            out.push(Word::plain(file));
        }
    }
    out
}

/// Where `git grep` searches: what it is told behind the pattern, or here.
fn git_grep_trees(args: &[Word]) -> Vec<Word> {
    let behind = args.iter().position(|word| word.raw == "--");
    match behind.map(|at| args[at + 1..].to_vec()) {
        Some(paths) if !paths.is_empty() => paths,
        _ => {
            let operands = split(args).0;
            let given = args.iter().any(|word| word.raw == "-e");
            let at = operands.iter().position(|word| word.raw == "grep").map_or(0, |at| at + 1);
            let rest: Vec<Word> = operands.into_iter().skip(at + usize::from(!given)).collect();
            // Revisions may be among them, and then all of them is searched.
            let only_paths = !rest.is_empty()
                && rest.iter().all(|word| word.value().is_some_and(|text| text.contains('/')));
            if only_paths { rest } else { vec![Word::plain(".")] }
        }
    }
}

/// Whether a sed command line may run or write something by its script.
pub(crate) fn wild_sed(args: &[Word]) -> bool {
    let (operands, flags) = split(args);
    if flags.iter().any(|w| w.raw.starts_with("-f") || w.raw.starts_with("--file")) {
        return true;
    }
    let inline = value_of(args, 'e', "expression");
    let script = inline.or_else(|| operands.first().cloned());
    !script.and_then(|word| word.value()).is_some_and(|text| sed::is_tame(&text))
}
