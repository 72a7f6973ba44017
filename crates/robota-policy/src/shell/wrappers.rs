//! Seeing through programs that run another command.

use super::parse::Part;
use super::word::{Piece, Word};
use super::wrappers_table::{RUN_STDIN, RUNNERS, SHELLS, TAILS, WRAPPERS, Wrapper};
use crate::glob::Ch;

/// What stands inside a wrapper.
#[derive(Debug, Clone)]
pub(crate) enum Inner {
    /// A command, given as words.
    Words(Vec<Word>),
    /// A script, given as text.
    Script(String),
    /// Something that cannot be known.
    Unknown,
}

/// A command as one kind of rule sees it.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) words: Vec<Word>,
    /// Allow rules may look at it too.
    pub(crate) covered: bool,
}

/// All that is seen of a command: itself, what its wrappers run, and scripts inside it.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) views: Vec<View>,
    pub(crate) scripts: Vec<String>,
    /// Something runs that cannot be known.
    pub(crate) unknown: bool,
}

/// More layers than this are not looked into.
const MAX_VIEWS: usize = 64;

/// The last part of a program's path.
pub(crate) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether the program is a shell.
pub(crate) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&base(program))
}

/// Looks through all wrappers of a command.
pub(crate) fn see(part: &Part) -> Seen {
    let mut seen = Seen::default();
    let mut todo = vec![View { words: part.words.clone(), covered: !part.hidden }];
    while let Some(view) = todo.pop() {
        if seen.views.len() >= MAX_VIEWS {
            seen.unknown = true;
            break;
        }
        // `time A=b rm x`: the keyword leaves the assignment to the shell.
        let assigned = view.words.iter().take_while(|w| is_assignment(&w.raw)).count();
        if assigned > 0 && assigned < view.words.len() {
            todo.push(View { words: view.words[assigned..].to_vec(), covered: false });
        }
        let (mut inner, transparent) = open(&view.words, part);
        if view.words.first().is_some_and(|word| is_reserved(&word.raw)) {
            inner.extend(wrapped(&view.words[1..]));
            inner.push(Inner::Unknown);
        }
        for inner in inner {
            match inner {
                Inner::Words(words) if !words.is_empty() => {
                    todo.push(View { words, covered: view.covered && transparent });
                }
                Inner::Words(_) => {}
                Inner::Script(text) => seen.scripts.push(text),
                Inner::Unknown => seen.unknown = true,
            }
        }
        seen.views.push(view);
    }
    let program = |view: &View| view.words.first().and_then(Word::value);
    let fed = |view: &View| program(view).is_some_and(|name| RUN_STDIN.contains(&base(&name)));
    // `echo 'rm x' | sh`: what is printed is what runs.
    if part.piped
        && seen.views.iter().any(|view| fed(view) || program(view).is_some_and(|p| is_shell(&p)))
    {
        for words in &part.upstream {
            if matches!(words.first().and_then(Word::value).as_deref(), Some("echo" | "printf")) {
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

/// What a command runs, and whether every kind of rule may look at it.
fn open(words: &[Word], part: &Part) -> (Vec<Inner>, bool) {
    let Some(program) = words.first().and_then(Word::value) else { return (Vec::new(), false) };
    let args = &words[1..];
    let name = base(&program);
    if is_shell(name) {
        return (shell(args, part), false);
    }
    match name {
        "eval" => (vec![joined(args)], false),
        "trap" => (args.first().map(script).into_iter().collect(), false),
        "su" | "script" | "runuser" => {
            let mut inner = wrapped(args);
            inner.extend(flag_value(args, 'c', &["command"]).as_ref().map(script));
            (inner, false)
        }
        "find" | "fd" | "fdfind" => (find(args), false),
        "xargs" => xargs(args),
        "ssh" => (ssh(args), false),
        "watch" => {
            let mut inner = wrapped(args);
            inner.push(joined(args));
            (inner, false)
        }
        // `command -v ls` looks a name up.
        "command"
            if args.first().is_some_and(|w| w.raw.starts_with("-v") || w.raw.starts_with("-V")) =>
        {
            (Vec::new(), false)
        }
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            Some(wrapper) => {
                // A script in an option; the option may as well belong to the inner command.
                let text = match name {
                    "flock" => flag_value(args, 'c', &["command"]),
                    "env" => flag_value(args, 'S', &["split-string"]),
                    _ => None,
                };
                let (mut inner, transparent) = match own_options(wrapper, args) {
                    Some(at) => (
                        vec![Inner::Words(args[at.min(args.len())..].to_vec())],
                        wrapper.transparent && program == name,
                    ),
                    None => (wrapped(args), false),
                };
                inner.extend(text.as_ref().map(script));
                (inner, transparent)
            }
            None if TAILS.contains(&name) => (wrapped(args), false),
            None => (runner(name, args), false),
        },
    }
}

/// What follows `docker run`, `npm exec` and the like.
fn runner(name: &str, args: &[Word]) -> Vec<Inner> {
    let Some((_, subs)) = RUNNERS.iter().find(|(known, _)| *known == name) else {
        return Vec::new();
    };
    let at = args.iter().position(|w| w.value().is_some_and(|text| subs.contains(&text.as_str())));
    let Some(at) = at else { return Vec::new() };
    let mut inner = wrapped(&args[at + 1..]);
    // A command may be given as one word.
    inner.extend(args[at + 1..].iter().filter(|w| w.raw.contains(' ')).map(script));
    inner
}

/// When a wrapper's options are not understood, every tail may be the command.
fn wrapped(args: &[Word]) -> Vec<Inner> {
    (0..args.len().min(24)).map(|i| Inner::Words(args[i..].to_vec())).collect()
}

/// How many words belong to the wrapper itself.
fn own_options(wrapper: &Wrapper, args: &[Word]) -> Option<usize> {
    let mut i = 0;
    let mut positional = wrapper.positional;
    while let Some(word) = args.get(i) {
        let Some(text) = word.literal() else {
            // A duration or a user may be unknown; an option may not.
            if positional > 0 && !word.may_be_flag() {
                positional -= 1;
                i += 1;
                continue;
            }
            return (positional == 0 && !word.may_be_flag()).then_some(i);
        };
        if text == "--" {
            return Some(i + 1 + positional);
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
            if wrapper.long_val.contains(&name) {
                i += if value.is_some() { 1 } else { 2 };
            } else if wrapper.long.contains(&name) {
                i += 1;
            } else {
                return None;
            }
            continue;
        }
        if let Some(cluster) = text.strip_prefix('-').filter(|c| !c.is_empty()) {
            if wrapper.name == "nice" && cluster.parse::<i32>().is_ok() {
                i += 1;
                continue;
            }
            i += cluster_len(cluster, wrapper.short, wrapper.short_val)?;
            continue;
        }
        if wrapper.assigns && is_assignment(&text) {
            i += 1;
            continue;
        }
        if positional > 0 {
            positional -= 1;
            i += 1;
            continue;
        }
        return Some(i);
    }
    Some(args.len())
}

/// How many words a cluster of short options takes; `None` for an unknown one.
pub(super) fn cluster_len(cluster: &str, short: &str, short_val: &str) -> Option<usize> {
    for (at, c) in cluster.char_indices() {
        if short_val.contains(c) {
            return Some(if at + c.len_utf8() < cluster.len() { 1 } else { 2 });
        }
        if !short.contains(c) {
            return None;
        }
    }
    Some(1)
}

/// Words of the language. Where a command should be, they begin something else.
pub(crate) fn is_reserved(raw: &str) -> bool {
    matches!(
        raw,
        "{" | "}"
            | "!"
            | "if"
            | "then"
            | "elif"
            | "else"
            | "fi"
            | "for"
            | "while"
            | "until"
            | "do"
            | "done"
            | "case"
            | "esac"
            | "select"
            | "function"
            | "[["
            | "]]"
            | "in"
            | "("
    )
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The value of `-c X`, `-cX`, `--command X` or `--command=X`.
fn flag_value(args: &[Word], short: char, long: &[&str]) -> Option<Word> {
    for (i, word) in args.iter().enumerate() {
        let Some(text) = word.value() else { continue };
        if let Some(name) = text.strip_prefix("--") {
            if let Some((name, value)) = name.split_once('=') {
                if long.contains(&name) {
                    return Some(Word::plain(value));
                }
            } else if long.contains(&name) {
                return args.get(i + 1).cloned();
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

fn script(word: &Word) -> Inner {
    word.value().map_or(Inner::Unknown, Inner::Script)
}

fn joined(words: &[Word]) -> Inner {
    let texts: Option<Vec<String>> = words.iter().map(Word::value).collect();
    match texts {
        Some(texts) => Inner::Script(texts.join(" ")),
        None => {
            // Partly known text: the program may be, so look at the words too.
            Inner::Unknown
        }
    }
}

fn shell(args: &[Word], part: &Part) -> Vec<Inner> {
    let mut i = 0;
    let mut inline = false;
    let mut stdin = false;
    while let Some(word) = args.get(i) {
        let Some(text) = word.value() else {
            return vec![Inner::Unknown];
        };
        if text == "--" {
            i += 1;
            break;
        }
        let Some(flags) = text.strip_prefix(['-', '+']).filter(|f| !f.is_empty()) else { break };
        if let Some(long) = text.strip_prefix("--") {
            i += if matches!(long, "rcfile" | "init-file") { 2 } else { 1 };
            continue;
        }
        inline |= flags.contains('c');
        stdin |= flags.contains('s');
        // `-o pipefail`, `-O extglob` take a word.
        i += 1 + flags.matches(['o', 'O']).count();
    }
    match (inline, args.get(i)) {
        (true, Some(word)) => vec![script(word)],
        (true, None) => vec![Inner::Unknown],
        (false, Some(_)) if !stdin => Vec::new(),
        (false, None)
            if args.len() == 1 && matches!(args[0].raw.as_str(), "--version" | "--help") =>
        {
            Vec::new()
        }
        _ => match &part.stdin {
            Some(word) => vec![script(word)],
            None => vec![Inner::Unknown],
        },
    }
}

/// The commands of `-exec … ;` and its kin.
fn find(args: &[Word]) -> Vec<Inner> {
    let mut inner = Vec::new();
    let mut i = 0;
    while i < args.len() {
        let text = args[i].value().unwrap_or_default();
        if matches!(
            text.as_str(),
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch"
        ) {
            let end = (i + 1..args.len())
                .find(|j| matches!(args[*j].value().as_deref(), Some(";" | "+")))
                .unwrap_or(args.len());
            let words = args[i + 1..end].iter().map(|word| match word.value() {
                Some(text) if text.contains("{}") => Word::of("{}", vec![Piece::Unknown]),
                _ => word.clone(),
            });
            inner.push(Inner::Words(words.collect()));
            i = end;
        }
        i += 1;
    }
    inner
}

fn xargs(args: &[Word]) -> (Vec<Inner>, bool) {
    // What is put in place of `{}` is as unknown as what a script is called with.
    let filled = |word: &Word| match word.value() {
        Some(text) if text.contains("{}") && text.contains(' ') => {
            Word::plain(&text.replace("{}", "$@"))
        }
        _ => word.clone(),
    };
    let args: &[Word] = &args.iter().map(filled).collect::<Vec<_>>();
    const BARE: Wrapper = Wrapper {
        name: "xargs",
        transparent: false,
        short: "0rtpxo",
        short_val: "nPLIEsdaiel",
        long: &["null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty"],
        long_val: &[
            "max-args",
            "max-procs",
            "max-lines",
            "replace",
            "eof",
            "max-chars",
            "delimiter",
            "arg-file",
        ],
        positional: 0,
        assigns: false,
    };
    let bare = args.first().is_some_and(|word| !word.may_be_flag());
    let Some(at) = own_options(&BARE, args) else {
        let mut inner = wrapped(args);
        for tail in &mut inner {
            if let Inner::Words(words) = tail {
                words.push(Word::unknown());
            }
        }
        return (inner, false);
    };
    let mut words = args[at.min(args.len())..].to_vec();
    if words.is_empty() {
        return (Vec::new(), false);
    }
    words.push(Word::unknown());
    (vec![Inner::Words(words)], bare)
}

/// The command that `xargs` runs, without what it appends, and whether names end with NUL;
/// `None` for options that change where they go.
pub(crate) fn fed(words: &[Word]) -> Option<(Vec<Word>, bool)> {
    let (first, args) = words.split_first()?;
    if first.literal()? != "xargs" {
        return None;
    }
    let mut nul = false;
    let mut i = 0;
    while let Some(text) = args.get(i).and_then(Word::literal) {
        match text.as_str() {
            "-0" | "--null" => nul = true,
            "-r" | "--no-run-if-empty" => {}
            "-n" | "-L" | "-P" if args.get(i + 1)?.literal()?.parse::<u16>().is_ok() => i += 1,
            flag if flag.starts_with('-') => return None,
            _ => break,
        }
        i += 1;
    }
    let inner = args[i..].to_vec();
    (!inner.is_empty()).then_some((inner, nul))
}

/// `ssh [options] host command…`: the rest is a script for the other side.
fn ssh(args: &[Word]) -> Vec<Inner> {
    const SSH: Wrapper = Wrapper {
        name: "ssh",
        transparent: false,
        short: "46AaCfGgKkMNnqsTtVvXxYy",
        short_val: "BbcDEeFIiJLlmOoPpQRSWw",
        long: &[],
        long_val: &[],
        positional: 1,
        assigns: false,
    };
    match own_options(&SSH, args) {
        Some(at) if at < args.len() => vec![joined(&args[at..])],
        Some(_) => Vec::new(),
        None => wrapped(args),
    }
}

/// The words as one text with unknown stretches.
pub(crate) fn holes(words: &[Word]) -> Vec<Ch> {
    let mut out = Vec::new();
    for (i, word) in words.iter().enumerate() {
        if i > 0 {
            out.push(Ch::Is(' '));
        }
        out.extend(word.holes());
    }
    out
}
