//! Where `cd` leads.

use std::path::{Path, PathBuf};

use super::Walker;
use crate::shell::parse::{Cwd, Part};
use crate::shell::word::{Piece, Word};

impl<'t> Walker<'t, '_> {
    pub(super) fn change_dir(&mut self, part: &Part) {
        self.after_cd = None;
        let there = match part.program().as_deref() {
            Some("cd") => self.cd_target(part),
            Some("pushd" | "popd") => {
                // Where the stack leads is not followed; where `pushd` goes first is.
                let mut there = self.cwd.clone();
                if let Some(target) = self.cd_target(part) {
                    there.join(&target);
                }
                Some(Cwd { lost: true, moved: true, ..there })
            }
            _ => None,
        };
        if let Some(there) = there {
            self.cwd.join(&there);
            self.after_cd = Some(there);
        }
    }

    pub(super) fn cd_target(&self, part: &Part) -> Option<Cwd> {
        let args: Vec<&Word> = part.words[1..]
            .iter()
            .filter(|w| !matches!(w.raw.as_str(), "-L" | "-P" | "-e" | "--"))
            .collect();
        let lost = Cwd { dirs: self.cwd.dirs.clone(), lost: true, moved: true };
        let Some(target) = args.first() else {
            return Some(Cwd { dirs: vec![self.home.to_owned()], lost: false, moved: true });
        };
        let Some(text) = simple_path(target, self.home) else { return Some(lost) };
        if text == "-" || args.len() > 1 {
            return Some(lost);
        }
        let dirs: Vec<PathBuf> = self.cwd.dirs.iter().map(|dir| dir.join(&text)).collect();
        Some(Cwd { dirs, lost: self.cwd.lost && !text.starts_with('/'), moved: true })
    }
}

/// A folder's name, when it is a literal or starts with the home.
fn simple_path(word: &Word, home: &Path) -> Option<String> {
    if let Some(text) = word.literal() {
        return Some(text);
    }
    let home = home.to_string_lossy();
    match word.pieces.as_slice() {
        [Piece::Var { name, .. }, rest @ ..] if name == "HOME" => {
            let rest = Word::of("", rest.to_vec()).literal()?;
            Some(format!("{home}{rest}"))
        }
        [Piece::Text { text, quoted: false }] if text == "~" || text.starts_with("~/") => {
            let rest = &text[1..];
            (!rest.contains(['*', '?', '[', '{'])).then(|| format!("{home}{rest}"))
        }
        _ => None,
    }
}

impl Cwd {
    pub(super) fn join(&mut self, other: &Self) {
        for dir in &other.dirs {
            if !self.dirs.contains(dir) && self.dirs.len() < 16 {
                self.dirs.push(dir.clone());
            }
        }
        self.lost |= other.lost || self.dirs.len() >= 16;
        self.moved |= other.moved;
    }
}
