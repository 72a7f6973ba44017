//! Proves read-only commands that depend on the commands around them: over files that another
//! command lists (`find . -type f | xargs grep x`), after a `cd`, or inside `sh -c`.

use std::path::{Path, PathBuf};

use robota_core::paths::PathKind;

use super::Base;
use super::shell::Shell;
use crate::program::args::{Args, Given, known};
use crate::program::read_only;
use crate::program::wrap::{self, Fed};
use crate::program::{Effect, Lists, Program, Shape, Trait};
use crate::shell::parse::Cwd;
use crate::shell::word::Piece;
use crate::shell::{Part, Script, Word, expand};
use crate::verdict::Findings;
use crate::words;

/// More entries than this are not checked, and then the command is not proven.
const MAX_ENTRIES: usize = 10_000;

const NAME: &str = "./…";

/// The files that the command before a pipe lists.
struct Listed {
    /// The files and folders at which the list starts.
    starts: Vec<Word>,
    /// Whether links may be among the listed files, which could lead out of the workspace.
    links: bool,
    /// Whether a line may begin with the name of a start. A name that begins with a dash would be read
    /// as an option.
    bare: bool,
    /// Whether a line may begin with the name of an entry of a folder.
    inner: bool,
}

impl Shell<'_, '_> {
    /// Returns what a command reads whose arguments are files that another command lists; `None` if
    /// it is not proven.
    pub(super) fn fed_base(&self, part: &Part) -> Option<Base> {
        known(part.words.first()?)?;
        if Program::of(&part.words).is_some_and(|program| program.shape == Shape::Find) {
            return self.find_base(part);
        }
        let fed = wrap::fed(&part.words)?;
        // A command that only prints its arguments may get any words, so its input need not be a
        // list of files.
        if takes_anything(&fed.words) {
            return self.inner_base(part, &fed.words);
        }
        // It must be read-only with any number of names, so it is tried with one and with two.
        let mut base = Base::ReadOnly;
        for extra in 1..=2 {
            base = base.and(self.inner_base(part, &filled(&fed, extra)?)?);
        }
        Some(base.and(self.listed_base(part, &part.upstream, &fed)?))
    }

    /// Returns whether every part is read-only where it runs if each `cd` works. A read-only script
    /// removes no folder that it enters later, so that those which exist now are entered.
    pub(super) fn reads_only_straight(&self) -> bool {
        if !self.script.doubts.is_empty()
            || self.script.endless
            || !self.script.parts.iter().any(|part| part.cwd.moved)
        {
            return false;
        }
        self.parts().all(|(part, seen)| {
            let Some(straight) = part.cwd.straight.clone() else { return false };
            let entered = |dir: &PathBuf| self.disk.paths.kind(dir) == PathKind::Dir;
            if !straight.entered.iter().all(entered) {
                return false;
            }
            let cwd = Cwd { dirs: vec![straight.at], lost: false, ..part.cwd.clone() };
            let part = Part { cwd, ..part.clone() };
            self.part_base(&part, seen, None, &mut Findings::default()) == Base::ReadOnly
        })
    }

    /// `wc -l $(git ls-files)`: a read-only command over what another one lists.
    pub(super) fn output_base(&self, part: &Part, words: &[Word]) -> Option<Base> {
        let mut base = Base::ReadOnly;
        let output = |word: &Word| word.pieces.as_slice() == [Piece::Unknown];
        let [(at, commands)] = part.outputs.as_slice() else { return None };
        // The words may be those under a wrapper.
        let at = (at + words.len()).checked_sub(part.words.len())?;
        if !words.get(at).is_some_and(output)
            || words.iter().filter(|w| w.has_unknown()).count() > 1
        {
            return None;
        }
        for extra in 1..=2 {
            let names = (0..extra).map(|_| Word::plain(NAME));
            let mut filled = words.to_vec();
            filled.splice(at..=at, names);
            base = base.and(self.inner_base(part, &filled)?);
        }
        Some(base.and(self.listed_base(part, commands, &Fed::default())?))
    }

