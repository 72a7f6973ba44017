//! What turns an allowed command into one that must be asked about: options that run another
//! program, builtins that change what later words mean, and programs that break machines.

use super::args::{Args, Given, base, is_one, known};
use super::{Effect, Program, Shape, awk, read_only};
use crate::shell::Part;
use crate::shell::word::{Piece, Word};

/// Words of an option's name that mean that its value is run or loaded, for options that are
/// not listed.
const RUNS: &[&str] = &[
    "exec",
    "execute",
    "command",
    "cmd",
    "pager",
    "editor",
    "shell",
    "rsh",
    "plugin",
    "plugins",
    "fplugin",
    "eval",
    "loader",
    "preload",
    "hook",
    "hooks",
    "askpass",
    "wrapper",
    "interpreter",
    "javaagent",
    "agentlib",
    "agentpath",
    "rcfile",
    "helper",
    "extcmd",
    "linker",
    "toolexec",
];

/// Endings of such names.
const RUNS_WHOLE: &[&str] = &[
    "compress-program",
    "gpg-program",
    "init-script",
    "init-file",
    "checkpoint-action",
    "upload-pack",
    "receive-pack",
    "open-files-in-pager",
    "ext-diff",
    "post-renderer",
    "require",
    "lua-exec",
    "node-options",
];

/// Names with one of these words that run nothing.
const HARMLESS: &[&str] = &[
    "list-commands",
    "show-commands",
    "print-commands",
    "shell-escape",
    "hook-stage",
    "ignore-scripts",
    "script-name",
];

/// Why a command must be asked about although a rule allows it.
pub(crate) fn of_command(words: &[Word], piped: bool) -> Option<String> {
    let program = words.first()?.value()?;
    let name = base(&program);
    if name.starts_with("mkfs") || Program::find(name).is_some_and(|program| program.breaks) {
        return Some(format!("`{name}` changes the machine itself"));
    }
    if redefines(words) {
        return Some(format!("`{name}` can change what later commands mean"));
    }
    let found = |flag: &str| Some(format!("`{name} {flag}` can run another program"));
    let Some(args) = Args::parse(words) else {
        return words[1..].iter().find_map(running_option).and_then(|flag| found(&flag));
    };
    if args.program.shape == Shape::Shell && piped && args.operands.is_empty() {
        return Some(format!("`{name}` runs whatever the command before it prints"));
    }
    if args.spec.danger {
        return found(&args.sub.join(" "));
    }
    by_program(&args, words)
        .or_else(|| args.all().find_map(|given| by_option(&args, given)))
        .or_else(|| {
            let unknown = open_option(&args, words);
            unknown.then(|| format!("an option of `{name}` is not known before it runs"))
        })
}

/// Whether what follows this builtin can no longer be read from its words.
pub(crate) fn redefines(words: &[Word]) -> bool {
    let Some(name) = words.first().and_then(Word::value) else { return false };
    Program::find(base(&name)).is_some_and(|program| program.redefines)
        && read_only::reads(words, &Part::default()).is_none()
}

/// Whether a word may be one of the options that run something.
fn open_option(args: &Args, words: &[Word]) -> bool {
    let risky = |effect: Effect| {
        matches!(effect, Effect::Run | Effect::Shell | Effect::Load | Effect::Danger)
    };
    let has = args.spec.options.iter().chain(&args.program.options).any(|opt| risky(opt.effect));
    has && args.open
        && words.iter().skip(1).any(|word| {
            let quoted = args.name == "git" && !args.sub.is_empty() && is_one(word);
            word.value().is_none() && word.may_be_flag() && !quoted
        })
}

/// Why one option must be asked about.
fn by_option(args: &Args, given: &Given) -> Option<String> {
    let name = &args.name;
    let found = || Some(format!("`{name} {}` can run another program", given.name));
    let value = || given.value.as_ref().and_then(known);
    let Some(opt) = given.opt else {
        return is_running_option(given.name.trim_start_matches('-')).then(found).flatten();
    };
    match opt.effect {
        // Settings of ssh that name no program.
        Effect::Run if matches!(name.as_str(), "ssh" | "scp" | "sftp") && opt.name == "-o" => {
            value().is_none_or(|text| names_command(&text)).then(found).flatten()
        }
        // Most options of the linker are about the program that it makes.
        Effect::Load if opt.name == "-ldflags" => {
            let plain = |text: String| !text.contains("ext") && !text.contains("linkmode");
            (!value().is_some_and(plain)).then(found).flatten()
        }
        // A formatter or reporter that is no file is one that comes with the program.
        Effect::Load
            if matches!(name.as_str(), "eslint" | "mocha" | "vitest" | "jest")
                && is_style(opt.name) =>
        {
            let plain = |text: String| text.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            (!value().is_some_and(plain)).then(found).flatten()
        }
        Effect::Run | Effect::Shell | Effect::Load | Effect::Danger => found(),
        Effect::Script if matches!(name.as_str(), "sed" | "gsed") || awk::is_awk(name) => None,
        Effect::Script if is_database(name) => None,
        Effect::Script => found(),
        Effect::ScriptFile if args.spec.shape == Shape::Code || name == "at" => found(),
        Effect::Remove | Effect::Write if args.spec.shape == Shape::Find => found(),
        // A query has no files of its own.
        Effect::Write
            if matches!(args.spec.shape, Shape::Text | Shape::Nothing | Shape::Query)
                && !value().is_some_and(|text| crate::judge_sink(&text)) =>
        {
            Some(format!("`{name} {}` writes a file", given.name))
        }
        // `python -m pytest -p x`: the module's own options.
        Effect::Inert if !given.command.is_empty() => of_command(&given.command, false),
        _ => None,
    }
}

