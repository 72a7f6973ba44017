//! Composes the system prompt (SDK-27): parts in a fixed order, without a clock, so that its bytes
//! stay the same for the same files and a provider can cache it.
//!
//! The composer adds neutral facts only. What to do comes from the instructions of the program
//! (`data/coding-agent.md`, which callers replace or extend), the user's files, and the descriptions
//! of tools and commands.

use robota_core::context::serialized_tokens;
use serde::Serialize;

/// The program instructs a coding agent with this text.
pub const CODING_AGENT: &str = include_str!("../data/coding-agent.md");

/// The whole prompt if the caller sets an empty one: some models need a system prompt.
const IDENTITY: &str = "You are a coding agent in a terminal.";

/// Holds a part of the system prompt.
///
/// ```
/// use robota_sdk::LoadedContext;
///
/// let loaded = LoadedContext::default();
/// assert!(loaded.parts.iter().all(|part| part.tokens > 0));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PromptPart {
    /// The name of the part, such as the path of a file.
    pub name: String,
    /// Its size in bytes, without the blank line before it.
    pub bytes: usize,
    /// About how many tokens it takes.
    pub tokens: u64,
}

/// What a caller changes in the system prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct SystemText {
    /// Replaces the instructions at the start.
    pub(crate) replace: Option<String>,
    /// Text that is added at the end.
    pub(crate) append: Option<String>,
}

/// Collects the parts of the prompt in order.
#[derive(Debug, Default)]
pub(crate) struct Composer {
    text: String,
    parts: Vec<PromptPart>,
}

impl Composer {
    /// Adds a part, separated from the one before by a blank line. An empty part is left out.
    pub(crate) fn add(&mut self, name: impl Into<String>, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(text);
        let tokens = serialized_tokens(text.len() as u64);
        self.parts.push(PromptPart { name: name.into(), bytes: text.len(), tokens });
    }

    /// Adds a part with a heading.
    pub(crate) fn section(&mut self, name: impl Into<String>, heading: &str, text: &str) {
        if !text.trim().is_empty() {
            self.add(name, &format!("# {heading}\n\n{}", text.trim()));
        }
    }

    /// Returns the prompt and its parts.
    pub(crate) fn finish(self) -> (String, Vec<PromptPart>) {
        (self.text, self.parts)
    }
}

/// Adds the instructions at the start: those of the caller, or those of the program.
pub(crate) fn add_instructions(composer: &mut Composer, text: &SystemText, coding: bool) {
    match text.replace.as_deref() {
        None if coding => composer.add("instructions of the program", CODING_AGENT),
        None | Some("") => composer.add("instructions of the program", IDENTITY),
        Some(given) => composer.add("instructions of the caller", given),
    }
}
