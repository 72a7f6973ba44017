//! Finds critical removals: of the root, its direct entries, the home, the workspace and the
//! folders that contain it, in any spelling and by any program that is known to remove files.

use std::path::Path;

use super::args::{Args, Given, base, known};
use super::files::after;
use super::{Effect, Lists, Program, Shape, Trait};
use crate::shell::Part;
use crate::shell::expand::{Live, Scope, files, is_glob, tilde, variants};
use crate::shell::vars::Value;
use crate::shell::word::{Piece, Word};
use crate::words;
use crate::workspace::{normal, text, within};

/// Returns whether removing this folder takes the root, one of its entries or one of these places
/// along.
pub(crate) fn takes(dirs: &[String], path: &Path) -> bool {
    let path = text(&normal(path));
    let depth = path.split('/').filter(|name| !name.is_empty()).count();
    depth <= 1 || dirs.iter().any(|dir| within(dir, &path, false))
}

pub(crate) struct Removal<'a> {
    pub(crate) part: &'a Part,
    pub(crate) scope: &'a Scope<'a>,
    /// The home and the workspace's folders, by every name.
    pub(crate) dirs: &'a [String],
}

impl Removal<'_> {
    /// Returns why this command is a critical removal, if it is.
    pub(crate) fn of_command(&self, words: &[Word]) -> Option<String> {
        let (first, rest) = words.split_first()?;
        // A program that is not in the model, with the options of a removal: `/bin/r? -rf ~`
        let hidden = || {
            let removes = first.is_dynamic() && recursive(rest);
            removes.then(|| self.rm(true, &operands(rest))).flatten()
        };
        let Some(args) = Args::parse(words) else { return hidden() };
        let (spec, given) = (args.spec, args.operands.iter().collect::<Vec<_>>());
        if spec.is(Trait::Breaks) {
            return breaks(&args.name, args.program, rest);
        }
        // An option that is given a folder to empty.
        let emptied = |given: &Given| self.all(given.value.as_ref()?);
        if let Some(why) = args.given(Effect::Remove).find_map(emptied) {
            return Some(why);
        }
        let removed = |given: &[&Word]| given.iter().find_map(|word| self.all(word));
        let git = args.program.is(Trait::Git);
        let sources = given.len().saturating_sub(1);
        match spec.shape {
            // `git rm` and `git mv` only touch files of the repository.
            Shape::Removes | Shape::Moves if git => None,
            Shape::Removes => {
                let device = |word: &&Word| device(word, self.scope);
                let emptied = spec.is(Trait::Empties).then(|| given.iter().find_map(device));
                let deep = spec.is(Trait::Whole) || args.has(Effect::Deep) || recursive(rest);
                emptied.flatten().or_else(|| self.rm(deep, &given))
            }
            Shape::Find | Shape::PatternTrees if args.options.iter().any(removes) => {
                self.listed(&args, words)
            }
            Shape::Moves if args.has_any(&["-t", "--target-directory"]) => removed(&given),
            Shape::Moves => removed(&given[..sources]),
            Shape::Modes if args.has(Effect::Deep) => {
                // In the workspace this is usual.
                let mut elsewhere = given.into_iter().filter(|word| !self.is_here(word));
                elsewhere.find_map(|word| self.all(word))
            }
            Shape::Copies if args.has(Effect::Drop) => removed(&given[..sources]),
            Shape::Copies if args.has(Effect::Remove) => removed(&given[sources..]),
            Shape::Copies | Shape::Writes => {
                given.into_iter().find_map(|word| device(word, self.scope))
            }
            Shape::Trees if args.has(Effect::Remove) => removed(&given),
            Shape::Device => rest.iter().find_map(|word| device(&after(word, "of=")?, self.scope)),
            _ if spec.is(Trait::Cleans) => self.git_clean(&args),
            // `cmake -E rm -rf x`: its own remover.
            _ if spec.is(Trait::Remover) => {
                let command = &args.options.iter().find(|given| !given.command.is_empty())?.command;
                let (first, rest) = command.split_first()?;
                let removes =
                    matches!(known(first)?.as_str(), "rm" | "remove" | "remove_directory");
                removes.then(|| self.rm(true, &operands(rest))).flatten()
            }
            _ => hidden(),
        }
    }

    fn all(&self, word: &Word) -> Option<String> {
        self.target(word, true)
    }

    fn target(&self, word: &Word, recursive: bool) -> Option<String> {
        let scope = self.scope;
        // A link may lead to one of these places.
        let holds = |path: &Path| {
            takes(self.dirs, path)
                || scope.paths.canonical(path).is_some_and(|real| takes(self.dirs, &real))
        };
        let what = || Some(format!("`{}` would be removed", word.raw));
        let (texts, unknown) = variants(word, scope, 0);
        for text in &texts {
            let Some(text) = tilde(text, scope.home) else { return what() };
            let (stem, all) = without_wildcards(&text);
            // Without `-r`, `rm dir/*` leaves the folders in it.
            if all && !recursive {
                continue;
            }
            let absolute = stem.starts_with('/');
            if scope.cwd.lost && !absolute && (all || matches!(stem.as_str(), "." | ".." | "./")) {
                return what();
            }
            if stem.is_empty() && !all {
                continue;
            }
            let glob = is_glob(&text) && !all;
            let matches = || files(word, scope).paths.iter().any(|path| holds(path));
            if scope.cwd.dirs.iter().any(|dir| holds(&dir.join(&stem)) || (glob && matches())) {
                return what();
            }
        }
        if !unknown {
            return None;
        }
        // `"$X"/*` with an empty X is the root; `$(pwd)` is anything.
        let empty_is_root = word.pieces.len() > 1
            && word.pieces.iter().all(|piece| match piece {
                Piece::Var { .. } | Piece::Number | Piece::Unknown => true,
                Piece::Text { text, .. } | Piece::Ansi(text) => {
                    text.starts_with('/') && text.chars().all(|c| matches!(c, '/' | '*' | '.'))
                }
            });
        let substituted = recursive && word.has_unknown() && word.raw != "{}";
        let computed =
            recursive && word.pieces.len() == 1 && word.pieces.iter().all(|p| risky(p, scope));
        if empty_is_root || substituted || computed { what() } else { None }
    }

    fn rm(&self, recursive: bool, given: &[&Word]) -> Option<String> {
        given.iter().find_map(|word| self.target(word, recursive)).or_else(|| {
            // `find ~ | xargs rm`: what is removed comes from the commands before.
            let open = |word: &&Word| {
                word.has_unknown() || word.pieces.iter().any(|p| risky(p, self.scope))
            };
            if !given.is_empty() && !given.iter().any(open) {
                return None;
            }
            self.part.upstream.iter().find_map(|words| self.listed(&Args::parse(words)?, words))
        })
    }

    /// Returns a command that lists all files of a place, for another one to remove them.
    fn listed(&self, args: &Args, words: &[Word]) -> Option<String> {
        let here = [Word::plain(".")];
        let or_here = |paths: &[Word], filtered: bool| {
            let starts = if paths.is_empty() { &here[..] } else { paths };
            starts.iter().find_map(|word| {
                // A filtered removal in the workspace is usual; in the home it is not.
                let hit = self.all(word)?;
                (!(filtered && self.is_here(word))).then_some(hit)
            })
        };
        let narrow = |given: &Given| given.does(Effect::Narrow);
        match args.program.lists {
            Some(Lists::Find) => {
                let filter = |given: &Given| {
                    (narrow(given) && (given.value.is_none() || narrows(given.value.as_ref())))
                        || (given.does(Effect::Read) && narrows(given.value.as_ref()))
                };
                let negated = args.has_any(&["!", "-not", "-o", "-or", ","]);
                or_here(&args.operands, !negated && args.options.iter().any(filter))
            }
            // What follows the pattern.
            Some(Lists::Fd) => {
                let filtered = narrows(args.operands.first()) || args.options.iter().any(narrow);
                or_here(args.operands.get(1..).unwrap_or_default(), filtered)
            }
            Some(Lists::Git) if args.spec.is(Trait::Lists) && !args.spec.is(Trait::Shows) => {
                or_here(&args.operands, false)
            }
            Some(Lists::Names)
                if args.has_any(&["--files"]) && !args.options.iter().any(narrow) =>
            {
                or_here(&args.operands, false)
            }
            _ if args.program.is(Trait::Prints) => words[1..].iter().find_map(|w| self.all(w)),
            _ => None,
        }
    }

    fn is_here(&self, word: &Word) -> bool {
        let (found, cwd) = (files(word, self.scope), self.scope.cwd);
        let is_start = |path| cwd.dirs.iter().any(|dir| normal(dir) == normal(path));
        !cwd.moved && !found.unknown && found.paths.iter().all(|path| is_start(path))
    }

    /// `git clean` of the workspace leaves what is tracked; of the home it leaves nothing.
    fn git_clean(&self, args: &Args) -> Option<String> {
        if !args.has_any(&["-f", "--force"]) {
            return None;
        }
        let here = Word::plain(".");
        let folders = args.given(Effect::Folder).filter_map(|given| given.value.as_ref());
        let given = folders.chain(&args.operands).chain(self.scope.cwd.moved.then_some(&here));
        let mut elsewhere = given.filter(|word| !self.is_here(word));
        elsewhere.find_map(|word| self.all(word))
    }
}

