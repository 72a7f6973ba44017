//! Finds the commands that programs such as `env`, `xargs` and `sh -c` run.

pub(crate) use super::args::base;
use super::args::{Args, Given, known, prefix};
use super::{Arity, Effect, Program, Shape, Trait};
use crate::glob::Ch;
use crate::shell::Part;
use crate::shell::word::{Piece, Word, is_name};
use crate::words;

#[derive(Debug, Clone)]
pub(crate) enum Inner {
    Words(Vec<Word>),
    Script(String),
    Unknown,
}

#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) words: Vec<Word>,
    /// Allow rules apply to it too.
    pub(crate) covered: bool,
    /// The folder it runs in, where a wrapper chooses one.
    pub(crate) folder: Option<Word>,
    /// The command that a wrapper runs: a rule for the wrapper does not cover it.
    pub(crate) inner: Vec<Inner>,
}

/// The commands and scripts that one command runs: itself, the commands that its wrappers run (`env`,
/// `timeout`), and the scripts of shells inside it.
#[derive(Debug, Default)]
pub(crate) struct InnerCommands {
    pub(crate) views: Vec<View>,
    pub(crate) scripts: Vec<String>,
    pub(crate) unknown: bool,
}

const MAX_VIEWS: usize = 64;

const MAX_WORDS: usize = 2_000;

const MAX_TAILS: usize = 24;

fn folder_of(words: &[Word]) -> Option<Word> {
    let args = Args::parse(words).filter(|args| args.spec.shape == Shape::Command)?;
    args.options.into_iter().rev().find(|given| given.does(Effect::Folder))?.value
}

/// Returns whether the only purpose of a program is to run other commands.
fn is_wrapper(words: &[Word]) -> bool {
    Program::of(words).is_some_and(|program| match program.shape {
        Shape::Command | Shape::Script | Shape::Shell => true,
        Shape::Tails => !program.is(Trait::Own),
        _ => false,
    })
}

/// Returns the commands that all wrappers of a command run.
pub(crate) fn unwrap_all(part: &Part) -> InnerCommands {
    let mut seen = InnerCommands::default();
    let mut todo = vec![(part.words.clone(), !part.hidden, None)];
    let mut left = MAX_WORDS.max(part.words.len());
    while let Some((words, covered, folder)) = todo.pop() {
        let rest = left.checked_sub(words.len());
        left = rest.unwrap_or(0);
        if seen.views.len() >= MAX_VIEWS || rest.is_none() {
            seen.unknown = true;
            break;
        }
        // `time A=b rm x`: the keyword leaves the assignment to the shell.
        let assigned = words.iter().take_while(|word| is_assignment(word)).count();
        if assigned > 0 && assigned < words.len() {
            todo.push((words[assigned..].to_vec(), false, folder.clone()));
        }
        let (mut inner, clear) = open(&words, part);
        if words.first().and_then(Word::value).is_some_and(|word| words::has("reserved", &word)) {
            inner.extend(tails(&words[1..]));
            inner.push(Inner::Unknown);
        }
        let entered = folder_of(&words).or_else(|| folder.clone());
        for inner in &inner {
            match inner {
                Inner::Words(words) if !words.is_empty() => {
                    todo.push((words.clone(), covered && clear, entered.clone()));
                }
                Inner::Words(_) => {}
                Inner::Script(text) => seen.scripts.push(text.clone()),
                Inner::Unknown => seen.unknown = true,
            }
        }
        // Kept only for an unclear wrapper, so that a rule for the wrapper does not cover the
        // command.
        if clear || !is_wrapper(&words) {
            inner.clear();
        }
        seen.views.push(View { words, covered, folder, inner });
    }
    let is = |view: &View, test: fn(&Program) -> bool| Program::of(&view.words).is_some_and(test);
    let fed = |view: &View| is(view, |program| program.is(Trait::RunsInput));
    let shell = |view: &View| is(view, |program| program.shape == Shape::Shell);
    // `echo 'rm x' | sh`: what is printed is what runs.
    if part.piped && seen.views.iter().any(|view| fed(view) || shell(view)) {
        for words in &part.upstream {
            if Program::of(words).is_some_and(|program| program.is(Trait::Prints)) {
                let texts: Vec<String> = words[1..].iter().filter_map(Word::value).collect();
                seen.scripts.push(texts.join(" "));
            }
        }
    }
    if let Some(stdin) = &part.stdin
        && seen.views.iter().any(fed)
    {
        match stdin.value() {
            Some(text) => seen.scripts.push(text),
            None => seen.unknown = true,
        }
    }
    seen
}