fn is_style(option: &str) -> bool {
    matches!(
        option,
        "-f" | "--format"
            | "-R"
            | "--reporter"
            | "--reporters"
            | "-u"
            | "--ui"
            | "--preset"
            | "--environment"
            | "--testEnvironment"
    )
}

fn is_database(name: &str) -> bool {
    matches!(name, "sqlite3" | "psql" | "mysql" | "mariadb" | "duckdb")
}

/// What depends on more than one option.
fn by_program(args: &Args, words: &[Word]) -> Option<String> {
    let name = args.name.as_str();
    let found = |flag: &str| Some(format!("`{name} {flag}` can run another program"));
    let texts = || words[1..].iter().filter_map(Word::value);
    match name {
        "git" => of_git(args),
        "sed" | "gsed" if super::files::sed_may_run_or_write(args) => {
            Some("its sed script can run or write something".into())
        }
        "xargs" if !args.options.is_empty() || args.open => found("with options"),
        "make" | "gmake" | "bmake" => {
            let runs = |text: &String| {
                text.split_once('=').is_some_and(|(name, value)| {
                    name.contains("SHELL")
                        || name.contains("MAKEFLAGS")
                        || value.contains("$(")
                        || value.contains("${")
                        || value.contains('`')
                })
            };
            texts().any(|text| runs(&text)).then(|| found("NAME=value")).flatten()
        }
        "vim" | "vi" | "nvim" | "ex" | "view" if texts().any(|text| text.starts_with('+')) => {
            found("+command")
        }
        "socat" if texts().any(|text| runs_address(&text)) => found("EXEC:"),
        "dd" if texts().any(|text| text.starts_with("of=/dev/")) => {
            Some("it writes to a device".into())
        }
        "cargo" if matches!(args.sub.first().map(String::as_str), Some("rustc" | "rustdoc")) => {
            let flag = |word: &Word| {
                known(word).is_none_or(|text| {
                    ["-C", "-Z", "--codegen", "--extern"].iter().any(|flag| text.starts_with(flag))
                })
            };
            args.operands.iter().any(flag).then(|| found("-- -C")).flatten()
        }
        "tar" | "bsdtar" | "gtar" => {
            // The old style without a dash: `tar xIf prog file`.
            let first = args.operands.first().and_then(Word::value).unwrap_or_default();
            let old = words.get(1).and_then(Word::value).is_some_and(|text| text == first);
            (old && first.contains(['I', 'F'])).then(|| found("I")).flatten()
        }
        _ if is_database(name) => {
            let leaves = words[1..].iter().any(|word| escapes(&word.text()));
            leaves.then(|| found("with a shell command")).flatten()
        }
        _ if awk::is_awk(name) => awk_program(args, words),
        _ => None,
    }
}

/// An option of any program whose name means that its value is run or loaded.
fn running_option(word: &Word) -> Option<String> {
    let text = match word.value() {
        Some(text) => text,
        // `--pager="$X"`
        None => match word.pieces.first() {
            Some(Piece::Text { text, .. } | Piece::Ansi(text)) => text.clone(),
            _ => return None,
        },
    };
    let name = text.strip_prefix("--").or_else(|| {
        // `-javaagent:x`, `-fplugin=x`: a single dash, and too long for a cluster.
        text.strip_prefix('-').filter(|rest| rest.len() > 6 && rest.contains(['=', ':']))
    })?;
    let name = name.split(['=', ':']).next().unwrap_or(name);
    is_running_option(name).then(|| format!("--{name}"))
}

/// Whether an option of this name is given something to run or to load.
pub(super) fn is_running_option(name: &str) -> bool {
    if name.len() < 3 || name.starts_with("no-") || HARMLESS.contains(&name) {
        return false;
    }
    name.split(['-', '_', '.']).any(|part| RUNS.contains(&part))
        || RUNS_WHOLE.iter().any(|whole| name == *whole || name.ends_with(&format!("-{whole}")))
}

