//! Removals nobody means: the root, what lies directly in it, the home, the workspace and
//! what it lies in, in any spelling and by any program that is known to take files away.

mod target;

use std::path::Path;

use super::expand::{Scope, files};
use super::parse::Part;
use super::word::{Piece, Word};
use super::wrappers::base;
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

/// Programs that remove what they are given.
const REMOVERS: &[&str] = &[
    "rm",
    "rmdir",
    "unlink",
    "grm",
    "srm",
    "shred",
    "trash",
    "trash-put",
    "rimraf",
    "wipe",
    "del",
];

/// Programs that write over a whole device.
const DEVICE_BREAKERS: &[&str] = &[
    "wipefs",
    "blkdiscard",
    "mkswap",
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

/// Why this command is a critical removal, if it is.
pub(crate) fn critical(
    words: &[Word],
    part: &Part,
    scope: &Scope<'_>,
    dirs: &Critical<'_>,
) -> Option<String> {
    let args = words.get(1..)?;
    let Some(program) = words.first()?.value() else {
        // A program that nobody knows, with the options of a removal.
        return recursive(args).then(|| rm("rm", args, part, scope, dirs)).flatten();
    };
    let name = base(&program);
    if name.starts_with("mkfs")
        || name == "mke2fs"
        || name.starts_with("newfs")
        || DEVICE_BREAKERS.contains(&name)
    {
        return args
            .iter()
            .any(|word| word.raw.contains("/dev/") || word.is_dynamic())
            .then(|| format!("`{name}` would empty a device"));
    }
    // Volumes and pools have no path.
    if matches!(name, "zpool" | "zfs" | "btrfs" | "lvm" | "cryptsetup" | "diskutil") {
        let removes = ["destroy", "delete", "erase", "luksFormat", "eraseDisk", "labelclear"];
        return args
            .iter()
            .any(|word| removes.contains(&word.raw.as_str()))
            .then(|| format!("`{name}` would remove a volume"));
    }
    if REMOVERS.contains(&name) {
        return rm(name, args, part, scope, dirs);
    }
    let operands = operands(args);
    match name {
        "find" | "fd" | "fdfind" => find(name, args, scope, dirs),
        "mv" | "gmv" => {
            let given = args.iter().any(|w| {
                w.raw.starts_with("--target") || (w.raw.starts_with("-") && w.raw.contains('t'))
            });
            let sources = operands.len().saturating_sub(usize::from(!given));
            any_target(operands.iter().take(sources).copied(), scope, dirs)
        }
        "gio" | "gvfs-trash" | "kioclient" => any_target(operands.into_iter().skip(1), scope, dirs),
        "rsync" => rsync(args, &operands, scope, dirs),
        "git" => git_clean(args, scope, dirs),
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" => {
            let all = args.iter().any(|w| {
                w.raw == "--recursive"
                    || (w.raw.starts_with('-') && !w.raw.starts_with("--") && w.raw.contains('R'))
            });
            let mut given = operands.into_iter().filter(|word| !is_here(word, scope));
            all.then(|| given.find_map(|word| target(word, true, scope, dirs))).flatten()
        }
        "tar" | "bsdtar" if has(args, "--remove-files") => {
            any_target(operands.into_iter(), scope, dirs)
        }
        "zip" if args.iter().any(|w| matches!(w.raw.as_str(), "--move" | "-m" | "-rm" | "-mr")) => {
            any_target(operands.into_iter(), scope, dirs)
        }
        "7z" | "7za" if has(args, "-sdel") => any_target(operands.into_iter(), scope, dirs),
        "dd" => args.iter().find_map(|word| {
            let of = word.raw.strip_prefix("of=")?;
            device(&Word::parse(of), scope)
        }),
        "tee" | "cp" | "install" | "mcopy" => operands.into_iter().find_map(|w| device(w, scope)),
        // `/bin/r? -rf ~`
        _ if words[0].is_dynamic() && recursive(args) => rm("rm", args, part, scope, dirs),
        _ => None,
    }
}

fn has(args: &[Word], flag: &str) -> bool {
    args.iter().any(|word| word.raw == flag)
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

fn any_target<'w>(
    mut words: impl Iterator<Item = &'w Word>,
    scope: &Scope<'_>,
    dirs: &Critical<'_>,
) -> Option<String> {
    words.find_map(|word| target(word, true, scope, dirs))
}

