//! Commands proven to look and nothing else.

use super::parse::{Part, RedirectKind};
use super::readonly_table::{Operands, SPECS, Spec, VERSIONS};
use super::word::Word;
use super::{awk, bomb, readonly_git, sed};

/// What a command that only looks is known to read.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    /// Files and folders.
    pub(crate) paths: Vec<Word>,
    /// It must run where the workspace is: it obeys files of the folder it runs in.
    pub(crate) fixed_cwd: bool,
    /// Its operands may be revisions as well as files.
    pub(crate) revisions: bool,
}

/// What the words read, when they are proven to do nothing else.
pub(crate) fn looks(words: &[Word], part: &Part) -> Option<Looks> {
    if part.is_test {
        return Some(Looks::default());
    }
    let program = words.first()?.literal()?;
    let args = &words[1..];
    if let Some((_, flags)) = VERSIONS.iter().find(|(name, _)| *name == program)
        && let [only] = args
        && only.literal().is_some_and(|text| flags.contains(&text.as_str()))
    {
        return Some(Looks::default());
    }
    match program.as_str() {
        "git" => {
            let paths = readonly_git::reads(args)?;
            Some(Looks { paths, fixed_cwd: true, revisions: true })
        }
        "cd" => {
            let paths: Vec<Word> = args
                .iter()
                .filter(|w| !matches!(w.raw.as_str(), "-L" | "-P" | "--"))
                .cloned()
                .collect();
            let home = Word::parse("~");
            let paths = if paths.is_empty() { vec![home] } else { paths };
            (paths.len() == 1 && paths[0].raw != "-").then_some(Looks { paths, ..Looks::default() })
        }
        "find" => find(args),
        "sed" => sed_command(args),
        "awk" | "gawk" | "mawk" => awk_command(args),
        "sleep" => bomb::short_sleep(args).then(Looks::default),
        "date" => date(args),
        "test" | "[" => args
            .iter()
            .all(|w| {
                !matches!(w.value().as_deref(), Some("-v" | "-R"))
                    && !w.has_unknown()
                    && !indexes(w)
            })
            .then(Looks::default),
        "command" => match args {
            [flag, names @ ..] if matches!(flag.raw.as_str(), "-v" | "-V") => {
                names.iter().all(|w| !w.has_unknown()).then(Looks::default)
            }
            _ => None,
        },
        "printf" if !args.first().and_then(Word::value).is_some_and(|f| prints_only(&f)) => None,
        // `ps e` shows other programs' variables.
        "ps" if args.iter().any(|w| !w.raw.starts_with('-') && w.raw.contains('e')) => None,
        // Alone it prints every variable.
        "set" => (!args.is_empty() && args.iter().all(harmless_set)).then(Looks::default),
        // Without an input it waits for one.
        "read"
            if part.piped
                || part.stdin.is_some()
                || part.redirects.iter().any(|r| r.kind == RedirectKind::Read) =>
        {
            super::builtins::reads_lines(args).then(Looks::default)
        }
        "exit" | "break" | "continue" | "return" => match args {
            [] => Some(Looks::default()),
            [code] => code.literal()?.parse::<u8>().ok().map(|_| Looks::default()),
            _ => None,
        },
        "tar" | "unzip" => archive(&program, args),
        "crontab" => matches!(args, [only] if only.raw == "-l").then(Looks::default),
        "cargo" if args.len() == 1 && args[0].raw == "--list" => Some(Looks::default()),
        name => table(SPECS.iter().find(|spec| spec.name == name)?, args),
    }
}

/// The folders that git is told to go to first (`-C`), of a git command.
pub(crate) fn git_folders(words: &[Word]) -> Option<Vec<Word>> {
    (words.first()?.value().as_deref().map(super::wrappers::base) == Some("git"))
        .then(|| readonly_git::folders(&words[1..]))
}

