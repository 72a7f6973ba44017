//! What was read of the user's files when a session was opened.

use robota_config::ReadCounts;

use crate::prompt::PromptPart;

/// What was read of the user's files for agents when a session was opened.
///
/// ```
/// use robota_sdk::LoadedContext;
///
/// fn tokens(loaded: &LoadedContext) -> u64 {
///     loaded.parts.iter().map(|part| part.tokens).sum()
/// }
/// assert_eq!(tokens(&LoadedContext::default()), 0);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LoadedContext {
    /// The parts of the system prompt, with their size.
    pub parts: Vec<PromptPart>,
    /// How much was read.
    pub read: ReadCounts,
    /// The name of the output style; none for the default.
    pub output_style: Option<String>,
    /// The language of the answers that the settings ask for.
    pub language: Option<String>,
}
