//! Critical removals: the root, its direct entries, the home, the workspace and
//! the folders that contain it, in any spelling and by any program that is known to take files away.

mod target;

use std::path::Path;

use super::args::{Args, base, known};
use super::files::{after, has};
use super::{Effect, Program, Shape};
use crate::shell::Part;
use crate::shell::expand::{Scope, files};
use crate::shell::word::{Piece, Word};
use crate::workspace::{normal, text, within};

use target::target;

/// Places that must not be removed without a question.
pub(crate) struct Critical<'a> {
    /// The home and the workspace's folders, by every name.
    pub(crate) dirs: &'a [String],
}

impl Critical<'_> {
    /// Whether removing this folder takes one of them along.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        let path = text(&normal(path));
        let depth = path.split('/').filter(|name| !name.is_empty()).count();
        depth <= 1 || self.dirs.iter().any(|dir| within(dir, &path, false))
    }

    fn holds_real(&self, path: &Path, scope: &Scope<'_>) -> bool {
        self.holds(path) || scope.paths.canonical(path).is_some_and(|real| self.holds(&real))
    }
}

/// Why this command is a critical removal, if it is.
pub(crate) fn critical(
    words: &[Word],
    part: &Part,
    scope: &Scope<'_>,
    dirs: &Critical<'_>,
) -> Option<String> {
    let rest = words.get(1..)?;
    let Some(program) = words.first()?.value() else {
        // A program that is not in the model, with the options of a removal.
        return recursive(rest)
            .then(|| rm("rm", true, &operands(rest), part, scope, dirs))
            .flatten();
    };
    let name = base(&program);
    let known_program = Program::find(name);
    if name.starts_with("mkfs")
        || name.starts_with("newfs")
        || known_program.is_some_and(|p| p.breaks)
    {
        return breaks(name, rest);
    }
    let Some(args) = Args::parse(words) else {
        // `/bin/r? -rf ~`
        let hidden = words[0].is_dynamic() && recursive(rest);
        return hidden.then(|| rm("rm", true, &operands(rest), part, scope, dirs)).flatten();
    };
    let given: Vec<&Word> = args.operands.iter().collect();
    let removed = |given: &[&Word]| given.iter().find_map(|word| target(word, true, scope, dirs));
    // An option that is given a folder to empty.
    let emptied = |given: &super::args::Given| {
        given.opt.is_some_and(|opt| opt.effect == Effect::Remove).then_some(())?;
        target(given.value.as_ref()?, true, scope, dirs)
    };
    if let Some(why) = args.all().find_map(emptied) {
        return Some(why);
    }
    match args.spec.shape {
        Shape::Removes if name == "git" => None,
        Shape::Removes => {
            let all = matches!(name, "trash" | "trash-put" | "rimraf" | "shred" | "wipe" | "gio");
            let deep = all || has(&args, Effect::Deep) || recursive(rest);
            rm(name, deep, &given, part, scope, dirs)
        }
        Shape::Find => find(&args, scope, dirs),
        Shape::PatternTrees if matches!(name, "fd" | "fdfind") => fd(&args, scope, dirs),
        Shape::Moves if name != "git" => {
            let folder =
                args.options.iter().any(|o| matches!(o.name.as_str(), "-t" | "--target-directory"));
            let sources = given.len().saturating_sub(usize::from(!folder));
            removed(&given[..sources])
        }
        Shape::Modes => {
            let mut given = given.into_iter().filter(|word| !is_here(word, scope));
            let all = has(&args, Effect::Deep);
            all.then(|| given.find_map(|word| target(word, true, scope, dirs))).flatten()
        }
        Shape::Copies if name == "rsync" && has(&args, Effect::Remove) => {
            let sources = |o: &super::args::Given| o.name.starts_with("--remove-s");
            if args.options.iter().any(sources) {
                removed(&given[..given.len().saturating_sub(1)])
            } else {
                removed(&given[given.len().saturating_sub(1)..])
            }
        }
        Shape::Copies | Shape::Writes => given.into_iter().find_map(|word| device(word, scope)),
        Shape::Trees if has(&args, Effect::Remove) => removed(&given),
        _ if name == "git" => git_clean(&args, scope, dirs),
        _ if name == "dd" => rest.iter().find_map(|word| device(&after(word, "of=")?, scope)),
        _ if name == "cmake" => cmake(&args, part, scope, dirs),
        _ if words[0].is_dynamic() && recursive(rest) => {
            rm("rm", true, &operands(rest), part, scope, dirs)
        }
        _ => None,
    }
}

/// Why a program that breaks machines would, with these words.
fn breaks(name: &str, words: &[Word]) -> Option<String> {
    // Volumes and pools have no path.
    if matches!(name, "zpool" | "zfs" | "btrfs" | "lvm" | "cryptsetup" | "diskutil") {
        let removes = ["destroy", "delete", "erase", "luksFormat", "eraseDisk", "labelclear"];
        let named = |word: &Word| known(word).is_some_and(|text| removes.contains(&text.as_str()));
        return words.iter().any(named).then(|| format!("`{name}` would remove a volume"));
    }
    let device =
        |word: &Word| word.is_dynamic() || word.value().is_some_and(|text| text.contains("/dev/"));
    let empties = name.starts_with("mk") || name.starts_with("newfs") || DEVICES.contains(&name);
    (empties && words.iter().any(device)).then(|| format!("`{name}` would empty a device"))
}

