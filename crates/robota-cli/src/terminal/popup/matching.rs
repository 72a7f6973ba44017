//! Fuzzy matching.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Scores texts by what is typed.
pub(super) struct Matching {
    matcher: Matcher,
    pattern: Pattern,
    buffer: Vec<char>,
}

impl Matching {
    /// Prepares a query for names.
    pub(super) fn names(query: &str) -> Self {
        Self::new(query, Config::DEFAULT)
    }

    /// Prepares a query for paths: matches after a slash count more.
    pub(super) fn paths(query: &str) -> Self {
        Self::new(query, Config::DEFAULT.match_paths())
    }

    fn new(query: &str, config: Config) -> Self {
        Self {
            matcher: Matcher::new(config),
            pattern: Pattern::new(
                query,
                // Capitals in the query must match; a query without them matches both.
                CaseMatching::Smart,
                Normalization::Smart,
                nucleo_matcher::pattern::AtomKind::Fuzzy,
            ),
            buffer: Vec::new(),
        }
    }

    /// Returns how well a text matches.
    pub(super) fn score(&mut self, text: &str) -> Option<u32> {
        self.pattern.score(Utf32Str::new(text, &mut self.buffer), &mut self.matcher)
    }

    /// Returns which letters of a text match.
    pub(super) fn letters(&mut self, text: &str) -> Vec<u32> {
        let mut letters = Vec::new();
        let text = Utf32Str::new(text, &mut self.buffer);
        self.pattern.indices(text, &mut self.matcher, &mut letters);
        letters.sort_unstable();
        letters.dedup();
        letters
    }
}