/// Text that would run a command if a builtin took it for an array element.
pub(crate) fn indexes(word: &Word) -> bool {
    word.pieces.iter().any(|piece| match piece {
        super::word::Piece::Text { text, .. } | super::word::Piece::Ansi(text) => {
            text.contains('[') && (text.contains("$(") || text.contains('`'))
        }
        _ => false,
    })
}

/// `%n` assigns a variable, and an array element can run a command.
fn prints_only(format: &str) -> bool {
    let mut parts =
        format.replace("%%", "").split('%').skip(1).map(str::to_owned).collect::<Vec<_>>();
    parts.iter_mut().all(|part| {
        let conversion =
            part.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #.*'lhjztL".contains(c));
        !conversion.starts_with('n')
    }) && bomb::narrow(format)
        && !format.contains('*')
}

/// `set -euo pipefail` makes a script stricter; other options change what words mean.
fn harmless_set(word: &Word) -> bool {
    matches!(
        word.raw.as_str(),
        "-e" | "-u"
            | "-x"
            | "-eu"
            | "-ex"
            | "-eux"
            | "-o"
            | "-euo"
            | "-exo"
            | "-euxo"
            | "-eo"
            | "pipefail"
            | "errexit"
            | "nounset"
            | "xtrace"
            | "+e"
            | "+x"
            | "+u"
    )
}

/// A filter of jq that reaches for other files or for the environment, or that never ends.
fn reaches_out(filter: &str) -> bool {
    const WORDS: &[&str] = &[
        "import",
        "include",
        "env",
        "ENV",
        "input_filename",
        "get_search_list",
        "modulemeta",
        "while",
        "until",
        "repeat",
        "recurse",
        "range",
        "limit",
        "def",
        "infinite",
        "combinations",
    ];
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    WORDS.iter().any(|word| {
        filter.match_indices(word).any(|(at, _)| {
            // `.env` is a field, `environment` another word.
            let before = filter[..at].chars().next_back();
            let after = filter[at + word.len()..].chars().next();
            !after.is_some_and(name) && !before.is_some_and(|c| name(c) || c == '.')
        })
    })
}

fn table(spec: &Spec, args: &[Word]) -> Option<Looks> {
    if spec.name == "jq" && args.iter().any(|arg| reaches_out(&arg.raw)) {
        return None;
    }
    let mut operands: Vec<Word> = Vec::new();
    let mut pattern_given = false;
    let mut i = 0;
    while let Some(word) = args.get(i) {
        i += 1;
        let Some(text) = word.literal() else {
            // `--include=*.rs`: whatever it matches begins like this.
            if known_option_of_glob(word, spec) {
                continue;
            }
            // Text is only printed; elsewhere an unknown word might be an option.
            if spec.operands != Operands::Text && (word.has_unknown() || unsafe_start(word)) {
                return None;
            }
            operands.push(word.clone());
            continue;
        };
        if spec.operands == Operands::Text && spec.short.is_empty() && spec.name != "printf" {
            operands.push(word.clone());
            continue;
        }
        if text == "--" {
            let rest = &args[i..];
            if rest.iter().any(Word::has_unknown) {
                return None;
            }
            operands.extend(rest.iter().cloned());
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
            pattern_given |= name == "regexp" || (name == "files" && spec.name == "rg");
            let known = if value.is_some() { spec.long_val } else { spec.long };
            if known.contains(&name) {
                continue;
            } else if value.is_none() && spec.long_val.contains(&name) {
                args.get(i)?.literal()?;
                i += 1;
                continue;
            } else if spec.name == "echo" {
                operands.push(word.clone());
                continue;
            }
            return None;
        }
        if let Some(cluster) = text.strip_prefix('-').filter(|c| !c.is_empty()) {
            if spec.digits && cluster.chars().all(|c| c.is_ascii_digit()) {
                continue;
            }
            match super::wrappers::cluster_len(cluster, spec.short, spec.short_val) {
                Some(len) => {
                    pattern_given |=
                        spec.operands == Operands::PatternThenPaths && has_pattern(cluster, spec);
                    if len == 2 {
                        args.get(i)?.literal()?;
                        i += 1;
                    }
                }
                // `echo -x` prints it; a number is an operand.
                None if spec.name == "echo" => operands.push(word.clone()),
                None => return None,
            }
            continue;
        }
        operands.push(word.clone());
    }
    let paths = match spec.operands {
        Operands::Paths => operands,
        Operands::PatternThenPaths => {
            let skip = usize::from(!pattern_given);
            operands.into_iter().skip(skip).collect()
        }
        Operands::Text => {
            if spec.name == "seq" && !bomb::short_count(&operands) {
                return None;
            }
            // All variables at once are more than a look.
            if spec.name == "printenv" && operands.is_empty() {
                return None;
            }
            Vec::new()
        }
        Operands::OnePath if operands.len() <= 1 => operands,
        Operands::Nothing if operands.is_empty() => operands,
        Operands::OnePath | Operands::Nothing => return None,
    };
    Some(Looks { paths, ..Looks::default() })
}

