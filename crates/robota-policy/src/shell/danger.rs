//! What turns an allowed command into one that must be asked about: options that run another
//! program, builtins that change what later words mean, and programs that break machines.

use super::danger_table::{BREAKING, EXEC, HARMLESS, LEADING, REDEFINING, RUNS, RUNS_WHOLE};
use super::word::Word;
use super::wrappers::{base, is_shell};
use super::{danger_git, files};

/// Why a command must be asked about although a rule allows it.
pub(crate) fn of_command(words: &[Word], piped: bool) -> Option<String> {
    let program = words.first()?.value()?;
    let name = base(&program);
    let args = &words[1..];
    if is_shell(name) && piped && !args.iter().any(|w| !w.raw.starts_with('-')) {
        return Some(format!("`{name}` runs whatever the command before it prints"));
    }
    if name.starts_with("mkfs") || BREAKING.contains(&name) {
        return Some(format!("`{name}` changes the machine itself"));
    }
    if name == "dd" && args.iter().any(|w| w.raw.starts_with("of=/dev/")) {
        return Some("it writes to a device".into());
    }
    if redefines(words) {
        return Some(format!("`{name}` can change what later commands mean"));
    }
    exec_flag(name, args)
}

/// Whether what follows this builtin can no longer be read from its words.
pub(crate) fn redefines(words: &[Word]) -> bool {
    let Some(name) = words.first().and_then(Word::value) else { return false };
    REDEFINING.contains(&base(&name))
        && !(base(&name) == "set"
            && super::readonly::looks(words, &super::Part::default()).is_some())
}

fn exec_flag(name: &str, args: &[Word]) -> Option<String> {
    let found = |flag: &str| Some(format!("`{name} {flag}` can run another program"));
    match name {
        "git" => return danger_git::of_git(args),
        "awk" | "gawk" | "mawk" | "nawk" => return awk_program(name, args),
        "sed" | "gsed" if files::wild_sed(args) => {
            return Some("its sed script can run or write something".into());
        }
        "xargs" if args.first().is_some_and(Word::may_be_flag) => return found("with options"),
        "make" | "gmake" if args.iter().any(|w| w.raw.contains("SHELL=")) => {
            return found("SHELL=");
        }
        "vim" | "vi" | "nvim" | "ex" if args.iter().any(|w| w.raw.starts_with('+')) => {
            return found("+command");
        }
        "socat" if args.iter().any(runs_address) => return found("EXEC:"),
        "sqlite3" | "psql" | "mysql" | "mariadb" | "duckdb" if args.iter().any(escapes) => {
            return found("with a shell command");
        }
        _ => {}
    }
    if let Some(flag) = args.iter().take_while(|w| w.raw != "--").find_map(says_it_runs) {
        return found(&flag);
    }
    let spec = EXEC.iter().find(|spec| spec.name == name)?;
    let mut first_operand = true;
    for word in args {
        let Some(text) = word.value() else {
            if word.may_be_flag() {
                return Some(format!("an option of `{name}` is not known before it runs"));
            }
            continue;
        };
        if text == "--" {
            break;
        }
        let flag = text.split('=').next().unwrap_or(&text);
        if spec.long.iter().any(|long| *long == flag || (long.len() > 3 && abbreviates(flag, long)))
        {
            return found(flag);
        }
        if let Some(cluster) = text.strip_prefix('-').filter(|c| !c.starts_with('-')) {
            let letters = if LEADING.contains(&name) { 1 } else { cluster.len() };
            if let Some(c) = cluster.chars().take(letters).find(|c| spec.short.contains(*c)) {
                // `-o StrictHostKeyChecking=no` is no program, `-o ProxyCommand=x` is.
                if matches!(name, "ssh" | "scp" | "sftp") && c == 'o' && !names_command(args) {
                    continue;
                }
                return found(&format!("-{c}"));
            }
        } else if first_operand && !text.starts_with('-') {
            first_operand = false;
            if spec.subs.contains(&text.as_str()) {
                return found(&text);
            }
        }
    }
    // The old style without a dash: `tar xIf prog file`.
    if name == "tar"
        && args
            .first()
            .and_then(Word::value)
            .is_some_and(|t| !t.starts_with('-') && t.contains(['I', 'F']))
    {
        return found("I");
    }
    None
}