    /// `sh -c 'ls'`: read-only if its script is.
    pub(super) fn script_base(&self, part: &Part, words: &[Word]) -> Option<Base> {
        let [program, flag, text] = words else { return None };
        if !matches!(program.literal()?.as_str(), "sh" | "bash" | "dash")
            || flag.literal()? != "-c"
            || part.cwd.lost
            || !self.disk.may_open_script()
        {
            return None;
        }
        let text = text.literal()?;
        let mut base = Base::ReadOnly;
        for cwd in part.cwd.dirs.iter().take(4) {
            let mut inner = Script::parse(&text, cwd, &self.policy.workspace.home);
            if !inner.doubts.is_empty() || inner.endless {
                return None;
            }
            for (name, values) in &self.script.vars {
                inner.vars.entry(name.clone()).or_default().extend(values.iter().cloned());
            }
            let shell = Shell::new(self.policy, self.disk, &inner);
            for (part, seen) in shell.parts() {
                let this = shell.part_base(part, seen, None, &mut Findings::default());
                // Only what is proven: an allow rule for an inner command is not enough for the
                // shell that runs it.
                if !matches!(this, Base::ReadOnly | Base::ReadOutside) {
                    return None;
                }
                base = base.and(this);
            }
        }
        Some(base)
    }

    /// Returns what a pipeline reads that lists files; `None` when it may print anything else.
    pub(super) fn listed_base(
        &self,
        part: &Part,
        pipeline: &[Vec<Word>],
        fed: &Fed,
    ) -> Option<Base> {
        let (first, filters) = pipeline.split_first()?;
        if part.cwd.moved || part.cwd.lost || !filters.iter().all(|words| passes(words, part)) {
            return None;
        }
        self.starts_base(part, &listed(first, part)?, fed)
    }

    /// Returns what is read where a list starts; `None` when a name there may become anything else.
    fn starts_base(&self, part: &Part, listed: &Listed, fed: &Fed) -> Option<Base> {
        let mut base = Base::ReadOnly;
        for start in &listed.starts {
            let expansion = expand::files(start, &self.scope(part));
            let tidy = expansion.paths.iter().all(|path| self.tidy(path, fed, listed));
            (!expansion.unknown && tidy).then_some(())?;
            base = base.and(self.reads_base(part, std::slice::from_ref(start)));
        }
        Some(base)
    }

    pub(super) fn inner_base(&self, part: &Part, words: &[Word]) -> Option<Base> {
        let reads = read_only::reads(words, part)?;
        if reads.fixed_cwd || reads.follows || reads.version || words.iter().any(Word::is_dynamic) {
            return None;
        }
        let is_name = |word: &Word| known(word).as_deref() == Some(NAME);
        let own: Vec<Word> = reads.paths.into_iter().filter(|word| !is_name(word)).collect();
        Some(self.reads_base(part, &own))
    }

    /// `find … -exec wc -l {} +`: a read-only command over each file that is found.
    fn find_base(&self, part: &Part) -> Option<Base> {
        let at = part.words.iter().position(|word| known(word).as_deref() == Some("-exec"))?;
        let (before, exec) = part.words.split_at(at);
        let (last, inner) = exec[1..].split_last()?;
        let last = last.value()?;
        if !matches!(last.as_str(), ";" | "+") || part.cwd.moved || part.cwd.lost {
            return None;
        }
        let names = if last == "+" { 2 } else { 1 };
        let mut words = Vec::new();
        for word in inner {
            let text = word.value()?;
            if text == "{}" {
                words.extend((0..names).map(|_| Word::plain(NAME)));
            } else if word.is_dynamic() || text.contains("{}") || text == ";" || text == "+" {
                // A second action may follow, or the name may become something else.
                return None;
            } else {
                words.push(word.clone());
            }
        }
        let base = self.inner_base(part, &words)?;
        let fed = Fed { words, nul: true, ..Fed::default() };
        Some(base.and(self.starts_base(part, &listed(before, part)?, &fed)?))
    }

    /// Returns whether no link below this folder leads out of the workspace.
    pub(super) fn stays_inside(&self, folder: &Path) -> bool {
        let listed = Listed { starts: Vec::new(), links: true, bare: false, inner: false };
        self.tidy(folder, &Fed { nul: true, ..Fed::default() }, &listed)
    }

    /// Returns whether no name below this folder can become anything but a file of the workspace.
    fn tidy(&self, start: &Path, fed: &Fed, listed: &Listed) -> bool {
        let paths = self.disk.paths;
        // Names that end with a NUL and can be neither links nor options need no look at the disk.
        if fed.nul && !listed.links && !listed.bare {
            return true;
        }
        let mut todo: Vec<(PathBuf, bool)> = vec![(start.to_owned(), true)];
        let mut budget = MAX_ENTRIES;
        while let Some((dir, top)) = todo.pop() {
            for name in paths.entries(&dir) {
                budget = match budget.checked_sub(1) {
                    Some(left) => left,
                    None => return false,
                };
                let bare = listed.bare && (top || listed.inner);
                if (bare && name.starts_with('-')) || (!fed.nul && splits(&name, fed.lines)) {
                    return false;
                }
                let path = dir.join(&name);
                match paths.kind(&path) {
                    PathKind::Dir if name != ".git" => todo.push((path, false)),
                    PathKind::Link
                        if listed.links && !self.policy.roots.holds(&self.disk.lookup(&path)) =>
                    {
                        return false;
                    }
                    _ => {}
                }
            }
        }
        true
    }
}