/// Whether a word with a glob is an option that is known, with a value that may be anything.
fn known_option_of_glob(word: &Word, spec: &Spec) -> bool {
    let Some(text) = word.value() else { return false };
    let Some((name, _)) = text.strip_prefix("--").and_then(|long| long.split_once('=')) else {
        return false;
    };
    spec.long_val.contains(&name) && !matches!(name, "color" | "colour")
}

/// A word that may turn into an option: all but globs after a literal start and known places.
fn unsafe_start(word: &Word) -> bool {
    use super::word::Piece;
    match word.pieces.first() {
        Some(Piece::Var { name, .. }) => !matches!(name.as_str(), "PWD" | "HOME"),
        Some(Piece::Text { text, quoted: false }) => text.starts_with('-'),
        Some(Piece::Text { .. }) | None => false,
        Some(Piece::Ansi(text)) => text.starts_with('-'),
        Some(Piece::Number | Piece::Unknown) => true,
    }
}

fn has_pattern(cluster: &str, spec: &Spec) -> bool {
    for c in cluster.chars() {
        if c == 'e' && spec.short_val.contains('e') {
            return true;
        }
        if spec.short_val.contains(c) {
            return false;
        }
    }
    false
}

const FIND_PLAIN: &[&str] = &[
    "-print",
    "-print0",
    "-ls",
    "-not",
    "!",
    "-o",
    "-or",
    "-a",
    "-and",
    "(",
    ")",
    ",",
    "-prune",
    "-empty",
    "-executable",
    "-readable",
    "-writable",
    "-depth",
    "-xdev",
    "-mount",
    "-P",
    "-quit",
    "-true",
    "-false",
    "-daystart",
    "-noleaf",
    "-nouser",
    "-nogroup",
    "-E",
    "-X",
    "-d",
];
const FIND_VALUE: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-type",
    "-xtype",
    "-maxdepth",
    "-mindepth",
    "-size",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-regex",
    "-iregex",
    "-regextype",
    "-links",
    "-inum",
    "-printf",
    "-lname",
    "-ilname",
    "-used",
    "-fstype",
];

fn find(args: &[Word]) -> Option<Looks> {
    let mut paths = Vec::new();
    let mut i = 0;
    let mut starting = true;
    while let Some(word) = args.get(i) {
        i += 1;
        let text = match word.literal() {
            Some(text) => text,
            None if starting && !word.has_unknown() && !unsafe_start(word) => {
                paths.push(word.clone());
                continue;
            }
            None => return None,
        };
        if text.starts_with('-') || matches!(text.as_str(), "(" | ")" | "!" | ",") {
            if !matches!(text.as_str(), "-L" | "-H" | "-P" | "-E" | "-X" | "-d") {
                starting = false;
            }
            if FIND_PLAIN.contains(&text.as_str()) {
                continue;
            }
            if FIND_VALUE.contains(&text.as_str()) {
                // The value is a pattern for find; a live glob would be the shell's.
                args.get(i)?.literal()?;
                i += 1;
                continue;
            }
            if matches!(text.as_str(), "-newer" | "-anewer" | "-cnewer" | "-samefile") {
                paths.push(args.get(i)?.clone());
                i += 1;
                continue;
            }
            return None;
        }
        if !starting {
            return None;
        }
        paths.push(word.clone());
    }
    Some(Looks { paths, ..Looks::default() })
}