/// `EXEC:id`, `SYSTEM:id`, in any case.
fn runs_address(text: &str) -> bool {
    let text = text.to_lowercase();
    ["exec:", "system:", "shell:", "exec-pty:"].iter().any(|kind| text.contains(kind))
}

/// Commands of a database's prompt that leave it: `.shell`, `\!`; and ways to write files.
fn escapes(text: &str) -> bool {
    let lower = text.to_lowercase();
    const WAYS: &[&str] = &[
        ".sh",
        ".sy",
        "\\!",
        ".load",
        "load_extension",
        ".once",
        ".output",
        "\\copy",
        "system ",
        "writefile",
        "into outfile",
        "into dumpfile",
        "to program",
        "from program",
        "vacuum into",
        ".import",
        ".save",
        ".backup",
        ".clone",
        ".excel",
        ".edit",
        "edit(",
        "\\o",
        "\\w",
    ];
    WAYS.iter().any(|way| lower.contains(way))
}

fn names_command(text: &str) -> bool {
    let text = text.to_lowercase();
    ["command", "include", "proxyuse", "pkcs11", "securitykeyprovider", "askpass"]
        .iter()
        .any(|name| text.contains(name))
}

/// Why a git command must be asked about although a rule allows it. Only subcommands that are
/// known are covered: any other name may be an alias, or a program that git finds for it.
fn of_git(args: &Args) -> Option<String> {
    let found = |flag: &str| Some(format!("`git {flag}` can run another program"));
    let unlisted = args.globals.iter().find(|given| given.opt.is_none());
    let moved = |given: &&Given| matches!(given.name.as_str(), "--git-dir" | "--work-tree");
    if let Some(given) = unlisted.or_else(|| args.globals.iter().find(moved)) {
        return found(&given.name);
    }
    let sub = args.sub.first()?;
    let is_known = args.program.subs.iter().any(|known| known.names.first() == Some(&sub.as_str()));
    if !is_known {
        return found(sub);
    }
    // A strategy that is not part of git is a program.
    let strategy = |given: &&Given| {
        let ours = |text: String| {
            let names = ["ours", "theirs", "ort", "recursive", "resolve", "octopus", "subtree"];
            names.contains(&text.as_str())
        };
        let takes = given.name == "--strategy" || (given.name == "-s" && given.value.is_some());
        takes && !given.value.as_ref().and_then(known).is_some_and(ours)
    };
    if let Some(given) = args.options.iter().find(strategy) {
        return found(&given.name);
    }
    let writes = |given: &&Given| given.opt.is_some_and(|opt| opt.effect == Effect::Write);
    if let Some(given) = args.options.iter().find(writes)
        && given.name != "-o"
        && given.name != "--output-directory"
    {
        return found(&given.name);
    }
    if args.operands.iter().filter_map(Word::value).any(|text| remote_helper(&text)) {
        return found("ext::");
    }
    // Setting a value: aliases, pagers and hooks are values.
    let asked = |given: &Given| given.opt.is_some_and(|opt| opt.effect == Effect::Query);
    let file = |given: &Given| matches!(given.name.as_str(), "-f" | "--file");
    if args.sub == ["config"]
        && ((args.operands.len() >= 2 && !args.options.iter().any(asked))
            || args.options.iter().any(file))
    {
        return found("config");
    }
    None
}

/// `ext::sh -c id`: any word before `::` names a program `git-remote-…`.
fn remote_helper(text: &str) -> bool {
    text.split_once("::").is_some_and(|(kind, _)| {
        !kind.is_empty() && kind.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// What an awk command line may do beyond printing.
fn awk_program(args: &Args, words: &[Word]) -> Option<String> {
    let name = &args.name;
    let found = |what: &str| Some(format!("the {name} program {what}"));
    if words[1..].iter().any(|word| word.value().is_none()) {
        return found("is not known before it runs");
    }
    let elsewhere = |given: &Given| {
        given.opt.is_none_or(|opt| {
            matches!(opt.effect, Effect::ScriptFile | Effect::Load | Effect::Write | Effect::Other)
        })
    };
    if args.options.iter().any(elsewhere) {
        return found("comes from elsewhere");
    }
    let text: String = words[1..].iter().filter_map(Word::value).collect::<Vec<_>>().join(" ");
    if ["system", "getline", "|", "@"].iter().any(|way| text.contains(way)) {
        return found("can run another program");
    }
    // `print > "file"` writes; a comparison is not distinguished from it here.
    let script = args.operands.first().and_then(known).unwrap_or_default();
    (text.contains('>') && !awk::is_harmless(&script))
        .then(|| format!("the {name} program can write a file"))
}