/// Returns what a command runs, and whether every kind of rule applies to it.
fn open(words: &[Word], part: &Part) -> (Vec<Inner>, bool) {
    let Some(args) = Args::parse(words) else { return (Vec::new(), false) };
    let mut inner: Vec<Inner> = args.all().filter_map(option_script).collect();
    let commands = args.all().filter(|given| runs(given));
    inner.extend(commands.map(|given| Inner::Words(placed(&given.command))));
    let rest = words.get(1..).unwrap_or_default();
    let mut clear = false;
    match args.spec.shape {
        Shape::Shell => inner.extend(shell(&args, part)),
        // `command -v ls` looks up a name.
        Shape::Command if args.options.iter().any(|given| given.does(Effect::Query)) => {}
        Shape::Command if args.spec.is(Trait::Fills) => return fills(&args, rest, inner),
        Shape::Command => match command(&args) {
            Some(words) => {
                let plain = |given: &Given| given.does(Effect::Inert);
                clear = args.program.is(Trait::Clear) && args.options.iter().all(plain);
                // `flock file -c 'rm x'`
                if let [flag, text, ..] = words.as_slice()
                    && known(flag).as_deref() == Some("-c")
                {
                    inner.push(script(text));
                }
                inner.push(Inner::Words(words));
            }
            None => inner.extend(tails(rest)),
        },
        Shape::Script => {
            let texts = args.operands.get(args.spec.places..).unwrap_or_default();
            if args.spec.is(Trait::First) {
                inner.extend(texts.first().map(script));
            } else if !texts.is_empty() {
                inner.push(joined(texts));
            }
            if !args.is_clear() || args.spec.is(Trait::Rest) {
                inner.extend(tails(rest));
            }
        }
        Shape::Tails => {
            let from = args.sub.len().min(rest.len());
            let rest = &rest[from..];
            inner.extend(tails(rest));
            // A command may be given as one word.
            let has_blank = |word: &&Word| word.value().is_some_and(|text| text.contains(' '));
            inner.extend(rest.iter().filter(has_blank).map(script));
        }
        Shape::Reads if args.spec.is(Trait::Sources) => inner.extend(from_stdin(&args, part)),
        _ => {}
    }
    // A file that is called like a wrapper is another program.
    let same = words.first().and_then(Word::value).is_some_and(|program| program == args.name);
    (inner, clear && same)
}

fn runs(given: &Given) -> bool {
    given.opt.is_some_and(|opt| opt.arity == Arity::Command && opt.effect == Effect::Run)
        && !given.command.is_empty()
}

/// Returns the script or the command line that an option is given as one word.
fn option_script(given: &Given) -> Option<Inner> {
    let opt = given.opt.filter(|opt| opt.arity != Arity::Command)?;
    let value = given.value.as_ref()?;
    if opt.effect == Effect::Shell {
        return Some(script(value));
    }
    let text = value.value()?;
    // Most settings of ssh name no program.
    let names = opt.effect == Effect::Setting && text.to_lowercase().contains("command");
    (opt.effect == Effect::Run || names).then(|| {
        // `-o ProxyCommand=x`, `--checkpoint-action=exec=x`: what runs may follow a name.
        let from = text.find("exec=").map_or(0, |at| at + 5);
        let text = match text[from..].split_once('=') {
            Some((name, rest)) if name.chars().all(char::is_alphanumeric) => rest,
            _ => &text[from..],
        };
        Inner::Script(text.to_owned())
    })
}

/// Replaces `{}` by an unknown word.
fn placed(words: &[Word]) -> Vec<Word> {
    let place = |word: &Word| match word.value() {
        Some(text) if text.contains("{}") => Word::of("{}", vec![Piece::Unknown]),
        _ => word.clone(),
    };
    words.iter().map(place).collect()
}

/// Returns the command behind a wrapper's own words; `None` when they are not understood.
fn command(args: &Args) -> Option<Vec<Word>> {
    if !args.is_clear() {
        // A duration or a user may be unknown; an option may not.
        let unlisted = args.all().any(|given| given.opt.is_none());
        let first = args.operands.first().is_some_and(Word::may_be_flag);
        if unlisted || first || args.operands.is_empty() {
            return None;
        }
    }
    let mut rest = args.operands.as_slice();
    if args.program.is(Trait::Assigns) {
        let assigned = rest.iter().take_while(|word| is_assignment(word)).count();
        rest = &rest[assigned..];
    }
    Some(rest.get(args.spec.places..).unwrap_or_default().to_vec())
}

/// Returns every tail of the words as a possible command, for a wrapper whose options are not
/// understood.
pub(crate) fn tails(words: &[Word]) -> Vec<Inner> {
    // Limited, because the number of tails times their length grows quadratically.
    let most = if words.len() > MAX_WORDS / MAX_TAILS { 4 } else { MAX_TAILS };
    let mut out: Vec<Inner> =
        (0..words.len().min(most)).map(|i| Inner::Words(words[i..].to_vec())).collect();
    if words.len() > most {
        out.push(Inner::Unknown);
    }
    out
}

