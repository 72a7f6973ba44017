//! Tracks the folder that `cd` leads to.

use std::path::{Path, PathBuf};

use super::Walker;
use crate::shell::parse::{Cwd, Part, Straight};
use crate::shell::word::{Piece, Word};
use crate::workspace::normal;

const MAX_ENTERED: usize = 16;

const MAX_DEPTH: usize = 40;

impl Walker<'_, '_> {
    pub(super) fn change_dir(&mut self, part: &Part) {
        self.after_cd = None;
        let there = match part.program().as_deref() {
            Some("cd") => self.cd_target(part),
            Some("pushd" | "popd") => {
                // The folder stack is not tracked; the first folder of `pushd` is.
                let mut there = self.cwd.clone();
                there.join(&self.cd_target(part));
                Cwd { lost: true, moved: true, straight: None, ..there }
            }
            _ => return,
        };
        // The `cd` may fail, so both folders are possible.
        self.cwd.join(&there);
        self.cwd.straight = there.straight.clone();
        self.after_cd = Some(there);
    }

    fn cd_target(&self, part: &Part) -> Cwd {
        let operand = |w: &&Word| {
            !w.value().is_some_and(|text| matches!(text.as_str(), "-L" | "-P" | "-e" | "--"))
        };
        let args: Vec<&Word> = part.words[1..].iter().filter(operand).collect();
        let lost = Cwd { lost: true, moved: true, straight: None, ..self.cwd.clone() };
        let Some(target) = args.first() else { return Cwd { moved: true, ..Cwd::at(self.home) } };
        let Some(text) = simple_path(target, self.home) else { return lost };
        if text == "-" || args.len() > 1 {
            return lost;
        }
        // Names that grow with every `cd` would cost more each time.
        if self.cwd.dirs.iter().any(|dir| dir.components().count() > MAX_DEPTH) {
            return lost;
        }
        // `cd` removes `..` from the name before it goes there.
        let go = |dir: &PathBuf| normal(&dir.join(&text));
        let followed = |straight: &&Straight| straight.entered.len() < MAX_ENTERED;
        let straight = self.cwd.straight.as_ref().filter(followed).map(|straight| {
            let mut straight = straight.clone();
            straight.at = go(&straight.at);
            straight.entered.push(straight.at.clone());
            straight
        });
        let lost = self.cwd.lost && !text.starts_with('/');
        Cwd { dirs: self.cwd.dirs.iter().map(go).collect(), lost, moved: true, straight }
    }
}

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
    /// Creates a state with one known folder.
    pub(super) fn at(dir: &Path) -> Self {
        let straight = Straight { at: dir.to_owned(), entered: Vec::new() };
        Self { dirs: vec![dir.to_owned()], lost: false, moved: false, straight: Some(straight) }
    }

    /// Merges two states: the command may run in a folder of either.
    pub(super) fn join(&mut self, other: &Self) {
        for dir in &other.dirs {
            // As texts: comparing paths part by part costs much, and they are normal.
            let known = self.dirs.iter().any(|known| known.as_os_str() == dir.as_os_str());
            if !known && self.dirs.len() < 16 {
                self.dirs.push(dir.clone());
            }
        }
        // More folders are not followed, so it may be any.
        self.lost |= other.lost || self.dirs.len() >= 16;
        self.moved |= other.moved;
        if self.straight != other.straight {
            self.straight = None;
        }
    }
}