/// Returns why a program that can destroy a system would do so with these words.
fn breaks(name: &str, program: &Program, given: &[Word]) -> Option<String> {
    let volume = |word: &Word| known(word).is_some_and(|text| words::has("volume-removals", &text));
    let device =
        |word: &Word| word.is_dynamic() || word.value().is_some_and(|text| text.contains("/dev/"));
    if program.is(Trait::Volumes) && given.iter().any(volume) {
        Some(format!("`{name}` would remove a volume"))
    } else if program.is(Trait::Empties) && given.iter().any(device) {
        Some(format!("`{name}` would empty a device"))
    } else {
        None
    }
}

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

fn recursive(args: &[Word]) -> bool {
    args.iter().filter_map(Word::value).take_while(|text| text != "--").any(|text| {
        match text.strip_prefix("--") {
            Some(long) => long.len() > 1 && "recursive".starts_with(long),
            None => text.starts_with('-') && text.contains(['r', 'R']),
        }
    })
}

pub(crate) fn device(word: &Word, scope: &Scope<'_>) -> Option<String> {
    files(word, scope).paths.iter().find_map(|path| {
        let path = text(&normal(path));
        let name = path.strip_prefix("/dev/")?;
        (!words::covers("harmless-devices", name))
            .then(|| format!("`{path}` is a device that would be written over"))
    })
}