fn sed_command(args: &[Word]) -> Option<Looks> {
    let mut script = None;
    let mut paths = Vec::new();
    let mut i = 0;
    while let Some(word) = args.get(i) {
        i += 1;
        let text = match word.literal() {
            Some(text) => text,
            None if script.is_some() && !word.has_unknown() && !unsafe_start(word) => {
                paths.push(word.clone());
                continue;
            }
            None => return None,
        };
        match text.as_str() {
            "-n" | "-E" | "-r" | "-nE" | "-nr" | "-En" | "-s" | "-u" | "-z" | "--quiet"
            | "--silent" | "--regexp-extended" | "--debug" => {}
            "-e" | "--expression" => {
                let next = args.get(i)?.literal()?;
                i += 1;
                if !sed::is_tame(&next) {
                    return None;
                }
                script = Some(());
            }
            flag if flag.starts_with('-') && flag != "-" => return None,
            text if script.is_none() => {
                if !sed::is_tame(text) {
                    return None;
                }
                script = Some(());
            }
            _ => paths.push(word.clone()),
        }
    }
    script?;
    Some(Looks { paths, ..Looks::default() })
}

/// The listing of an archive. A colon in its name would make tar look on another machine.
fn archive(program: &str, args: &[Word]) -> Option<Looks> {
    let (flags, rest) = args.split_first()?;
    let flags = flags.literal()?;
    let letters = flags.trim_start_matches('-');
    let lists = match program {
        "tar" => {
            letters.starts_with('t')
                && letters.ends_with('f')
                && letters.chars().all(|c| "tvzjJf".contains(c))
                && letters.matches('f').count() == 1
        }
        _ => matches!(flags.as_str(), "-l" | "-v" | "-Z" | "-Z1"),
    };
    let file = rest.first()?;
    let plain = |word: &Word| {
        word.literal().is_some_and(|text| !text.starts_with('-') && !text.contains(':'))
    };
    (lists && rest.iter().all(plain))
        .then(|| Looks { paths: vec![file.clone()], ..Looks::default() })
}

fn awk_command(args: &[Word]) -> Option<Looks> {
    let mut program = None;
    let mut paths = Vec::new();
    let mut i = 0;
    while let Some(word) = args.get(i) {
        i += 1;
        let text = match word.literal() {
            Some(text) => text,
            None if program.is_some() && !word.has_unknown() && !unsafe_start(word) => {
                paths.push(word.clone());
                continue;
            }
            None => return None,
        };
        match text.as_str() {
            _ if program.is_some() => {
                // `a=b` among the files is an assignment, `-` the input.
                if text.contains('=') || text.starts_with('-') {
                    return None;
                }
                paths.push(word.clone());
            }
            "-F" | "-v" => {
                args.get(i)?.literal()?;
                i += 1;
            }
            flag if flag.starts_with("-F") => {}
            flag if flag.starts_with('-') => return None,
            text => {
                if !awk::is_tame(text) {
                    return None;
                }
                program = Some(());
            }
        }
    }
    program?;
    Some(Looks { paths, ..Looks::default() })
}

/// `date +%F` shows; `date 0101` sets.
fn date(args: &[Word]) -> Option<Looks> {
    let mut i = 0;
    while let Some(word) = args.get(i) {
        i += 1;
        let text = word.literal()?;
        match text.as_str() {
            "-u" | "--utc" | "--universal" | "-R" | "--rfc-email" | "-I" => {}
            "-d" | "--date" => {
                args.get(i)?.literal()?;
                i += 1;
            }
            text if text.starts_with('+')
                || text.starts_with("-I")
                || text.starts_with("--date=")
                || text.starts_with("--iso-8601")
                || text.starts_with("--rfc-3339=") => {}
            _ => return None,
        }
    }
    Some(Looks::default())
}
