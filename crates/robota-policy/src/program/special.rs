//! Proves commands whose words have a grammar of their own, for which options and operands are not
//! enough.

use robota_core::redact::is_secret_variable;

use super::args::{Args, known};
use super::read_only::{Reads, glob_folder, indexes};
use super::{Effect, Proof};
use crate::shell::word::Word;
use crate::shell::{Part, RedirectKind, bomb, vars};

/// Returns what such a command reads: `Some(None)` when it is not proven to only read, `None` when
/// options and operands are enough.
pub(super) fn reads(args: &Args, words: &[Word], part: &Part) -> Option<Option<Reads>> {
    let operands = args.operands.as_slice();
    let free = |fine: bool| Some(fine.then(Reads::default));
    // What must hold besides what options and operands prove.
    let only_if = |fine: bool| if fine { None } else { Some(None) };
    let all =
        |test: &dyn Fn(&str) -> bool| operands.iter().all(|w| known(w).is_some_and(|t| test(&t)));
    match args.program.proof? {
        Proof::Never => Some(None),
        Proof::Enter => Some(folder(args)),
        Proof::Find => Some(find(args)),
        Proof::Wait => free(bomb::short_sleep(words)),
        Proof::Shown => Some(Some(shown(words))),
        Proof::Printf => Some(printf(words).then(|| shown(words))),
        Proof::Count => free(args.is_clear() && bomb::short_count(operands)),
        // A dump of all variables asks, and so do those with the names of secrets.
        Proof::Public => only_if(!operands.is_empty() && all(&|name| !is_secret_variable(name))),
        Proof::Date => only_if(all(&|text| text.starts_with('+') && bomb::narrow(text))),
        Proof::Test => {
            // These take names of variables, and the index of an array element is evaluated.
            let plain = words.iter().all(|word| {
                !matches!(known(word).as_deref(), Some("-v" | "-R"))
                    && !word.has_unknown()
                    && !indexes(word)
            });
            Some(plain.then(|| shown(words)))
        }
        Proof::Lookup => {
            let plain = operands.iter().all(|word| !word.has_unknown());
            free(args.has(Effect::Query) && args.is_clear() && plain)
        }
        // It may name array elements.
        Proof::Known => free(args.is_clear() && all(&|_| true)),
        // `ps e` shows other programs' variables.
        Proof::Bsd => only_if(all(&|text| !text.contains('e'))),
        // Without an input it waits for one.
        Proof::Lines => {
            let fed = part.piped
                || part.stdin.is_some()
                || part.redirects.iter().any(|r| r.kind == RedirectKind::Read);
            free(fed && vars::reads_lines(words))
        }
        Proof::Strict => free(!words.is_empty() && words.iter().all(harmless_set)),
        Proof::Code => free(match words {
            [] => true,
            [code] => known(code).is_some_and(|code| code.parse::<u8>().is_ok() || code == "$?"),
            _ => false,
        }),
        Proof::Listing => Some(archive(words, |flags| {
            let letters = flags.trim_start_matches('-');
            // The file's name follows at once.
            letters.contains('t')
                && letters.matches('f').count() == 1
                && letters.chars().all(|c| "tfvzjJ".contains(c))
                && (letters.ends_with('f') || !flags.starts_with('-'))
        })),
        Proof::Unzip => Some(archive(words, |flags| matches!(flags, "-l" | "-v" | "-Z" | "-Z1"))),
        // It prints what it decompresses only with such an option.
        Proof::Pipe => {
            let prints = ["-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test"];
            only_if(args.has_any(&prints) || operands.is_empty())
        }
        // Without both it is interactive or never ends.
        Proof::Batch => only_if(args.has_any(&["-b"]) && args.has_any(&["-n"])),
        // Alone they show what is set.
        Proof::Alone => free(words.is_empty()),
        Proof::Screen => {
            let asks = |text: &str| matches!(text, "cols" | "lines" | "colors" | "longname");
            free(args.is_clear() && !operands.is_empty() && all(&asks))
        }
    }
}

/// Words that are printed: those with a glob show the names in a folder.
fn shown(words: &[Word]) -> Reads {
    Reads { paths: words.iter().filter_map(glob_folder).collect(), ..Reads::default() }
}

fn folder(args: &Args) -> Option<Reads> {
    let paths = match args.operands.as_slice() {
        [] => vec![Word::parse("~")],
        // Where `-` leads is not known.
        [one] if known(one).as_deref() != Some("-") => vec![one.clone()],
        _ => return None,
    };
    args.is_clear().then(|| Reads { paths, ..Reads::default() })
}

fn find(args: &Args) -> Option<Reads> {
    args.is_clear().then_some(())?;
    let mut reads = Reads { paths: args.operands.clone(), ..Reads::default() };
    for given in &args.options {
        match given.opt?.effect {
            Effect::Inert | Effect::Narrow => {}
            Effect::Width => bomb::narrow(&given.known()?).then_some(())?,
            Effect::Read => reads.paths.extend(given.value.clone()),
            Effect::Links => reads.follows = true,
            _ => return None,
        }
    }
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

/// Returns the listing of an archive. A colon in its name would make tar connect to another
/// machine.
fn archive(words: &[Word], lists: impl Fn(&str) -> bool) -> Option<Reads> {
    let (flags, rest) = words.split_first()?;
    let plain =
        |word: &Word| known(word).is_some_and(|text| !text.starts_with('-') && !text.contains(':'));
    let file = rest.first()?;
    (lists(&known(flags)?) && rest.iter().all(plain))
        .then(|| Reads { paths: vec![file.clone()], ..Reads::default() })
}
