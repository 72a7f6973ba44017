//! `find . -type f | xargs grep x`: a look at files that another look has listed.

use std::path::PathBuf;

use robota_core::paths::PathKind;

use super::Base;
use super::shell::Shell;
use crate::shell::{Part, Word, expand, readonly, wrappers};

/// More entries than this are not looked at: it cannot be shown that none is odd.
const MAX_ENTRIES: usize = 10_000;

/// Stands for a name that is not known yet.
pub(super) const NAME: &str = "./…";

/// What a list of files may contain.
struct Listed {
    starts: Vec<Word>,
    /// Links may be among them.
    links: bool,
    /// Names may stand at the beginning of a line, as they are.
    bare: bool,
}

impl Shell<'_, '_> {
    /// What a command would see that is given the files another one lists; `None` when that is
    /// not proven to be a look.
    pub(super) fn fed_base(&self, part: &Part) -> Option<Base> {
        if part.words.first()?.raw == "find" {
            return self.find_base(part);
        }
        let (inner, nul) = wrappers::fed(&part.words)?;
        // Whatever the names are, it must stay a look: with one of them and with two.
        let mut base = Base::Look;
        for extra in 1..=2 {
            let mut words = inner.clone();
            words.extend((0..extra).map(|_| Word::plain(NAME)));
            base = base.and(self.inner_base(part, &words)?);
        }
        Some(base.and(self.listed_base(part, &part.upstream, nul)?))
    }

    /// What a pipeline reads that lists files; `None` when it may print anything else.
    pub(super) fn listed_base(
        &self,
        part: &Part,
        pipeline: &[Vec<Word>],
        nul: bool,
    ) -> Option<Base> {
        let mut base = Base::Look;
        let (first, filters) = pipeline.split_first()?;
        if part.cwd.moved || part.cwd.lost || !filters.iter().all(|words| passes(words, part)) {
            return None;
        }
        let listed = listed(first, part)?;
        for start in &listed.starts {
            let expansion = expand::files(start, &self.scope(part));
            if expansion.unknown
                || !expansion.paths.iter().all(|path| self.tidy(path, nul, &listed))
            {
                return None;
            }
            base = base.and(self.reads_base(part, std::slice::from_ref(start)));
        }
        Some(base)
    }

    /// What the command looks at besides the names it is given.
    pub(super) fn inner_base(&self, part: &Part, words: &[Word]) -> Option<Base> {
        let looks = readonly::looks(words, part)?;
        if looks.fixed_cwd || words.iter().any(Word::is_dynamic) {
            return None;
        }
        let own: Vec<Word> = looks.paths.into_iter().filter(|word| word.raw != NAME).collect();
        Some(self.reads_base(part, &own))
    }

    /// `find … -exec wc -l {} +`: a look at each file that is found.
    fn find_base(&self, part: &Part) -> Option<Base> {
        let at = part.words.iter().position(|word| word.raw == "-exec")?;
        let (before, exec) = part.words.split_at(at);
        let (last, inner) = exec[1..].split_last()?;
        let several = last.raw == "+";
        if !(several || last.value()? == ";") || part.cwd.moved || part.cwd.lost {
            return None;
        }
        let names = if several { 2 } else { 1 };
        let mut words = Vec::new();
        for word in inner {
            if word.raw == "{}" {
                words.extend((0..names).map(|_| Word::plain(NAME)));
            } else if word.is_dynamic()
                || word.value().is_none_or(|text| text.contains("{}") || text == ";" || text == "+")
            {
                // A second action may follow, or the name may become something else.
                return None;
            } else {
                words.push(word.clone());
            }
        }
        let mut base = self.inner_base(part, &words)?;
        let listed = listed(before, part)?;
        for start in &listed.starts {
            let expansion = expand::files(start, &self.scope(part));
            let tidy = expansion.paths.iter().all(|path| self.tidy(path, true, &listed));
            if expansion.unknown || !tidy {
                return None;
            }
            base = base.and(self.reads_base(part, std::slice::from_ref(start)));
        }
        Some(base)
    }

