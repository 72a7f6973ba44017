//! Whether a word names a place that must not be removed.

use std::path::Path;

use super::{Removal, risky};
use crate::shell::expand::{Live, files, is_glob, tilde, variants};
use crate::shell::word::{Piece, Word};

impl Removal<'_> {
    pub(super) fn target(&self, word: &Word, recursive: bool) -> Option<String> {
        let scope = self.scope;
        let holds = |path: &Path| {
            self.dirs.holds(path)
                || scope.paths.canonical(path).is_some_and(|real| self.dirs.holds(&real))
        };
        let what = || Some(format!("`{}` would be removed", word.raw));
        let (texts, unknown) = variants(word, scope);
        for text in &texts {
            let Some(text) = tilde(text, scope.home) else { return what() };
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