/// Returns whether splitting a name as xargs does could leave another path or an option.
fn splits(name: &str, lines: bool) -> bool {
    let blank = |c: char| c.is_whitespace();
    if name.contains(['"', '\'', '\\', '\n']) {
        return true;
    }
    if lines {
        return name.starts_with(blank);
    }
    name.ends_with(blank)
        || name.split(blank).skip(1).any(|word| word.starts_with(['-', '.', '/', '~']))
}

/// Returns the command with this many names; `None` if a name would become part of another word.
fn filled(fed: &Fed, names: usize) -> Option<Vec<Word>> {
    let Some(place) = &fed.place else {
        let names = (0..names).map(|_| Word::plain(NAME));
        return Some(fed.words.iter().cloned().chain(names).collect());
    };
    let fill = |word: &Word| match known(word)? {
        text if text == *place => Some(Word::plain(NAME)),
        text if text.contains(place.as_str()) => None,
        _ => Some(word.clone()),
    };
    fed.words.iter().map(fill).collect()
}

fn takes_anything(words: &[Word]) -> bool {
    Args::parse(words).is_some_and(|args| {
        let plain = args.spec.options.iter().all(|option| option.effect == Effect::Inert);
        args.spec.shape == Shape::Text
            && args.spec.is(Trait::Free)
            && args.spec.is(Trait::Inert)
            && plain
    })
}

fn passes(given: &[Word], part: &Part) -> bool {
    let Some(reads) = read_only::reads(given, part) else { return false };
    let Some(args) = Args::parse(given) else { return false };
    let numbers = args.spec.is(Trait::Asked);
    let whole = args.options.iter().all(|given| {
        words::has("filtering-options", &given.name)
            && !(numbers && matches!(given.name.as_str(), "-n" | "-r"))
    });
    args.spec.is(Trait::Passes) && whole && reads.paths.is_empty()
}

fn listed(given: &[Word], part: &Part) -> Option<Listed> {
    let reads = read_only::reads(given, part)?;
    let args = Args::parse(given)?;
    let or_here = |paths: Vec<Word>| if paths.is_empty() { vec![Word::plain(".")] } else { paths };
    let all = |list: &str| args.options.iter().all(|given| words::has(list, &given.name));
    let (starts, links, bare, inner) = match args.program.lists? {
        Lists::Find if args.has_any(&["-printf", "-ls", "-L", "-H", "-follow"]) => return None,
        Lists::Find => {
            let file =
                |given: &Given| given.name == "-type" && given.known().as_deref() == Some("f");
            let alternatives = args.has_any(&["-o", "-or", ",", "!", "-not"]);
            let links = !args.options.iter().any(file) || alternatives;
            (args.operands.clone(), links, false, false)
        }
        Lists::Names if args.has_any(&["-l", "--files", "--files-with-matches"]) => {
            (reads.paths, false, true, false)
        }
        Lists::Matches
            if args.has_any(&["-l", "--files-with-matches"])
                && args.has_any(&["-r", "--recursive"]) =>
        {
            (reads.paths, false, true, false)
        }
        Lists::Entries if all("plain-entries") => (Vec::new(), true, true, true),
        Lists::Git if args.spec.is(Trait::Lists) && all("listing-options") => {
            // `git diff` shows contents unless an option limits it to names.
            let shows = args.spec.is(Trait::Shows);
            (!shows || args.has_any(&["--name-only"])).then_some(())?;
            // Files outside the workspace are not listed.
            let path =
                |word: &Word| known(word).is_some_and(|text| !text.contains(['*', '?', '[', ':']));
            let named = !shows && args.operands.iter().all(path);
            (if named { args.operands.clone() } else { Vec::new() }, true, true, false)
        }
        _ => return None,
    };
    Some(Listed { starts: or_here(starts), links, bare, inner })
}

/// Returns the words with the names that the shell gives to `<( … )`; `None` where there is none.
pub(super) fn with_pipes(words: &[Word]) -> Option<Vec<Word>> {
    // The pieces do not keep which substitution it is.
    let pipe =
        |word: &Word| word.raw.starts_with("<(") && word.pieces.as_slice() == [Piece::Unknown];
    let named = |word: &Word| if pipe(word) { Word::plain("/dev/fd/63") } else { word.clone() };
    words.iter().any(pipe).then(|| words.iter().map(named).collect())
}