    /// Whether no name below this folder can become anything but a file of the workspace.
    fn tidy(&self, start: &std::path::Path, nul: bool, listed: &Listed) -> bool {
        let paths = self.disk.paths;
        if nul && !listed.links && !listed.bare {
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
                if (top && listed.bare && name.starts_with('-')) || (!nul && splits(&name)) {
                    return false;
                }
                let path = dir.join(&name);
                match paths.kind(&path) {
                    PathKind::Dir if name != ".git" => todo.push((path, false)),
                    PathKind::Link
                        if listed.links && !self.policy.roots.holds(&self.disk.look(&path)) =>
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

/// Whether splitting a name at blanks and quotes, as xargs does, could leave a path or an option
/// that it is not.
fn splits(name: &str) -> bool {
    let blank = |c: char| c.is_whitespace();
    name.contains(['"', '\'', '\\', '\n'])
        || name.ends_with(blank)
        || name.split(blank).skip(1).any(|word| word.starts_with(['-', '.', '/', '~']))
}

/// Whether a command passes lines on as they are, or not at all.
fn passes(words: &[Word], part: &Part) -> bool {
    let Some(program) = words.first().and_then(Word::literal) else { return false };
    if !matches!(program.as_str(), "grep" | "egrep" | "fgrep" | "sort" | "head" | "tail") {
        return false;
    }
    let Some(looks) = readonly::looks(words, part) else { return false };
    let whole =
        words[1..].iter().filter_map(Word::value).filter(|t| t.starts_with('-')).all(|flag| {
            let letters = flag.trim_start_matches('-');
            match flag.strip_prefix("--") {
                Some(long) => matches!(
                    long,
                    "ignore-case"
                        | "invert-match"
                        | "extended-regexp"
                        | "fixed-strings"
                        | "reverse"
                        | "unique"
                        | "version-sort"
                ),
                None => {
                    letters.chars().all(|c| c.is_ascii_digit() || "viEFPwxzneurVdf".contains(c))
                        && !(program.ends_with("grep") && letters.contains(['n', 'r']))
                }
            }
        });
    whole && looks.paths.is_empty()
}

/// What a command lists, when it is known to list files and nothing else.
fn listed(words: &[Word], part: &Part) -> Option<Listed> {
    let program = words.first()?.literal()?;
    let looks = readonly::looks(words, part)?;
    let flags: Vec<String> = words[1..].iter().filter_map(Word::value).collect();
    let has = |flag: &str| flags.iter().any(|known| known == flag);
    let here = || vec![Word::plain(".")];
    let or_here = |paths: Vec<Word>| if paths.is_empty() { here() } else { paths };
    match program.as_str() {
        "find" => {
            if ["-printf", "-ls", "-L", "-H"].iter().any(|flag| has(flag)) {
                return None;
            }
            let only_files = flags.windows(2).any(|pair| pair == ["-type", "f"]);
            let alternatives = has("-o") || has("-or") || has(",") || has("!") || has("-not");
            let links = !only_files || alternatives;
            Some(Listed { starts: or_here(looks.paths), links, bare: false })
        }
        "rg" if has("-l") || has("--files") || has("--files-with-matches") => {
            Some(Listed { starts: or_here(looks.paths), links: false, bare: true })
        }
        "grep" if flags.iter().any(|f| matches!(f.as_str(), "-rl" | "-lr" | "-ril" | "-rli")) => {
            Some(Listed { starts: or_here(looks.paths), links: false, bare: true })
        }
        "git" if has("ls-files") => {
            let plain = flags.iter().filter(|f| f.starts_with('-')).all(|f| {
                matches!(
                    f.as_str(),
                    "-z" | "--cached"
                        | "--modified"
                        | "-m"
                        | "--others"
                        | "-o"
                        | "--exclude-standard"
                )
            });
            plain.then(|| Listed { starts: here(), links: true, bare: true })
        }
        _ => None,
    }
}
