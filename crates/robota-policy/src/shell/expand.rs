//! Expands a word to the files that it may name: known variables, braces, tilde and globs.

use std::path::{Path, PathBuf};

use robota_core::paths::Paths;

use super::parse::Cwd;
use super::vars::{Value, Vars};
use super::word::{Piece, Word, of_live};
use crate::disk::Budget;
use crate::glob::name_matches;

pub(crate) struct Scope<'a> {
    pub(crate) cwd: &'a Cwd,
    pub(crate) home: &'a Path,
    pub(crate) vars: &'a Vars,
    pub(crate) paths: &'a dyn Paths,
    pub(crate) budget: &'a Budget,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Expansion {
    /// Absolute, with `.` and `..` kept.
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) unknown: bool,
}

/// A character, and whether the shell gives it a meaning.
pub(crate) type Live = (char, bool);

const MAX: usize = 512;

/// This many characters count as one step.
const STEP: usize = 100;

/// Variables that are set from each other deeper than this are not followed.
const MAX_CHAIN: usize = 4;

/// Returns the word with variables and braces replaced, before globs. The flag says that there is
/// more to it than is known. `depth` counts variables that are set from each other.
pub(crate) fn variants(word: &Word, scope: &Scope<'_>, depth: usize) -> (Vec<Vec<Live>>, bool) {
    let mut unknown = false;
    let mut texts: Vec<Vec<Live>> = vec![Vec::new()];
    for piece in &word.pieces {
        match piece {
            Piece::Text { text, .. } | Piece::Ansi(text) => {
                let live = matches!(piece, Piece::Text { quoted: false, .. });
                for out in &mut texts {
                    out.extend(text.chars().map(|c| (c, live)));
                }
            }
            Piece::Var { name, quoted } => {
                let (values, open) = variable(name, *quoted, scope, depth);
                unknown |= open;
                if !scope.budget.spend(texts.len() * values.len()) {
                    return (Vec::new(), true);
                }
                texts = texts
                    .iter()
                    .flat_map(|out| {
                        values.iter().map(move |value| {
                            let mut out = out.clone();
                            out.extend_from_slice(value);
                            out
                        })
                    })
                    .take(MAX)
                    .collect();
            }
            // What a computation or a command gives is not known here.
            Piece::Number | Piece::Unknown => return (Vec::new(), true),
        }
    }
    let mut out = Vec::new();
    for text in texts {
        // An unquoted variable is split at blanks.
        for field in text.split(|(c, live)| *live && c.is_whitespace()) {
            unknown |= !braces(field, 0, &mut out);
        }
    }
    if !scope.budget.spend(out.iter().map(Vec::len).sum::<usize>() / STEP) {
        return (Vec::new(), true);
    }
    (out, unknown)
}

/// Returns the possible values of a variable where it is used, and whether it may have others.
pub(crate) fn variable(
    name: &str,
    quoted: bool,
    scope: &Scope<'_>,
    depth: usize,
) -> (Vec<Vec<Live>>, bool) {
    let live = |text: &str| text.chars().map(|c| (c, !quoted)).collect::<Vec<Live>>();
    let Some(values) = scope.vars.get(name) else {
        let dirs = || scope.cwd.dirs.iter().map(|dir| live(&dir.to_string_lossy())).collect();
        return match name {
            "PWD" => (dirs(), scope.cwd.lost),
            "HOME" => (vec![live(&scope.home.to_string_lossy())], false),
            _ => (Vec::new(), true),
        };
    };
    let mut known = Vec::new();
    let mut open = false;
    for value in values {
        match value {
            Value::Unknown => open = true,
            // Without budget, what is left counts as unknown.
            _ if !scope.budget.spend(1) => open = true,
            Value::Set(_) | Value::Each(_) if depth >= MAX_CHAIN || known.len() >= MAX => {
                open = true;
            }
            Value::Set(word) | Value::Each(word) => {
                let (texts, more) = variants(word, scope, depth + 1);
                open |= more;
                // What is set is split and matched where it is used.
                let set = matches!(value, Value::Set(_));
                for text in texts {
                    match tilde(&text, scope.home) {
                        Some(text) if set => {
                            known.push(text.iter().map(|(c, _)| (*c, !quoted)).collect());
                        }
                        Some(text) => known.push(text),
                        None => open = true,
                    }
                }
            }
        }
    }
    (known, open)
}

