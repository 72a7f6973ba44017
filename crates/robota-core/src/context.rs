//! Estimates how full the context window is.
//!
//! There are two sources: the provider, which counted the tokens of the last request exactly, and
//! the size of the text. If the provider's count belongs to the last message, it is exact. If
//! messages were added after it, both sources are lower bounds and the largest is used. Counts of
//! earlier requests are never added up, since each already contains the whole conversation before
//! it.
//!
//! Nothing here iterates over a history: the reducer keeps running totals and passes numbers.
//!
//! ```
//! use robota_core::context::{ContextInputs, GUARD, estimate};
//! use robota_core::usage::Usage;
//!
//! let estimate = estimate(&ContextInputs {
//!     serialized_bytes: 8_000,
//!     latest_usage: Some(Usage::new(190_000, 500)),
//!     usage_is_last: false,
//!     floor: 0,
//!     window: 200_000,
//! });
//! assert_eq!(estimate.effective, 190_500);
//! assert!(estimate.exceeds(GUARD));
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::usage::Usage;

/// Above this share of the window no request is sent.
pub const GUARD: f64 = 0.95;
/// Above this share of the window further tool results are replaced by a note.
pub const TOOL_RESULTS: f64 = 0.80;
/// Above this share of the window the conversation is compacted, unless configured otherwise.
pub const COMPACT: f64 = 0.835;

/// Collects what [`estimate`] measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContextInputs {
    /// The size of the serialised conversation, in bytes.
    pub serialized_bytes: u64,
    /// The provider's count for the latest request that it counted.
    pub latest_usage: Option<Usage>,
    /// Whether that request produced the last message.
    pub usage_is_last: bool,
    /// A lower bound in tokens that the caller knows; 0 if it knows none.
    pub floor: u64,
    /// The model's context window in tokens; 0 if unknown.
    pub window: u64,
}

/// An estimate in tokens, with the numbers it was computed from, so that a message can explain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextEstimate {
    /// The number of tokens to act on.
    pub effective: u64,
    /// The estimate from the size of the text.
    pub serialized: u64,
    /// The provider's last count; absent if it never counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<u64>,
    /// The lower bound that the caller gave; 0 if none.
    pub floor: u64,
    /// The model's context window; 0 if unknown.
    pub max: u64,
    /// Whether `effective` is the provider's count of exactly this conversation.
    pub exact: bool,
}

/// How full the window is, for status lines and callbacks.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ContextState {
    /// The model's context window in tokens; 0 if unknown.
    pub max_tokens: u64,
    /// The number of tokens in use.
    pub used_tokens: u64,
    /// The share in use in percent: 0 to 100, more if the conversation does not fit, and 0 if the
    /// window is unknown.
    pub used_percentage: f64,
    /// Whether the provider counted the tokens; otherwise they are estimated.
    pub exact: bool,
}

/// Estimates how many tokens the conversation takes.
///
/// A count of zero is treated as no count, because some servers report zeros.
#[must_use]
pub fn estimate(inputs: &ContextInputs) -> ContextEstimate {
    let serialized = serialized_tokens(inputs.serialized_bytes);
    let provider = inputs.latest_usage.map(Usage::total).filter(|total| *total > 0);
    let (effective, exact) = match provider {
        // Nothing was added since the service counted, so its number is exact.
        Some(total) if inputs.usage_is_last => (total, true),
        _ => (serialized.max(provider.unwrap_or(0)).max(inputs.floor), false),
    };
    ContextEstimate {
        effective,
        serialized,
        provider,
        floor: inputs.floor,
        max: inputs.window,
        exact,
    }
}

impl ContextEstimate {
    /// Returns true if the estimate is above this share of the window; false if the window is
    /// unknown.
    #[must_use]
    pub fn exceeds(&self, share: f64) -> bool {
        exceeds(self.effective, self.max, share)
    }

    /// Returns the estimate in the form that is shown to users.
    #[must_use]
    pub fn state(&self) -> ContextState {
        ContextState {
            max_tokens: self.max,
            used_tokens: self.effective,
            used_percentage: percentage(self.effective, self.max),
            exact: self.exact,
        }
    }
}

/// Returns the tokens of serialised text: one per four bytes, rounded up.
#[must_use]
pub fn serialized_tokens(bytes: u64) -> u64 {
    // About four bytes per token for English text and JSON.
    bytes.div_ceil(4)
}

/// Returns a high estimate of the tokens of a text: one per two characters, rounded up. It is for
/// the budget of tool results, where too many is safer than too few.
#[must_use]
pub fn conservative_tokens(chars: u64) -> u64 {
    // Two characters per token is the worst case of code and of most languages.
    chars.div_ceil(2)
}

/// Returns that share of the window, in tokens.
#[must_use]
pub fn share_of(window: u64, share: f64) -> u64 {
    (window as f64 * share) as u64
}

/// Returns true if that many tokens are above this share of the window; false if the window is
/// unknown (0).
#[must_use]
pub fn exceeds(tokens: u64, window: u64, share: f64) -> bool {
    window > 0 && tokens as f64 > window as f64 * share
}

fn percentage(tokens: u64, window: u64) -> f64 {
    if window == 0 { 0.0 } else { tokens as f64 * 100.0 / window as f64 }
}

#[cfg(test)]
mod tests;
