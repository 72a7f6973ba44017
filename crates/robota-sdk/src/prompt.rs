//! Composes the system prompt.

use std::path::Path;

use serde::Serialize;

/// The first line of the system prompt; also all of it if the caller sets an empty one.
const IDENTITY: &str = "You are a coding agent in a terminal.";

/// A part of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PromptPart {
    /// What it is, such as the path of a file.
    pub name: String,
    /// Its size in bytes.
    pub bytes: usize,
    /// About how many tokens it takes.
    pub tokens: u64,
}

/// What a caller changes in the system prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct SystemText {
    /// Replaces the instructions at the start.
    pub(crate) replace: Option<String>,
    /// Is added at the end.
    pub(crate) append: Option<String>,
}

/// Returns the system prompt: the given one or the default, then the text to add. The default has
/// facts only: the descriptions of the tools say when to use them.
pub(crate) fn system_prompt(cwd: &Path, text: &SystemText) -> String {
    let mut prompt = match text.replace.as_deref() {
        None => format!("{IDENTITY}\nWorking directory: {}", cwd.display()),
        Some("") => IDENTITY.to_owned(),
        Some(given) => given.to_owned(),
    };
    if let Some(more) = text.append.as_deref().filter(|more| !more.is_empty()) {
        prompt.push_str("\n\n");
        prompt.push_str(more);
    }
    prompt
}
