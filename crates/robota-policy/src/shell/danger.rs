//! What turns an allowed command into one that must be asked about: options that run another
//! program, builtins that change what later words mean, and programs that break machines.

use super::files;
use super::word::Word;
use super::wrappers::{base, is_shell};

/// Options of a program that make it run something else.
struct Exec {
    name: &'static str,
    /// Single letters, also inside a cluster.
    short: &'static str,
    /// Long options, and others that are matched whole or up to `=`.
    long: &'static [&'static str],
    /// Subcommands.
    subs: &'static [&'static str],
}

const fn e(
    name: &'static str,
    short: &'static str,
    long: &'static [&'static str],
    subs: &'static [&'static str],
) -> Exec {
    Exec { name, short, long, subs }
}

const EXEC: &[Exec] = &[
    e(
        "tar",
        "IF",
        &[
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "--rsh-command",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
        ],
        &[],
    ),
    e("bsdtar", "", &["--use-compress-program"], &[]),
    e("rsync", "e", &["--rsh", "--rsync-path"], &[]),
    e("env", "S", &["--split-string"], &[]),
    e(
        "find",
        "",
        &[
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-delete",
            "-fprint",
            "-fprint0",
            "-fprintf",
            "-fls",
            "-files0-from",
        ],
        &[],
    ),
    e("fd", "xX", &["--exec", "--exec-batch"], &[]),
    e("fdfind", "xX", &["--exec", "--exec-batch"], &[]),
    e("ssh", "oF", &[], &[]),
    e("scp", "oFS", &[], &[]),
    e("sftp", "oFS", &[], &[]),
    e("curl", "K", &["--config"], &[]),
    e("wget", "e", &["--execute", "--use-askpass", "--config"], &[]),
    e("sort", "", &["--compress-program"], &[]),
    e("rg", "", &["--pre", "--hostname-bin"], &[]),
    e("man", "PH", &["--pager", "--html"], &[]),
    e("vim", "cS", &["--cmd", "-c", "-S"], &[]),
    e("vi", "cS", &["--cmd"], &[]),
    e("nvim", "cS", &["--cmd", "-l"], &[]),
    e("zip", "", &["-TT", "--unzip-command"], &[]),
    e("make", "", &["--eval", "-f", "--file", "--makefile", "-C", "--directory"], &[]),
    e("npm", "", &["--script-shell", "--prefix", "--userconfig", "--globalconfig"], &["exec", "x"]),
    e("yarn", "", &["--script-shell", "--cwd"], &["exec", "dlx"]),
    e("pnpm", "", &["--script-shell", "--dir"], &["exec", "dlx"]),
    e("cargo", "", &["--config"], &[]),
    e("go", "", &["-toolexec", "-exec", "-vettool", "--exec", "--toolexec"], &[]),
    e("gcc", "", &["-wrapper", "-fplugin", "-specs"], &[]),
    e("g++", "", &["-wrapper", "-fplugin", "-specs"], &[]),
    e("clang", "", &["-fplugin", "-Xclang", "-load"], &[]),
    e("split", "", &["--filter"], &[]),
    e("tcpdump", "z", &[], &[]),
    e("gdb", "x", &["-ex", "-iex", "--eval-command", "--command"], &[]),
    e("docker", "", &[], &["run", "exec", "build", "buildx"]),
    e("podman", "", &[], &["run", "exec", "build"]),
    e("kubectl", "", &[], &["exec", "run"]),
    e("apt", "o", &["--option"], &[]),
    e("apt-get", "o", &["--option"], &[]),
    e("hg", "", &["--config"], &[]),
    e("svn", "", &["--config-option", "--config-dir"], &[]),
    e("ip", "", &[], &["netns"]),
    e("printf", "v", &[], &[]),
    e("date", "s", &["--set"], &[]),
    e("crontab", "", &[], &["-e", "-r", "-"]),
    e("gh", "", &[], &["alias", "extension"]),
    e("java", "", &["-javaagent", "-agentlib", "-agentpath"], &[]),
    e("nmap", "", &["--script"], &[]),
    e("ctags", "", &["--options"], &[]),
];

/// Builtins after which words may mean something else.
const REDEFINING: &[&str] = &[
    "alias",
    "unalias",
    "hash",
    "enable",
    "shopt",
    "trap",
    "eval",
    "source",
    ".",
    "bind",
    "complete",
    "compgen",
    "mapfile",
    "readarray",
    "read",
    "getopts",
    "let",
    "exec",
    "coproc",
    "set",
];

