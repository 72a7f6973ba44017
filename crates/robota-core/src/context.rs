//! How full the context window is.
//!
//! Two sources know something: the provider, which counted the last request exactly, and the
//! text itself, from whose size a count can be guessed. When the provider's count belongs to
//! the last message it is the truth. When messages came after it, each source is a lower
//! bound and the largest wins; counts of earlier requests are never added up, since each of
//! them already contains the whole conversation before it.
//!
//! Nothing here walks a history: the reducer keeps running totals and passes plain numbers.
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

/// Above this share of the window nothing is sent.
pub const GUARD: f64 = 0.95;
/// Above this share of the window further tool results are skipped.
pub const TOOL_RESULTS: f64 = 0.80;
/// Above this share of the window the conversation is compacted, unless configured otherwise.
pub const COMPACT: f64 = 0.835;

/// What [`estimate`] needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContextInputs {
    /// The size of the serialised conversation.
    pub serialized_bytes: u64,
    /// What the provider counted for the latest request that it counted.
    pub latest_usage: Option<Usage>,
    /// Whether that request produced the last message, with nothing after it.
    pub usage_is_last: bool,
    /// A count the caller knows the context cannot be below; 0 when it knows none.
    pub floor: u64,
    /// The model's context window; 0 when unknown.
    pub window: u64,
}

/// An estimate, with what it was made from, so that a message to the user can explain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextEstimate {
    /// The number to act on.
    pub effective: u64,
    /// What the size of the text suggests.
    pub serialized: u64,
    /// What the provider counted last, if it ever did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<u64>,
    /// The caller's floor.
    pub floor: u64,
    /// The model's context window; 0 when unknown.
    pub max: u64,
    /// Whether `effective` is the provider's count of exactly this conversation.
    pub exact: bool,
}

/// How full the window is, for status lines and callbacks.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ContextState {
    /// The model's context window; 0 when unknown.
    pub max_tokens: u64,
    /// The tokens in use.
    pub used_tokens: u64,
    /// The share in use, 0 to 100, and beyond when the conversation does not fit. 0 when the
    /// window is unknown.
    pub used_percentage: f64,
    /// Whether the provider counted it, as opposed to an estimate.
    pub exact: bool,
}

/// Estimates how many tokens the conversation takes.
///
/// A provider that counted nothing at all (some servers report zeros) has not counted.
#[must_use]
pub fn estimate(inputs: &ContextInputs) -> ContextEstimate {
    let serialized = serialized_tokens(inputs.serialized_bytes);
    let provider = inputs.latest_usage.map(Usage::total).filter(|total| *total > 0);
    let (effective, exact) = match provider {
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
    /// Whether the estimate lies above this share of the window. Never, when the window is
    /// unknown.
    #[must_use]
    pub fn exceeds(&self, share: f64) -> bool {
        exceeds(self.effective, self.max, share)
    }

    /// The estimate as it is shown to people.
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

/// Tokens of serialised text: four bytes each, rounded up.
#[must_use]
pub fn serialized_tokens(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

/// Tokens of text that must not overflow: two characters each, rounded up. For the budget of
/// tool results, where too many is safer than too few.
#[must_use]
pub fn conservative_tokens(chars: u64) -> u64 {
    chars.div_ceil(2)
}

/// That share of the window, in tokens.
#[must_use]
pub fn share_of(window: u64, share: f64) -> u64 {
    (window as f64 * share) as u64
}

/// Whether so many tokens lie above this share of the window. Never, when the window is
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
