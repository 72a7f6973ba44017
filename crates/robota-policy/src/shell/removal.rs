//! Removals nobody means: the root, what lies directly in it, the home, the workspace and
//! what it lies in, in any spelling.

use std::path::Path;

use super::expand::{Live, Scope, is_glob, tilde, variants};
use super::word::{Piece, Word};
use super::wrappers::base;
use crate::workspace::{normal, text, within};

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
pub(crate) fn critical(words: &[Word], scope: &Scope<'_>, dirs: &Critical<'_>) -> Option<String> {
    let program = words.first()?.value()?;
    let args = &words[1..];
    match base(&program) {
        "rm" | "rmdir" | "unlink" | "grm" | "srm" | "shred" | "trash" => rm(args, scope, dirs),
        "find" => find(args, scope, dirs),
        _ => None,
    }
}

fn rm(args: &[Word], scope: &Scope<'_>, dirs: &Critical<'_>) -> Option<String> {
    let mut recursive = false;
    let mut operands = Vec::new();
    let mut ended = false;
    for word in args {
        match word.value() {
            Some(text) if !ended && text == "--" => ended = true,
            Some(text) if !ended && text.starts_with("--") => {
                recursive |= text.len() > 3 && "--recursive".starts_with(text.as_str());
            }
            Some(text) if !ended && text.starts_with('-') && text.len() > 1 => {
                recursive |= text.contains(['r', 'R']);
            }
            _ => operands.push(word),
        }
    }
    operands.iter().find_map(|word| target(word, recursive, scope, dirs))
}

fn target(word: &Word, recursive: bool, scope: &Scope<'_>, dirs: &Critical<'_>) -> Option<String> {
    let what = || Some(format!("`{}` would be removed", word.raw));
    let (texts, unknown) = variants(word, scope);
    for text in &texts {
        let Some(text) = tilde(text, scope.home) else {
            return what();
        };
        let (stem, all) = without_wildcards(&text);
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
        for dir in &scope.cwd.dirs {
            let path = dir.join(&stem);
            if dirs.holds_real(&path, scope) {
                return what();
            }
            if is_glob(&text) && !all {
                let mut found = Vec::new();
                found.extend(super::expand::files(word, scope).paths);
                if found.iter().any(|path| dirs.holds_real(path, scope)) {
                    return what();
                }
            }
        }
    }
    if !unknown {
        return None;
    }
    // `"$X"/*` with an empty X is the root; `$(pwd)` is anything.
    let empty_is_root = word.pieces.len() > 1
        && word.pieces.iter().all(|piece| match piece {
            Piece::Var { .. } | Piece::Unknown => true,
            Piece::Text { text, .. } | Piece::Ansi(text) => {
                text.starts_with('/') && text.chars().all(|c| matches!(c, '/' | '*' | '.'))
            }
        });
    let substituted = recursive && word.has_unknown() && word.raw != "{}";
    if empty_is_root || substituted { what() } else { None }
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

fn find(args: &[Word], scope: &Scope<'_>, dirs: &Critical<'_>) -> Option<String> {
    let value = |word: &Word| word.value().unwrap_or_default();
    let removes = args.iter().enumerate().any(|(i, word)| match value(word).as_str() {
        "-delete" => true,
        "-exec" | "-execdir" | "-ok" | "-okdir" => args[i + 1..]
            .iter()
            .take(4)
            .any(|w| matches!(base(&value(w)), "rm" | "rmdir" | "shred" | "unlink")),
        _ => false,
    });
    if !removes {
        return None;
    }
    let filtered = args.iter().any(|word| {
        let text = value(word);
        [
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
        ]
        .contains(&text.as_str())
    });
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
        let here = super::expand::files(word, scope).paths.iter().all(|path| {
            let path = normal(path);
            scope.cwd.dirs.iter().any(|dir| normal(dir) == path) && !scope.cwd.moved
        });
        (!(filtered && here)).then_some(hit)
    })
}
