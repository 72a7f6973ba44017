//! Finds the topics that a question is about.

use std::collections::BTreeSet;

use super::store::file_of;
use super::{MemoryEvent, ProjectMemory};

/// The maximum number of topics that one question recalls.
pub const MAX_RECALLED: usize = 5;

/// A recalled topic is cut after this many characters.
pub const MAX_RECALLED_CHARS: usize = 2_000;

/// The weight of a word in the name of a topic, compared with one in its text.
const NAME_WEIGHT: usize = 3;

/// A topic that a question is about.
///
/// ```
/// use robota_sdk::memory::RecalledTopic;
///
/// fn whole(topic: &RecalledTopic) -> bool {
///     !topic.truncated
/// }
/// # let _ = whole;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecalledTopic {
    /// The name of the topic, also that of its file.
    pub topic: String,
    /// The beginning of its text, at most [`MAX_RECALLED_CHARS`] characters.
    pub text: String,
    /// Whether the topic has more text than was recalled.
    pub truncated: bool,
}

impl ProjectMemory {
    /// Returns the topics that share words with the question, the best first, and the event to
    /// record. Topics that cannot be read are left out.
    #[must_use]
    pub fn recall(&self, question: &str) -> (Vec<RecalledTopic>, MemoryEvent) {
        let wanted = words(question);
        let mut found: Vec<(usize, RecalledTopic)> = Vec::new();
        for topic in self.topics() {
            let Ok(Some(text)) = self.folder.read(&file_of(&topic)) else { continue };
            let shared = |text: &str| words(text).intersection(&wanted).count();
            let score = NAME_WEIGHT * shared(&topic) + shared(&text);
            if score > 0 {
                let end = text.char_indices().nth(MAX_RECALLED_CHARS).map(|(at, _)| at);
                let part = text[..end.unwrap_or(text.len())].to_owned();
                let recalled = RecalledTopic { topic, text: part, truncated: end.is_some() };
                found.push((score, recalled));
            }
        }
        // Topics are sorted by name, and the sort is stable: equal scores stay in that order.
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        found.truncate(MAX_RECALLED);
        let recalled: Vec<_> = found.into_iter().map(|(_, topic)| topic).collect();
        let topics = recalled.iter().map(|recalled| recalled.topic.clone()).collect();
        (recalled, MemoryEvent::Recalled { topics })
    }
}

/// Splits a text into words. Short ASCII words are left out, because they occur in most texts;
/// words of other scripts are often short.
fn words(text: &str) -> BTreeSet<String> {
    let long = |word: &&str| if word.is_ascii() { word.len() >= 3 } else { !word.is_empty() };
    text.split(|c: char| !c.is_alphanumeric()).filter(long).map(str::to_lowercase).collect()
}
