//! The format of the data: an entry begins at the start of a line with the program's names, its
//! shape (`@reads`), its traits (`+free`), how it is proven that it only reads (`&find`), the
//! language of its scripts (`~sed`), how it lists files (`^find`) and files that choose which program
//! runs (`<rust-toolchain`). `>remote` names a subcommand whose next word selects what it does,
//! `=test` and `=pr/view` one of which "always" saves a rule for any further words; of all others it
//! saves the exact command. Lines below have its options.
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

use super::{Arity, Effect, FAMILIES, Language, Lists, Opt, Program, Proof, Shape, Trait};

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

pub(super) fn names(entry: &'static str) -> impl Iterator<Item = &'static str> {
    let head = entry.lines().next().unwrap_or_default();
    head.split_whitespace().take_while(|word| !word.starts_with(['@', '+']))
}

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

pub(super) fn program(entry: &'static str) -> Program {
    let mut lines = entry.lines();
    let mut whole = head(lines.next().unwrap_or_default());
    for line in lines {
        let line = line.trim();
        let line = line.split_once(" #").map_or(line, |(before, _)| before);
        if let Some(sub) = line.strip_prefix('.') {
            let mut sub = head(sub);
            // How options are written is the same for all subcommands of a program.
            let inherited = [Trait::Gnu, Trait::Single].into_iter();
            sub.traits.extend(inherited.filter(|inherited| whole.is(*inherited)));
            whole.subs.push(sub);
            continue;
        }
        let single = whole.is(Trait::Single);
        let at = whole.subs.last_mut().map_or(&mut whole.options, |sub| &mut sub.options);
        tokens(line, single, at);
    }
    // Of `remote` and `remote get-url` the longer one is used where both match.
    whole.subs.sort_by_key(|sub| std::cmp::Reverse(sub.names.len()));
    whole
}

fn head(line: &'static str) -> Program {
    let mut out = Program::default();
    for word in line.split_whitespace() {
        let (mark, name) = word.split_at(1);
        let known = match mark {
            "@" => {
                let bare = name.trim_end_matches('1');
                out.places = name.len() - bare.len();
                Shape::named(bare).map(|shape| out.shape = shape)
            }
            "+" => Trait::named(name).map(|known| out.traits.push(known)),
            "&" => Proof::named(name).map(|proof| out.proof = Some(proof)),
            "~" => Language::named(name).map(|language| out.language = Some(language)),
            "^" => Lists::named(name).map(|lists| out.lists = Some(lists)),
            _ => {
                let (list, name) = match mark {
                    "<" => (&mut out.chosen_by, name),
                    ">" => (&mut out.groups, name),
                    "=" => (&mut out.prefixes, name),
                    _ => (&mut out.names, word),
                };
                list.push(name);
                Some(())
            }
        };
        debug_assert!(known.is_some(), "{line}: `{word}` is not known");
    }
    out
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
    let known = Effect::named(name);
    debug_assert!(known.is_some(), "unknown effect {name}");
    known.unwrap_or(Effect::Other)
}