fn rm(
    name: &str,
    args: &[Word],
    part: &Part,
    scope: &Scope<'_>,
    dirs: &Critical<'_>,
) -> Option<String> {
    let recursive =
        recursive(args) || matches!(name, "trash" | "trash-put" | "rimraf" | "shred" | "wipe");
    let given = operands(args);
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
    let program = words.first()?.value()?;
    let args = &words[1..];
    let all = |word: &Word| target(word, true, scope, dirs);
    match base(&program) {
        "find" => find_from(args, scope, dirs),
        "fd" | "fdfind" => fd_from(args, scope, dirs),
        "git" if args.iter().any(|w| w.raw == "ls-files") => {
            let paths: Vec<&Word> =
                operands(args).into_iter().filter(|w| w.raw != "ls-files").collect();
            if paths.is_empty() { all(&Word::plain(".")) } else { paths.into_iter().find_map(all) }
        }
        "rg" if has(args, "--files") => {
            let filtered = args.iter().any(|w| w.raw.starts_with("-g") || w.raw.starts_with("-t"));
            let paths = operands(args);
            if filtered {
                None
            } else if paths.is_empty() {
                all(&Word::plain("."))
            } else {
                paths.into_iter().find_map(all)
            }
        }
        "echo" | "printf" | "realpath" | "readlink" => args.iter().find_map(all),
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

fn rsync(
    args: &[Word],
    operands: &[&Word],
    scope: &Scope<'_>,
    dirs: &Critical<'_>,
) -> Option<String> {
    let flag = |start: &str| args.iter().any(|w| w.raw.starts_with(start));
    if flag("--del") {
        let last = operands.last()?;
        return target(last, true, scope, dirs);
    }
    if flag("--remove-s") || flag("--remove-sent") {
        let sources = operands.len().saturating_sub(1);
        return any_target(operands.iter().take(sources).copied(), scope, dirs);
    }
    None
}

/// `git clean` of the workspace leaves what is tracked; of the home it leaves nothing.
fn git_clean(args: &[Word], scope: &Scope<'_>, dirs: &Critical<'_>) -> Option<String> {
    let at = args.iter().position(|word| word.raw == "clean")?;
    let forced = args[at..].iter().any(|w| {
        w.raw == "--force"
            || (w.raw.starts_with('-') && !w.raw.starts_with("--") && w.raw.contains('f'))
    });
    if !forced {
        return None;
    }
    let folders = args[..at].windows(2).filter(|pair| pair[0].raw == "-C").map(|pair| &pair[1]);
    let here = Word::plain(".");
    let given = folders.chain(operands(&args[at + 1..])).chain(scope.cwd.moved.then_some(&here));
    let elsewhere = given.filter(|word| !is_here(word, scope));
    elsewhere.into_iter().find_map(|word| target(word, true, scope, dirs))
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

fn find(name: &str, args: &[Word], scope: &Scope<'_>, dirs: &Critical<'_>) -> Option<String> {
    let value = |word: &Word| word.value().unwrap_or_default();
    let removes = args.iter().enumerate().any(|(i, word)| match value(word).as_str() {
        "-delete" => true,
        "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch" => {
            args[i + 1..].iter().take(6).any(|w| {
                w.value().is_none()
                    || value(w).split([' ', ';']).any(|t| REMOVERS.contains(&base(t)))
            })
        }
        _ => false,
    });
    match name {
        _ if !removes => None,
        "find" => find_from(args, scope, dirs),
        _ => fd_from(args, scope, dirs),
    }
}

/// Where find starts, when that is critical.
fn find_from(args: &[Word], scope: &Scope<'_>, dirs: &Critical<'_>) -> Option<String> {
    let value = |word: &Word| word.value().unwrap_or_default();
    let negated =
        args.iter().any(|word| matches!(value(word).as_str(), "!" | "-not" | "-o" | "-or"));
    let filtered = !negated && args.iter().any(|word| FILTERS.contains(&value(word).as_str()));
    let mut starts: Vec<Word> = args
        .iter()
        .skip_while(|w| matches!(w.raw.as_str(), "-L" | "-H" | "-P"))
        .take_while(|w| !matches!(value(w).chars().next(), Some('-' | '(' | '!')))
        .cloned()
        .collect();
    if starts.is_empty() {
        starts.push(Word::plain("."));
    }
    starts.iter().find_map(|word| {
        // A filtered clean-up of the workspace is everyday work; of the home it is not.
        let hit = target(word, true, scope, dirs)?;
        (!(filtered && is_here(word, scope))).then_some(hit)
    })
}

/// Where fd starts, when that is critical: what follows the pattern.
fn fd_from(args: &[Word], scope: &Scope<'_>, dirs: &Critical<'_>) -> Option<String> {
    let own = args
        .iter()
        .take_while(|w| !matches!(w.raw.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"));
    let own: Vec<Word> = own.cloned().collect();
    let given = operands(&own);
    let filtered =
        given.first().is_some_and(|pattern| pattern.raw.chars().any(char::is_alphanumeric))
            || own.iter().any(|w| w.raw.starts_with("-e"));
    let here = Word::plain(".");
    let mut starts: Vec<&Word> = given.into_iter().skip(1).collect();
    if starts.is_empty() {
        starts.push(&here);
    }
    starts.into_iter().find_map(|word| {
        let hit = target(word, true, scope, dirs)?;
        (!(filtered && is_here(word, scope))).then_some(hit)
    })
}

/// Whether a variable that is not known may be a place that matters: what the script itself
/// computed, or what it was called with.
fn risky(piece: &Piece, scope: &Scope<'_>) -> bool {
    let Piece::Var { name, .. } = piece else { return false };
    let computed = scope.vars.get(name).is_some_and(|values| {
        // A folder that was just made is nobody's home.
        !values.iter().all(|value| match value {
            super::vars::Value::Set(word) => {
                let raw = word.raw.trim_matches('"');
                raw.starts_with("$(mktemp") && !raw.contains([';', '|', '&'])
            }
            _ => false,
        })
    });
    computed
        || matches!(name.as_str(), "OLDPWD" | "_" | "@" | "*" | "DIRSTACK" | "BASH_SOURCE")
        || name.chars().all(|c| c.is_ascii_digit())
}