fn is_assignment(word: &Word) -> bool {
    prefix(word)
        .0
        .split_once('=')
        .is_some_and(|(name, _)| is_name(name.strip_suffix('+').unwrap_or(name)))
}

fn script(word: &Word) -> Inner {
    word.value().map_or(Inner::Unknown, Inner::Script)
}

fn joined(words: &[Word]) -> Inner {
    let texts: Option<Vec<String>> = words.iter().map(Word::value).collect();
    texts.map_or(Inner::Unknown, |texts| Inner::Script(texts.join(" ")))
}

/// Returns whether a word names the standard input of the program that opens it.
fn is_stdin(word: &Word) -> bool {
    known(word).is_some_and(|text| {
        matches!(text.as_str(), "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
    })
}

fn from_stdin(args: &Args, part: &Part) -> Option<Inner> {
    let first = args.operands.first()?;
    if first.has_unknown() {
        return Some(Inner::Unknown);
    }
    is_stdin(first).then(|| part.stdin.as_ref().map_or(Inner::Unknown, script))
}

fn shell(args: &Args, part: &Part) -> Option<Inner> {
    let has = |name: &str| args.has_any(&[name]);
    if args.open {
        return Some(Inner::Unknown);
    }
    match args.operands.first() {
        first if has("-c") => Some(first.map_or(Inner::Unknown, script)),
        Some(file) if !has("-s") && !is_stdin(file) && !file.has_unknown() => None,
        None if has("--version") || has("--help") => None,
        Some(file) if file.has_unknown() => Some(Inner::Unknown),
        _ => Some(part.stdin.as_ref().map_or(Inner::Unknown, script)),
    }
}

fn fills(args: &Args, rest: &[Word], mut inner: Vec<Inner>) -> (Vec<Inner>, bool) {
    // What is put in place of `{}` is as unknown as what a script is called with.
    let filled = |word: &Word| match word.value() {
        Some(text) if text.contains("{}") && text.contains(' ') => {
            Word::plain(&text.replace("{}", "$@"))
        }
        _ => word.clone(),
    };
    let appended = |words: &[Word]| {
        let mut words: Vec<Word> = words.iter().map(filled).collect();
        words.push(Word::unknown());
        Inner::Words(words)
    };
    match command(args) {
        Some(words) if words.is_empty() => {}
        Some(words) => inner.push(appended(&words)),
        None => {
            for tail in tails(rest) {
                if let Inner::Words(words) = tail {
                    inner.push(appended(&words));
                }
            }
        }
    }
    // Options change what is appended, so rules for the command apply only without them.
    (inner, args.options.is_empty() && !args.open)
}

/// A command that `xargs` runs with names that another command lists.
#[derive(Default)]
pub(crate) struct Fed {
    pub(crate) words: Vec<Word>,
    pub(crate) nul: bool,
    pub(crate) lines: bool,
    /// The placeholder for a name, where names are not appended.
    pub(crate) place: Option<String>,
}

/// Returns the command that `xargs` runs; `None` for options about more than the number of names.
pub(crate) fn fed(words: &[Word]) -> Option<Fed> {
    let args =
        Args::parse(words).filter(|args| args.program.is(Trait::Fills) && args.is_clear())?;
    if known(words.first()?)? != args.name {
        return None;
    }
    let mut out = Fed { words: args.operands.clone(), ..Fed::default() };
    for given in &args.options {
        match given.name.as_str() {
            "-0" | "--null" => out.nul = true,
            "-r" | "--no-run-if-empty" | "-t" | "--verbose" | "-x" | "--exit" => {}
            "-n" | "-P" | "-s" | "--max-args" | "--max-procs" | "--max-chars" | "-L" => {
                known(given.value.as_ref()?)?.parse::<u32>().ok()?;
            }
            "-l" | "--max-lines" => {}
            "-I" | "-i" | "--replace" => {
                out.lines = true;
                let place = given.value.as_ref().map_or(Some("{}".to_owned()), known)?;
                out.place = Some(place);
            }
            "-d" | "--delimiter" => match known(given.value.as_ref()?)?.as_str() {
                "\\n" | "\n" => out.lines = true,
                "\\0" => out.nul = true,
                _ => return None,
            },
            _ => return None,
        }
    }
    (!out.words.is_empty()).then_some(out)
}

/// Replaces everything after this many words by one unknown stretch.
const MAX_HOLES: usize = 200;

pub(crate) fn holes(words: &[Word]) -> Vec<Ch> {
    let mut out = Vec::new();
    for (i, word) in words.iter().enumerate() {
        if i > MAX_HOLES {
            out.push(Ch::Any);
            break;
        }
        if i > 0 {
            out.push(Ch::Is(' '));
        }
        out.extend(word.holes());
    }
    out
}
