//! Whether a word names a place that must not be removed.

use super::{Critical, risky};
use crate::shell::expand::{Live, Scope, files, is_glob, tilde, variants};
use crate::shell::word::{Piece, Word};

/// Why removing this word is critical, if it is.
pub(super) fn target(
    word: &Word,
    recursive: bool,
    scope: &Scope<'_>,
    dirs: &Critical<'_>,
) -> Option<String> {
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
            if is_glob(&text)
                && !all
                && files(word, scope).paths.iter().any(|path| dirs.holds_real(path, scope))
            {
                return what();
            }
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