/// Programs that break a machine when they are meant, and more so when they are not.
const BREAKING: &[&str] = &[
    "shutdown", "reboot", "halt", "poweroff", "init", "telinit", "fdisk", "sfdisk", "parted",
    "wipefs", "swapoff", "insmod", "rmmod", "modprobe", "visudo", "passwd", "useradd", "userdel",
    "usermod", "iptables", "nft",
];

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
        "git" => return git(args),
        "awk" | "gawk" | "mawk" | "nawk" => return awk(name, args),
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
        _ => {}
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
            if let Some(c) = cluster.chars().find(|c| spec.short.contains(*c)) {
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
            .is_some_and(|t| !t.starts_with('-') && t.contains('I'))
    {
        return found("I");
    }
    None
}

/// Long options may be shortened: `--to-com`.
fn abbreviates(flag: &str, long: &str) -> bool {
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

fn git(args: &[Word]) -> Option<String> {
    let found = |flag: &str| Some(format!("`git {flag}` can run another program"));
    let mut sub: Option<String> = None;
    let mut operands = Vec::new();
    let mut i = 0;
    while let Some(word) = args.get(i) {
        i += 1;
        let Some(text) = word.value() else {
            if word.may_be_flag() && sub.is_none() {
                return Some("an option of `git` is not known before it runs".into());
            }
            if word.may_be_flag() && word.has_var() && !word.raw.starts_with('"') {
                return Some("an option of `git` is not known before it runs".into());
            }
            continue;
        };
        let flag = text.split('=').next().unwrap_or(&text);
        let Some(name) = sub.as_deref() else {
            if text.starts_with('-') {
                // Before the subcommand.
                if flag == "-c"
                    || text.starts_with("-c")
                    || matches!(flag, "--exec-path" | "--config-env")
                {
                    return found(flag);
                }
                if matches!(flag, "--git-dir" | "--work-tree") {
                    return found(flag);
                }
                if matches!(text.as_str(), "-C" | "--namespace" | "--super-prefix") {
                    i += 1;
                }
            } else {
                sub = Some(text);
            }
            continue;
        };
        if text == "--" {
            break;
        }
        if matches!(
            flag,
            "--upload-pack"
                | "--receive-pack"
                | "--exec"
                | "--ext-diff"
                | "--extcmd"
                | "--open-files-in-pager"
                | "--textconv"
                | "--output"
                | "--template"
                | "--config"
                | "--filters"
                | "--sequence-editor"
                | "--editor"
        ) || [
            "--upload-pack",
            "--receive-pack",
            "--exec",
            "--ext-diff",
            "--extcmd",
            "--open-files-in-pager",
        ]
        .iter()
        .any(|long| abbreviates(flag, long))
        {
            return found(flag);
        }
        let short = |c: char| text.starts_with('-') && !text.starts_with("--") && text.contains(c);
        let runs = match name {
            "rebase" | "difftool" => short('x'),
            "clone" => short('u') || short('c'),
            "grep" => short('O'),
            "ls-remote" | "fetch-pack" => short('u'),
            _ => false,
        };
        if runs {
            return found(&format!("{name} {text}"));
        }
        if !text.starts_with('-') {
            if text.starts_with("ext::") || text.starts_with("fd::") {
                return found("ext::");
            }
            operands.push(text);
        }
    }
    let name = sub?;
    let first = operands.first().map(String::as_str);
    match (name.as_str(), first) {
        ("bisect", Some("run")) | ("submodule", Some("foreach")) | ("hook", Some("run")) => {
            found(&format!("{name} {}", first.unwrap_or_default()))
        }
        (
            "filter-branch" | "mergetool" | "difftool" | "send-email" | "daemon" | "instaweb"
            | "credential" | "http-backend" | "upload-pack" | "receive-pack" | "shell",
            _,
        ) => found(&name),
        // Setting a value: aliases, pagers and hooks are values.
        ("config", Some(_))
            if operands.len() >= 2 && !args.iter().any(|w| w.raw.starts_with("--get")) =>
        {
            found("config")
        }
        _ => None,
    }
}

fn awk(name: &str, args: &[Word]) -> Option<String> {
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
