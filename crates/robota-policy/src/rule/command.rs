//! Patterns over one simple command: `git status`, `git *`, `npm run test:*`, `npm*`.

use crate::glob::{Ch, Wild};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    stem: Wild,
    /// The same followed by ` *`; only for patterns that end in a word boundary.
    longer: Option<Wild>,
}

/// A simple command as the texts a rule may be written against.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandText {
    pub(crate) known: Vec<String>,
    /// Known beginnings of a command whose end is not known.
    pub(crate) prefixes: Vec<String>,
    pub(crate) holes: Vec<Vec<Ch>>,
}

impl CommandPattern {
    pub(crate) fn new(spec: &str) -> Result<Self, String> {
        // A word boundary is recognised only at the end, in either spelling.
        let (stem, boundary) = match spec.strip_suffix(":*").or_else(|| spec.strip_suffix(" *")) {
            Some(stem) => (stem, true),
            None => (spec, false),
        };
        let stem = stem.split_whitespace().collect::<Vec<_>>().join(" ");
        if stem.is_empty() {
            return Err("it names no command before the `*`".into());
        }
        Ok(Self {
            longer: boundary.then(|| Wild::new(&format!("{stem} *"))),
            stem: Wild::new(&stem),
        })
    }

    /// Returns the program every matched text begins with, where the pattern spells it out.
    pub(crate) fn first_word(&self) -> Option<&str> {
        let prefix = self.stem.prefix();
        match prefix.split_once(' ') {
            Some((word, _)) => Some(word),
            None => (!self.stem.has_star()).then_some(prefix),
        }
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.longer.is_none() && !self.stem.has_star()
    }

    pub(crate) fn fixed_words(&self) -> Vec<String> {
        self.stem.prefix().split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect()
    }

    /// Returns whether the word is among those it spells out behind the program.
    pub(crate) fn names(&self, word: &str) -> bool {
        self.stem.prefix().split(' ').skip(1).any(|fixed| fixed == word)
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        self.stem.matches(text) || self.longer.as_ref().is_some_and(|wild| wild.matches(text))
    }

    pub(crate) fn matches_any(&self, text: &CommandText) -> bool {
        text.known.iter().any(|spelling| self.matches(spelling))
            || ((self.longer.is_some() || self.stem.ends_open())
                && text.prefixes.iter().any(|prefix| self.matches(prefix)))
    }

    pub(crate) fn may_match(&self, text: &CommandText) -> bool {
        text.holes.iter().any(|spelling| {
            self.stem.may_match(spelling)
                || self.longer.as_ref().is_some_and(|wild| wild.may_match(spelling))
        })
    }
}

#[cfg(test)]
mod tests;