/// Programs that write over a whole device.
const DEVICES: &[&str] = &[
    "wipefs",
    "blkdiscard",
    "fdisk",
    "sfdisk",
    "cfdisk",
    "gdisk",
    "sgdisk",
    "parted",
    "badblocks",
    "pvremove",
    "vgremove",
    "lvremove",
];

/// `cmake -E rm -rf x`: its own remover.
fn cmake(args: &Args, part: &Part, scope: &Scope<'_>, dirs: &Critical<'_>) -> Option<String> {
    let command = args.options.iter().find(|given| given.name == "-E")?;
    let (first, rest) = command.command.split_first()?;
    let removes = matches!(known(first)?.as_str(), "rm" | "remove" | "remove_directory");
    removes.then(|| rm("rm", true, &operands(rest), part, scope, dirs)).flatten()
}

/// Words that are no options.
fn operands(args: &[Word]) -> Vec<&Word> {
    let mut out = Vec::new();
    let mut ended = false;
    for word in args {
        match word.value() {
            Some(text) if !ended && text == "--" => ended = true,
            Some(text) if !ended && text.starts_with('-') && text.len() > 1 => {}
            _ => out.push(word),
        }
    }
    out
}

/// Whether the options ask for everything below.
fn recursive(args: &[Word]) -> bool {
    args.iter().filter_map(Word::value).take_while(|text| text != "--").any(|text| {
        match text.strip_prefix("--") {
            Some(long) => long.len() > 1 && "recursive".starts_with(long),
            None => text.starts_with('-') && text.contains(['r', 'R']),
        }
    })
}

fn rm(
    name: &str,
    recursive: bool,
    given: &[&Word],
    part: &Part,
    scope: &Scope<'_>,
    dirs: &Critical<'_>,
) -> Option<String> {
    if name == "shred"
        && let Some(why) = given.iter().find_map(|word| device(word, scope))
    {
        return Some(why);
    }
    given.iter().find_map(|word| target(word, recursive, scope, dirs)).or_else(|| {
        // `find ~ | xargs rm`: what is removed comes from the commands before.
        let fed = given
            .iter()
            .any(|word| word.has_unknown() || word.pieces.iter().any(|p| risky(p, scope)))
            || given.is_empty();
        fed.then(|| part.upstream.iter().find_map(|words| listed(words, scope, dirs))).flatten()
    })
}

/// A command that lists all files of a place, for another one to remove them.
fn listed(words: &[Word], scope: &Scope<'_>, dirs: &Critical<'_>) -> Option<String> {
    let args = Args::parse(words)?;
    let all = |word: &Word| target(word, true, scope, dirs);
    let here = Word::plain(".");
    let or_here = |paths: &[Word]| match paths {
        [] => all(&here),
        paths => paths.iter().find_map(all),
    };
    match args.name.as_str() {
        "find" | "gfind" => find_from(&args, scope, dirs),
        "fd" | "fdfind" => fd_from(&args, scope, dirs),
        "git" if args.sub == ["ls-files"] => or_here(&args.operands),
        "rg" if args.options.iter().any(|given| given.name == "--files") => {
            let filters = ["-g", "-t", "-T", "--glob", "--iglob", "--type", "--type-not"];
            let filtered = args.options.iter().any(|o| filters.contains(&o.name.as_str()));
            if filtered { None } else { or_here(&args.operands) }
        }
        "echo" | "printf" | "realpath" | "readlink" => words[1..].iter().find_map(all),
        _ => None,
    }
}

/// Whether the word is the folder where commands start.
fn is_here(word: &Word, scope: &Scope<'_>) -> bool {
    let found = files(word, scope);
    !scope.cwd.moved
        && !found.unknown
        && found.paths.iter().all(|path| {
            let path = normal(path);
            scope.cwd.dirs.iter().any(|dir| normal(dir) == path)
        })
}

/// `git clean` of the workspace leaves what is tracked; of the home it leaves nothing.
fn git_clean(args: &Args, scope: &Scope<'_>, dirs: &Critical<'_>) -> Option<String> {
    let forced = |given: &super::args::Given| matches!(given.name.as_str(), "-f" | "--force");
    if args.sub != ["clean"] || !args.options.iter().any(forced) {
        return None;
    }
    let folders = args.globals.iter().filter(|given| given.name == "-C");
    let here = Word::plain(".");
    let given = folders
        .filter_map(|given| given.value.as_ref())
        .chain(&args.operands)
        .chain(scope.cwd.moved.then_some(&here));
    let mut elsewhere = given.filter(|word| !is_here(word, scope));
    elsewhere.find_map(|word| target(word, true, scope, dirs))
}

