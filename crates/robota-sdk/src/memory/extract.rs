//! Finds facts in a user's message that may be worth remembering.

use std::sync::LazyLock;

use regex::Regex;

use super::{MemoryEntry, MemoryKind};

/// A sentence that has more characters than this is no candidate. Longer sentences are left out.
pub const MAX_CANDIDATE_CHARS: usize = 240;

/// The maximum number of candidates of one message.
const MAX_CANDIDATES: usize = 5;

/// The beginnings of sentences that state something lasting, in English and Korean, with the kind and
/// topic of what follows. The first that matches counts.
const TRIGGERS: &[(&str, MemoryKind, &str)] = &[
    (
        r"(?i)\b(docs?|documentation|wiki|dashboard|tracker|spec) (is|are|lives?) (at|in|on)\b",
        MemoryKind::Reference,
        "references",
    ),
    (r"(?i)\b(i prefer|i like|i am|i'm|my name is|call me)\b|나는|저는", MemoryKind::User, "user"),
    (
        r"(?i)\b(always|never|from now on|don'?t ever|stop) \w+|항상|절대|앞으로",
        MemoryKind::Feedback,
        "feedback",
    ),
    (
        r"(?i)\b(we use|we decided|this (project|repo|repository) (uses|is|has)|the convention is)\b|우리는",
        MemoryKind::Project,
        "project",
    ),
    (r"(?i)\b(remember|note) (that|to)\b|기억해", MemoryKind::Project, "project"),
];

static PATTERNS: LazyLock<Vec<(Regex, MemoryKind, &'static str)>> = LazyLock::new(|| {
    let compiled = |(text, kind, topic): &(&str, MemoryKind, &'static str)| {
        Regex::new(text).ok().map(|regex| (regex, *kind, *topic))
    };
    TRIGGERS.iter().filter_map(compiled).collect()
});

/// Extracts candidates from messages. It is off unless it is turned on, and it only returns
/// candidates: a caller decides whether to propose them.
///
/// ```
/// use robota_sdk::memory::CandidateExtractor;
///
/// let extractor = CandidateExtractor::default();
/// # let _ = extractor;
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CandidateExtractor {
    enabled: bool,
}

impl CandidateExtractor {
    /// Creates an extractor that is turned on.
    #[must_use]
    pub fn enabled() -> Self {
        Self { enabled: true }
    }

    /// Returns the facts in what the user wrote in a turn. Answers and tool output are no source: a
    /// file or a web page must not decide what is remembered. Sentences that may not be stored are
    /// left out.
    #[must_use]
    pub fn candidates(self, user_text: &str) -> Vec<MemoryEntry> {
        if !self.enabled {
            return Vec::new();
        }
        let mut found: Vec<MemoryEntry> = Vec::new();
        for sentence in sentences(user_text) {
            let trigger = PATTERNS.iter().find(|(regex, ..)| regex.is_match(sentence));
            let Some((_, kind, topic)) = trigger else { continue };
            if let Ok(entry) = MemoryEntry::new(*kind, topic, sentence)
                && !found.contains(&entry)
            {
                found.push(entry);
            }
        }
        found.truncate(MAX_CANDIDATES);
        found
    }
}

/// Returns the sentences outside of code blocks and quotes that are short enough.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    let lines = text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !fence && !in_code && !line.trim_start().starts_with('>')
    });
    lines
        .flat_map(|line| line.split_inclusive(['.', '!', '?', '。']))
        .map(str::trim)
        // A question states nothing.
        .filter(|sentence| !sentence.is_empty() && !sentence.ends_with('?'))
        .filter(|sentence| sentence.chars().count() <= MAX_CANDIDATE_CHARS)
}

#[cfg(test)]
mod tests;