/// Returns whether an option removes what is found, or runs a command for each file that does.
fn removes(given: &Given) -> bool {
    let remover = |name: &str| Program::find(base(name)).is_some_and(|p| p.shape == Shape::Removes);
    given.does(Effect::Remove)
        || given.command.iter().take(6).any(|word| match word.value() {
            Some(text) => text.split([' ', ';']).any(remover),
            None => true,
        })
}

fn narrows(word: Option<&Word>) -> bool {
    word.and_then(known).is_some_and(|text| text.chars().any(char::is_alphanumeric))
}

/// Returns whether a variable that is not known may be a place that matters: what the script itself
/// computed, or what it was called with.
fn risky(piece: &Piece, scope: &Scope<'_>) -> bool {
    let Piece::Var { name, .. } = piece else { return false };
    // A folder that was just made is not critical.
    let made = |value: &Value| match value {
        Value::Set(word) => {
            // The pieces do not keep the command.
            let raw = word.raw.trim_matches('"');
            let command = raw.strip_prefix("$(mktemp").and_then(|raw| raw.strip_suffix(')'));
            let plain = |c: char| c.is_ascii_alphanumeric() || " -_.=".contains(c);
            word.pieces.as_slice() == [Piece::Unknown]
                && command.is_some_and(|rest| rest.chars().all(plain))
        }
        _ => false,
    };
    scope.vars.get(name).is_some_and(|values| !values.iter().all(made))
        || words::has("risky-variables", name)
        || name.chars().all(|c| c.is_ascii_digit())
}

/// `dir/*` and `dir/.*` and `*` remove all of `dir`: gives `dir` and true.
fn without_wildcards(text: &[Live]) -> (String, bool) {
    let plain: String = text.iter().map(|(c, _)| *c).collect();
    let last_start = text.iter().rposition(|(c, _)| *c == '/').map_or(0, |i| i + 1);
    let last = &text[last_start..];
    let wild = !last.is_empty()
        && last
            .iter()
            .all(|(c, live)| *c == '.' || (*live && matches!(c, '*' | '?' | '[' | ']' | '!')))
        && last.iter().any(|(c, live)| *live && *c == '*');
    if wild {
        let stem: String = text[..last_start].iter().map(|(c, _)| *c).collect();
        let (inner, _) = if stem.len() > 1 { trim_wild(&stem, text) } else { (stem, false) };
        (inner, true)
    } else {
        (plain, false)
    }
}

/// `/*/*` empties the root as well.
fn trim_wild(stem: &str, text: &[Live]) -> (String, bool) {
    let trimmed = stem.trim_end_matches('/');
    let upto = trimmed.chars().count();
    if trimmed.ends_with('*') && text.get(upto.saturating_sub(1)).is_some_and(|(_, live)| *live) {
        return without_wildcards(&text[..upto]);
    }
    (stem.to_owned(), true)
}