/// Devices that may always be written to.
fn harmless_device(path: &str) -> bool {
    let name = path.strip_prefix("/dev/").unwrap_or(path);
    matches!(
        name,
        "null" | "zero" | "full" | "random" | "urandom" | "tty" | "stdout" | "stderr" | "stdin"
    ) || ["fd/", "pts/", "shm/", "tcp/", "udp/", "tty", "ptmx"].iter().any(|p| name.starts_with(p))
}

/// Why writing to this word empties a device, if it does.
pub(crate) fn device(word: &Word, scope: &Scope<'_>) -> Option<String> {
    files(word, scope).paths.iter().find_map(|path| {
        let path = text(&normal(path));
        (path.starts_with("/dev/") && !harmless_device(&path))
            .then(|| format!("`{path}` is a device that would be written over"))
    })
}

/// Options of find that leave most files alone.
const FILTERS: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-regex",
    "-iregex",
    "-mtime",
    "-mmin",
    "-size",
    "-empty",
    "-newer",
    "-atime",
    "-wholename",
];

/// Whether a command that is run for each file removes it.
fn removes(command: &[Word]) -> bool {
    let remover = |name: &str| {
        Program::find(base(name)).is_some_and(|program| program.shape == Shape::Removes)
    };
    command.iter().take(6).any(|word| match word.value() {
        Some(text) => text.split([' ', ';']).any(remover),
        None => true,
    })
}

fn find(args: &Args, scope: &Scope<'_>, dirs: &Critical<'_>) -> Option<String> {
    let removing = args.options.iter().any(|given| {
        given.name == "-delete" || (!given.command.is_empty() && removes(&given.command))
    });
    removing.then(|| find_from(args, scope, dirs)).flatten()
}

/// Whether a pattern leaves some files alone.
fn narrows(word: Option<&Word>) -> bool {
    word.and_then(known).is_some_and(|text| text.chars().any(char::is_alphanumeric))
}

/// Where find starts, when that is critical.
fn find_from(args: &Args, scope: &Scope<'_>, dirs: &Critical<'_>) -> Option<String> {
    let has = |names: &[&str]| args.options.iter().any(|o| names.contains(&o.name.as_str()));
    let negated = has(&["!", "-not", "-o", "-or", ","]);
    let filtered = !negated
        && args.options.iter().any(|o| {
            FILTERS.contains(&o.name.as_str()) && (o.name == "-empty" || narrows(o.value.as_ref()))
        });
    let here = [Word::plain(".")];
    let starts = if args.operands.is_empty() { &here[..] } else { &args.operands };
    starts.iter().find_map(|word| {
        // A filtered clean-up of the workspace is everyday work; of the home it is not.
        let hit = target(word, true, scope, dirs)?;
        (!(filtered && is_here(word, scope))).then_some(hit)
    })
}

fn fd(args: &Args, scope: &Scope<'_>, dirs: &Critical<'_>) -> Option<String> {
    let removing = args.options.iter().any(|o| !o.command.is_empty() && removes(&o.command));
    removing.then(|| fd_from(args, scope, dirs)).flatten()
}

/// Where fd starts, when that is critical: what follows the pattern.
fn fd_from(args: &Args, scope: &Scope<'_>, dirs: &Critical<'_>) -> Option<String> {
    let extension =
        |given: &super::args::Given| matches!(given.name.as_str(), "-e" | "--extension");
    let filtered = narrows(args.operands.first()) || args.options.iter().any(extension);
    let here = [Word::plain(".")];
    let starts = args.operands.get(1..).filter(|starts| !starts.is_empty()).unwrap_or(&here);
    starts.iter().find_map(|word| {
        let hit = target(word, true, scope, dirs)?;
        (!(filtered && is_here(word, scope))).then_some(hit)
    })
}

/// Whether a variable that is not known may be a place that matters: what the script itself
/// computed, or what it was called with.
fn risky(piece: &Piece, scope: &Scope<'_>) -> bool {
    let Piece::Var { name, .. } = piece else { return false };
    let computed = scope.vars.get(name).is_some_and(|values| {
        // A folder that was just made is not critical.
        !values.iter().all(|value| match value {
            crate::shell::vars::Value::Set(word) => {
                // The pieces do not keep the command.
                let raw = word.raw.trim_matches('"');
                let command = raw.strip_prefix("$(mktemp").and_then(|raw| raw.strip_suffix(')'));
                let plain = |c: char| c.is_ascii_alphanumeric() || " -_.=".contains(c);
                word.pieces.as_slice() == [Piece::Unknown]
                    && command.is_some_and(|rest| rest.chars().all(plain))
            }
            _ => false,
        })
    });
    computed
        || matches!(name.as_str(), "OLDPWD" | "_" | "@" | "*" | "DIRSTACK" | "BASH_SOURCE")
        || name.chars().all(|c| c.is_ascii_digit())
}
