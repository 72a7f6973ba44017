//! The format of the data: an entry begins at the start of a line with the program's names, its
//! shape (`@reads`) and its traits (`+free`); lines below it hold its options. `>remote` names a
//! subcommand whose next word selects what it does, `=config` one of which "always" saves only the
//! exact command.
//!
//! ```text
//! head  @reads +free +gnu +digits
//!   -qvz -nc: --lines= --quiet --files0-from=other
//!   .sub  @text +free          a subcommand, with options of its own below it
//!     %common                  the tokens of `%common = …`
//! ```
//!
//! A short option is one letter, several may share a dash. After the names comes what follows
//! them: nothing, `:` or `=` for a value, `?` for a value in the same word, `;` for a command,
//! `=2` for a name and a value; then the effect. An option without a value has its effect behind a `!`.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Arity, Effect, FAMILIES, Opt, Program, Shape};

/// The entries of a family.
pub(super) fn entries(family: &'static str) -> impl Iterator<Item = &'static str> {
    let mut rest = family;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(|c: char| !c.is_whitespace())?;
            rest = &rest[start..];
            let end = rest
                .match_indices('\n')
                .map(|(at, _)| at + 1)
                .find(|at| rest[*at..].starts_with(|c: char| !c.is_whitespace()));
            let (entry, after) = rest.split_at(end.unwrap_or(rest.len()));
            rest = after;
            if !entry.starts_with(['#', '%']) {
                return Some(entry);
            }
            if rest.is_empty() {
                return None;
            }
        }
    })
}

/// The names of an entry.
pub(super) fn names(entry: &'static str) -> impl Iterator<Item = &'static str> {
    let head = entry.lines().next().unwrap_or_default();
    head.split_whitespace().take_while(|word| !word.starts_with(['@', '+']))
}

/// Lists of tokens that several entries share.
static SHARED: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let mut shared = HashMap::new();
    for family in FAMILIES {
        let mut name = None;
        for line in family.lines() {
            if let Some((head, tokens)) = line.split_once('=').filter(|_| line.starts_with('%')) {
                name = Some(head.trim());
                shared.insert(head.trim(), tokens);
            } else if !line.starts_with(char::is_whitespace) {
                name = None;
            }
            debug_assert!(name.is_none() || line.starts_with('%'), "{line}: one line each");
        }
    }
    shared
});

/// Reads one entry.
pub(super) fn program(entry: &'static str) -> Program {
    let mut lines = entry.lines();
    let mut whole = head(lines.next().unwrap_or_default());
    for line in lines {
        let line = line.trim();
        let line = line.split_once(" #").map_or(line, |(before, _)| before);
        if let Some(sub) = line.strip_prefix('.') {
            let mut sub = head(sub);
            sub.short_longs |= whole.short_longs;
            sub.single |= whole.single;
            whole.subs.push(sub);
            continue;
        }
        let single = whole.single;
        let at = whole.subs.last_mut().map_or(&mut whole.options, |sub| &mut sub.options);
        tokens(line, single, at);
    }
    // Of `remote` and `remote get-url` the longer one is used where both match.
    whole.subs.sort_by_key(|sub| std::cmp::Reverse(sub.names.len()));
    whole
}

fn head(line: &'static str) -> Program {
    let mut out = Program {
        names: Vec::new(),
        shape: Shape::Any,
        free: false,
        clear: false,
        short_longs: false,
        posix: false,
        single: false,
        digits: false,
        assigns: false,
        runs_input: false,
        names_input: false,
        inert: false,
        breaks: false,
        redefines: false,
        plain_edit: false,
        broad: false,
        danger: false,
        may_write: false,
        interprets: false,
        has_targets: false,
        groups: Vec::new(),
        exact: Vec::new(),
        options: Vec::new(),
        subs: Vec::new(),
    };
    for word in line.split_whitespace() {
        if let Some(name) = word.strip_prefix('@') {
            out.shape = shape(name);
        } else if let Some(name) = word.strip_prefix('+') {
            match name {
                "free" => out.free = true,
                "clear" => out.clear = true,
                "gnu" => out.short_longs = true,
                "posix" => out.posix = true,
                "single" => out.single = true,
                "digits" => out.digits = true,
                "assigns" => out.assigns = true,
                "stdin" => out.runs_input = true,
                "names" => out.names_input = true,
                "inert" => out.inert = true,
                "breaks" => out.breaks = true,
                "redefines" => out.redefines = true,
                "edit" => out.plain_edit = true,
                "broad" => out.broad = true,
                "danger" => out.danger = true,
                "writes" => out.may_write = true,
                "code" => out.interprets = true,
                "targets" => out.has_targets = true,
                other => debug_assert!(false, "{line}: unknown trait {other}"),
            }
        } else if let Some(group) = word.strip_prefix('>') {
            out.groups.push(group);
        } else if let Some(name) = word.strip_prefix('=') {
            out.exact.push(name);
        } else {
            out.names.push(word);
        }
    }
    out
}