/// `a{b,c}` becomes `ab ac`. False when it is too much, or a sequence.
pub(crate) fn braces(text: &[Live], depth: usize, out: &mut Vec<Vec<Live>>) -> bool {
    if out.len() >= MAX || depth > 16 {
        return false;
    }
    let mut level = 0usize;
    let mut open = None;
    let mut commas = Vec::new();
    for (i, (c, live)) in text.iter().enumerate() {
        if !live {
            continue;
        }
        match c {
            '{' => {
                if level == 0 {
                    open = Some(i);
                    commas.clear();
                }
                level += 1;
            }
            ',' if level == 1 => commas.push(i),
            '}' if level > 0 => {
                level -= 1;
                if level > 0 {
                    continue;
                }
                let Some(from) = open else { continue };
                let body: String = text[from + 1..i].iter().map(|(c, _)| *c).collect();
                if commas.is_empty() {
                    if body.contains("..") {
                        return false;
                    }
                    continue;
                }
                let mut bounds = vec![from];
                bounds.extend(&commas);
                bounds.push(i);
                return bounds.windows(2).all(|pair| {
                    let mut one = text[..from].to_vec();
                    one.extend_from_slice(&text[pair[0] + 1..pair[1]]);
                    one.extend_from_slice(&text[i + 1..]);
                    braces(&one, depth + 1, out)
                });
            }
            _ => {}
        }
    }
    out.push(text.to_vec());
    true
}

pub(crate) fn is_glob(text: &[Live]) -> bool {
    text.iter().any(|(c, live)| *live && matches!(c, '*' | '?' | '['))
}

/// Returns the text with the tilde replaced; `None` for another user's home.
pub(crate) fn tilde(text: &[Live], home: &Path) -> Option<Vec<Live>> {
    match text {
        [('~', true)] | [('~', true), ('/', _), ..] => {
            // The path of the home is literal, whatever characters it has.
            let mut out: Vec<Live> = home.to_string_lossy().chars().map(|c| (c, false)).collect();
            out.extend_from_slice(&text[1..]);
            Some(out)
        }
        [('~', true), ..] => None,
        _ => Some(text.to_vec()),
    }
}

pub(crate) fn files_of(text: &[Live], scope: &Scope<'_>) -> Expansion {
    files(&Word::of("", of_live(text)), scope)
}

pub(crate) fn files(word: &Word, scope: &Scope<'_>) -> Expansion {
    let (texts, unknown) = variants(word, scope, 0);
    let mut out = Expansion { paths: Vec::new(), unknown };
    for text in texts {
        let Some(text) = tilde(&text, scope.home) else {
            out.unknown = true;
            continue;
        };
        if text.is_empty() {
            continue;
        }
        let plain: String = text.iter().map(|(c, _)| *c).collect();
        let absolute = plain.starts_with('/');
        out.unknown |= scope.cwd.lost && !absolute;
        let dirs: Vec<&Path> = if absolute {
            vec![Path::new("/")]
        } else {
            scope.cwd.dirs.iter().map(PathBuf::as_path).collect()
        };
        for dir in dirs {
            // This variable makes `*` match hidden files.
            let all = scope.vars.contains_key("GLOBIGNORE");
            if is_glob(&text) && !glob(dir, &text, all, scope.paths, &mut out.paths) {
                out.unknown = true;
            }
            // A glob that matches nothing is used literally.
            out.paths.push(dir.join(&plain));
        }
        if out.paths.len() > MAX {
            out.paths.truncate(MAX);
            out.unknown = true;
        }
    }
    out
}

/// Adds what a glob matches. False when that is too much.
fn glob(dir: &Path, text: &[Live], all: bool, paths: &dyn Paths, out: &mut Vec<PathBuf>) -> bool {
    let mut found = vec![dir.to_owned()];
    for segment in text.split(|(c, _)| *c == '/') {
        if segment.is_empty() {
            continue;
        }
        let plain: String = segment.iter().map(|(c, _)| *c).collect();
        if !is_glob(segment) {
            for path in &mut found {
                path.push(&plain);
            }
            continue;
        }
        // Quoted characters are literal.
        let mut pattern = String::new();
        for (c, live) in segment {
            if !live && matches!(c, '*' | '?' | '[' | '\\') {
                pattern.push('\\');
            }
            pattern.push(*c);
        }
        let hidden = all || plain.starts_with('.');
        let mut next = Vec::new();
        for folder in &found {
            for name in paths.entries(folder) {
                if (hidden || !name.starts_with('.')) && name_matches(&pattern, &name) {
                    next.push(folder.join(name));
                }
            }
            if next.len() > MAX {
                return false;
            }
        }
        found = next;
    }
    out.extend(found);
    true
}
