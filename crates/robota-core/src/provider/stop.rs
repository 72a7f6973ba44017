//! Why a model stopped, and what that means for its answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Says why a model ended its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Stored", into = "Stored")]
#[schemars(with = "Stored")]
pub enum StopReason {
    /// The model ended its answer by itself.
    EndTurn,
    /// The model waits for the results of its tool calls.
    ToolUse,
    /// The answer reached the maximum number of output tokens.
    MaxTokens,
    /// The answer reached the end of the context window.
    WindowFull,
    /// The answer reached a stop sequence.
    StopSequence,
    /// The model refused to answer the request.
    Refusal,
    /// A filter of the service removed the answer, or cut it short.
    Filtered,
    /// The service paused a long answer; another call continues it.
    Pause,
    /// Any other reason, as the provider names it.
    Other(String),
}

/// What a stop reason means for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerEnd {
    /// The model said all it had to say.
    Whole,
    /// A limit cut the answer short; its beginning is usable.
    Cut,
    /// The model refused to answer; later requests have a note in place of what it wrote.
    Refused,
    /// A filter of the service removed the answer.
    Filtered,
    /// The service paused a long answer; another call continues it.
    Paused,
}

impl StopReason {
    /// Returns what the reason means for the answer. A reason that is not known counts as whole.
    #[must_use]
    pub fn answer(&self) -> AnswerEnd {
        match self {
            Self::EndTurn | Self::ToolUse | Self::StopSequence | Self::Other(_) => AnswerEnd::Whole,
            Self::MaxTokens | Self::WindowFull => AnswerEnd::Cut,
            Self::Refusal => AnswerEnd::Refused,
            Self::Filtered => AnswerEnd::Filtered,
            Self::Pause => AnswerEnd::Paused,
        }
    }
}

/// The form in journals. Its names are frozen: reasons that were added later are stored as `other`,
/// so that older versions read them.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "StopReason")]
enum Stored {
    /// The answer is complete.
    EndTurn,
    /// The model waits for the results of its tool calls.
    ToolUse,
    /// The answer reached the maximum number of output tokens.
    MaxTokens,
    /// The answer reached a stop sequence.
    StopSequence,
    /// The model refused to answer.
    Refusal,
    /// The service paused a long answer; another call continues it.
    Pause,
    /// Any other reason, as the provider names it. `content_filter`: a filter of the service removed
    /// the answer. `model_context_window_exceeded`: the answer reached the end of the context window.
    Other(String),
}

const FILTERED: &str = "content_filter";
const WINDOW_FULL: &str = "model_context_window_exceeded";

impl From<Stored> for StopReason {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::EndTurn => Self::EndTurn,
            Stored::ToolUse => Self::ToolUse,
            Stored::MaxTokens => Self::MaxTokens,
            Stored::StopSequence => Self::StopSequence,
            Stored::Refusal => Self::Refusal,
            Stored::Pause => Self::Pause,
            Stored::Other(name) => match name.as_str() {
                FILTERED => Self::Filtered,
                WINDOW_FULL => Self::WindowFull,
                _ => Self::Other(name),
            },
        }
    }
}

impl From<StopReason> for Stored {
    fn from(reason: StopReason) -> Self {
        match reason {
            StopReason::EndTurn => Self::EndTurn,
            StopReason::ToolUse => Self::ToolUse,
            StopReason::MaxTokens => Self::MaxTokens,
            StopReason::WindowFull => Self::Other(WINDOW_FULL.to_owned()),
            StopReason::StopSequence => Self::StopSequence,
            StopReason::Refusal => Self::Refusal,
            StopReason::Filtered => Self::Other(FILTERED.to_owned()),
            StopReason::Pause => Self::Pause,
            StopReason::Other(name) => Self::Other(name),
        }
    }
}

#[cfg(test)]
mod tests;