fn shape(name: &str) -> Shape {
    match name {
        "any" => Shape::Any,
        "text" => Shape::Text,
        "none" => Shape::Nothing,
        "reads" => Shape::Reads,
        "one" => Shape::One,
        "names" => Shape::Names,
        "facts" => Shape::Facts,
        "trees" => Shape::Trees,
        "pattern" => Shape::Pattern,
        "patterntrees" => Shape::PatternTrees,
        "writes" => Shape::Writes,
        "creates" => Shape::Creates,
        "edits" => Shape::Edits,
        "copies" => Shape::Copies,
        "moves" => Shape::Moves,
        "removes" => Shape::Removes,
        "modes" => Shape::Modes,
        "fetches" => Shape::Fetches,
        "revisions" => Shape::Revisions,
        "query" => Shape::Query,
        "command" => Shape::Command(0),
        "command1" => Shape::Command(1),
        "tails" => Shape::Tails,
        "script" => Shape::Script(0),
        "script1" => Shape::Script(1),
        "shell" => Shape::Shell,
        "code" => Shape::Code,
        "sub" => Shape::Sub,
        "find" => Shape::Find,
        other => {
            debug_assert!(false, "unknown shape {other}");
            Shape::Any
        }
    }
}

fn tokens(line: &'static str, single: bool, out: &mut Vec<Opt>) {
    for token in line.split_whitespace() {
        if token.starts_with('%') {
            let shared = SHARED.get(token).copied().unwrap_or_default();
            debug_assert!(!shared.is_empty(), "unknown list {token}");
            tokens(shared, single, out);
            continue;
        }
        // A dash alone, and brackets, are options of some programs.
        let body =
            token.char_indices().skip(1).find(|(_, c)| matches!(c, ':' | '=' | '?' | ';' | '!'));
        let (name, arity, effect) = match body {
            Some((at, mark)) => {
                let rest = &token[at + 1..];
                let (arity, rest) = match mark {
                    '!' => (Arity::None, rest),
                    '?' => (Arity::Attached, rest),
                    ';' => (Arity::Command, rest),
                    _ => match rest.strip_prefix('2') {
                        Some(rest) => (Arity::Pair, rest),
                        None => (Arity::Required, rest),
                    },
                };
                (&token[..at], arity, effect(rest))
            }
            None => (token, Arity::None, Effect::Inert),
        };
        if single || name.starts_with("--") || !name.starts_with('-') || name.len() == 1 {
            out.push(Opt { name, arity, effect });
        } else {
            let letters = &name[1..];
            out.extend(letters.char_indices().map(|(at, c)| Opt {
                name: short(&letters[at..at + c.len_utf8()]),
                arity,
                effect,
            }));
        }
    }
}

/// `n` with its dash. All letters share one text.
fn short(letter: &'static str) -> &'static str {
    const ALL: &str = "-a-b-c-d-e-f-g-h-i-j-k-l-m-n-o-p-q-r-s-t-u-v-w-x-y-z\
                       -A-B-C-D-E-F-G-H-I-J-K-L-M-N-O-P-Q-R-S-T-U-V-W-X-Y-Z\
                       -0-1-2-3-4-5-6-7-8-9-.-,-@-^-$-*-+-#-/-_-~-%";
    let at = ALL.find(letter).and_then(|at| at.checked_sub(1));
    at.and_then(|at| ALL.get(at..at + 2)).unwrap_or("-")
}

fn effect(name: &str) -> Effect {
    match name {
        "" => Effect::Inert,
        "n" => Effect::Width,
        "fmt" => Effect::Format,
        "r" => Effect::Read,
        "ln" => Effect::Lines,
        "w" => Effect::Write,
        "d" => Effect::Folder,
        "x" => Effect::Run,
        "sh" => Effect::Shell,
        "l" => Effect::Load,
        "p" => Effect::Pattern,
        "s" => Effect::Script,
        "f" => Effect::ScriptFile,
        "m" => Effect::Message,
        "deep" => Effect::Deep,
        "links" => Effect::Links,
        "rm" => Effect::Remove,
        "i" => Effect::InPlace,
        "q" => Effect::Query,
        "v" => Effect::Version,
        "X" => Effect::Danger,
        "o" => Effect::Other,
        other => {
            debug_assert!(false, "unknown effect {other}");
            Effect::Other
        }
    }
}
