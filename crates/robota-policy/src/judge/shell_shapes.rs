//! Read-only commands that need their surroundings to be proven: after a `cd`, over the output
//! of another read-only command, or inside `sh -c`.

use robota_core::paths::PathKind;

use super::Base;
use super::shell::Shell;
use crate::program::wrap::Fed;
use crate::shell::parse::Cwd;
use crate::shell::word::Piece;
use crate::shell::{Part, Script, Word};
use crate::verdict::Findings;

impl Shell<'_, '_> {
    /// Whether every part is read-only where it runs if each `cd` works. A read-only script
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
            let entered = |dir: &std::path::PathBuf| self.disk.paths.kind(dir) == PathKind::Dir;
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
            let names = (0..extra).map(|_| Word::plain(super::shell_fed::NAME));
            let mut filled = words.to_vec();
            filled.splice(at..=at, names);
            base = base.and(self.inner_base(part, &filled)?);
        }
        Some(base.and(self.listed_base(part, commands, &Fed::blanks())?))
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
                if !matches!(this, Base::ReadOnly | Base::ReadOutside) {
                    return None;
                }
                base = base.and(this);
            }
        }
        Some(base)
    }
}

/// The words with the names that the shell gives to `<( … )`; `None` where there is none.
pub(super) fn with_pipes(words: &[Word]) -> Option<Vec<Word>> {
    // The pieces do not keep which substitution it is.
    let pipe =
        |word: &Word| word.raw.starts_with("<(") && word.pieces.as_slice() == [Piece::Unknown];
    let named = |word: &Word| if pipe(word) { Word::plain("/dev/fd/63") } else { word.clone() };
    words.iter().any(pipe).then(|| words.iter().map(named).collect())
}
