//! Programs whose words have a grammar of their own, where options and operands are not enough.

use robota_core::redact::is_secret_variable;

use super::args::{Args, known};
use super::read_only::{Reads, glob_folder, indexes};
use super::{Effect, Shape};
use crate::shell::word::Word;
use crate::shell::{Part, RedirectKind, bomb, builtins};

/// What such a command reads: `Some(None)` when it is not proven to only read, `None` when the
/// command is none of these.
pub(super) fn reads(args: &Args, words: &[Word], part: &Part) -> Option<Option<Reads>> {
    let operands = args.operands.as_slice();
    let free = |fine: bool| Some(fine.then(Reads::default));
    match args.name.as_str() {
        "cd" | "pushd" | "popd" => Some(folder(args)),
        "find" | "gfind" => Some(find(args)),
        "sleep" => free(bomb::short_sleep(words)),
        "echo" | "true" | "false" | ":" => Some(Some(shown(words))),
        "printf" => Some(printf(words).then(|| shown(words))),
        "seq" => free(args.is_clear() && bomb::short_count(operands)),
        // A dump of all variables asks, and so do those with the names of secrets.
        "printenv" => {
            let plain = |word: &Word| known(word).is_some_and(|name| !is_secret_variable(&name));
            if !operands.is_empty() && operands.iter().all(plain) { None } else { free(false) }
        }
        "date" | "gdate" => {
            let format = |word: &Word| {
                known(word).is_some_and(|text| text.starts_with('+') && bomb::narrow(&text))
            };
            if operands.iter().all(format) { None } else { free(false) }
        }
        "test" | "[" => {
            let plain = words.iter().all(|word| {
                !matches!(known(word).as_deref(), Some("-v" | "-R"))
                    && !word.has_unknown()
                    && !indexes(word)
            });
            Some(plain.then(|| shown(words)))
        }
        "command" => {
            let asks = args.options.iter().any(|given| matches!(given.name.as_str(), "-v" | "-V"));
            free(asks && args.is_clear() && operands.iter().all(|word| !word.has_unknown()))
        }
        // It may name array elements.
        "type" | "hash" => free(
            args.name == "type" && args.is_clear() && operands.iter().all(|w| known(w).is_some()),
        ),
        // `ps e` shows other programs' variables.
        "ps" => {
            let bsd = |word: &Word| known(word).is_some_and(|text| !text.contains('e'));
            if operands.iter().all(bsd) { None } else { free(false) }
        }
        // Without an input it waits for one.
        "read" => {
            let fed = part.piped
                || part.stdin.is_some()
                || part.redirects.iter().any(|r| r.kind == RedirectKind::Read);
            free(fed && builtins::reads_lines(words))
        }
        "set" => free(!words.is_empty() && words.iter().all(harmless_set)),
        "exit" | "break" | "continue" | "return" | "shift" => free(match words {
            [] => true,
            [code] => known(code).is_some_and(|code| code.parse::<u8>().is_ok() || code == "$?"),
            _ => false,
        }),
        "tar" | "bsdtar" | "gtar" | "unzip" => Some(archive(&args.name, words)),
        // It prints what it decompresses only with such an option.
        "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "lzma" | "unlzma" | "zstd"
        | "unzstd" => {
            let prints = |name: &str| {
                matches!(
                    name,
                    "-c" | "--stdout" | "--to-stdout" | "-l" | "--list" | "-t" | "--test"
                )
            };
            let piped = operands.is_empty();
            let asked = args.options.iter().any(|given| prints(&given.name));
            if asked || piped { None } else { free(false) }
        }
        "top" | "htop" => {
            let batch = args.options.iter().any(|given| given.name == "-b");
            let count = args.options.iter().any(|given| given.name == "-n");
            if args.name == "top" && batch && count { None } else { free(false) }
        }
        // Alone they show what is set.
        "alias" | "history" => free(words.is_empty()),
        "tput" => {
            let asks = |word: &Word| {
                matches!(known(word).as_deref(), Some("cols" | "lines" | "colors" | "longname"))
            };
            free(args.is_clear() && !operands.is_empty() && operands.iter().all(asks))
        }
        _ => None,
    }
}

/// Words that are printed: those with a glob show the names in a folder.
fn shown(words: &[Word]) -> Reads {
    Reads { paths: words.iter().filter_map(glob_folder).collect(), ..Reads::default() }
}

fn folder(args: &Args) -> Option<Reads> {
    if args.name != "cd" || !args.is_clear() {
        return None;
    }
    let paths = match args.operands.as_slice() {
        [] => vec![Word::parse("~")],
        [one] if known(one).as_deref() != Some("-") => vec![one.clone()],
        _ => return None,
    };
    Some(Reads { paths, ..Reads::default() })
}

fn find(args: &Args) -> Option<Reads> {
    if !args.is_clear() {
        return None;
    }
    let mut reads = Reads { paths: args.operands.clone(), ..Reads::default() };
    for given in &args.options {
        match given.opt?.effect {
            Effect::Inert => {}
            Effect::Width => {
                let value = given.value.as_ref().and_then(known)?;
                bomb::narrow(&value).then_some(())?;
            }
            Effect::Read => reads.paths.extend(given.value.clone()),
            Effect::Links => reads.follows = true,
            _ => return None,
        }
    }
    debug_assert!(args.spec.shape == Shape::Find);
    Some(reads)
}

/// `%n` assigns a variable, and an array element can run a command; `-v` assigns one too.
fn printf(words: &[Word]) -> bool {
    let Some(format) = words.first().and_then(known) else { return false };
    if format.starts_with('-') && format != "--" {
        return format.starts_with("--") || !format.starts_with("-v");
    }
    let format =
        if format == "--" { words.get(1).and_then(known).unwrap_or_default() } else { format };
    let plain = format.replace("%%", "");
    let conversions = plain.split('%').skip(1).all(|part| {
        let conversion =
            part.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #.*'lhjztL".contains(c));
        !conversion.starts_with('n')
    });
    conversions && bomb::narrow(&format) && !format.contains('*')
}

/// `set -euo pipefail` makes a script stricter; other options change what words mean.
fn harmless_set(word: &Word) -> bool {
    let Some(text) = known(word) else { return false };
    match text.strip_prefix(['-', '+']) {
        Some(letters) => !letters.is_empty() && letters.chars().all(|c| "euxo".contains(c)),
        None => matches!(text.as_str(), "pipefail" | "errexit" | "nounset" | "xtrace"),
    }
}

/// The listing of an archive. A colon in its name would make tar connect to another machine.
fn archive(program: &str, words: &[Word]) -> Option<Reads> {
    let (flags, rest) = words.split_first()?;
    let flags = known(flags)?;
    let letters = flags.trim_start_matches('-');
    let lists = match program {
        "unzip" => matches!(flags.as_str(), "-l" | "-v" | "-Z" | "-Z1"),
        _ => {
            let (mut list, mut file) = (false, false);
            for c in letters.chars() {
                match c {
                    't' => list = true,
                    'f' if !file => file = true,
                    'v' | 'z' | 'j' | 'J' => {}
                    _ => return None,
                }
            }
            // The file's name follows at once.
            list && file && (letters.ends_with('f') || !flags.starts_with('-'))
        }
    };
    let plain =
        |word: &Word| known(word).is_some_and(|text| !text.starts_with('-') && !text.contains(':'));
    let file = rest.first()?;
    (lists && rest.iter().all(plain))
        .then(|| Reads { paths: vec![file.clone()], ..Reads::default() })
}