/// An option of any program whose name says that its value is run or loaded.
fn says_it_runs(word: &Word) -> Option<String> {
    let text = match word.value() {
        Some(text) => text,
        // `--pager="$X"`
        None => word.raw.split(['$', '`', '"']).next()?.to_owned(),
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
    if name.starts_with("no-") || HARMLESS.contains(&name) {
        return false;
    }
    name.split(['-', '_', '.']).any(|part| RUNS.contains(&part))
        || RUNS_WHOLE.iter().any(|whole| name == *whole || name.ends_with(&format!("-{whole}")))
}

/// Whether this option of a program is given a command.
pub(super) fn takes_command(program: &str, text: &str) -> bool {
    if let Some(long) = text.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        let spec = EXEC.iter().find(|spec| spec.name == program);
        return is_running_option(name)
            || (program == "git" && name == "config")
            || spec.is_some_and(|spec| spec.long.contains(&&text[..name.len() + 2]));
    }
    let Some(cluster) = text.strip_prefix('-').filter(|cluster| !cluster.is_empty()) else {
        return false;
    };
    if program == "git" {
        return cluster.starts_with('c') || cluster == "x";
    }
    let spec = EXEC.iter().find(|spec| spec.name == program);
    spec.is_some_and(|spec| {
        cluster.contains(|c| spec.short.contains(c)) || spec.long.contains(&text)
    })
}

/// `EXEC:id`, `SYSTEM:id`, in any case.
fn runs_address(word: &Word) -> bool {
    let text = word.raw.to_lowercase();
    ["exec:", "system:", "shell:", "exec-pty:"].iter().any(|kind| text.contains(kind))
}

/// Commands of a database's prompt that leave it: `.shell`, `\!`.
fn escapes(word: &Word) -> bool {
    let text = word.value().unwrap_or_else(|| word.raw.clone());
    [
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
    ]
    .iter()
    .any(|way| text.contains(way))
        || matches!(text.as_str(), "-cmd" | "-init")
}

/// Long options may be shortened: `--to-com`.
pub(super) fn abbreviates(flag: &str, long: &str) -> bool {
    flag.len() >= 5 && flag.starts_with("--") && long.starts_with(flag)
}

fn names_command(args: &[Word]) -> bool {
    args.iter().any(|w| {
        let text = w.value().unwrap_or_else(|| "command".into()).to_lowercase();
        text.contains("command")
            || text.contains("include")
            || text.contains("proxyuse")
            || text.contains("pkcs11")
            || text.contains("securitykeyprovider")
    })
}

/// What an awk command line may do beyond printing.
fn awk_program(name: &str, args: &[Word]) -> Option<String> {
    let found = |what: &str| Some(format!("the {name} program {what}"));
    for word in args {
        let Some(text) = word.value() else {
            return found("is not known before it runs");
        };
        if text.starts_with("-f")
            || text.starts_with("--file")
            || text.starts_with("-i")
            || text.starts_with("-l")
            || text.starts_with("-E")
            || text.starts_with("--exec")
            || text.starts_with("--load")
            || text.starts_with("--include")
            || text.starts_with("-o")
            || text.starts_with("-p")
            || text.starts_with("-D")
        {
            return found("comes from elsewhere");
        }
    }
    let text: String = args.iter().filter_map(Word::value).collect::<Vec<_>>().join(" ");
    if text.contains("system")
        || text.contains("getline")
        || text.contains('|')
        || text.contains("@load")
        || text.contains("@include")
        || text.contains("@")
    {
        return found("can run another program");
    }
    // `print > "file"` writes; a comparison cannot be told from it cheaply.
    text.contains('>').then(|| format!("the {name} program can write a file"))
}
