//! What a call costs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ModelInfo;
use crate::usage::Usage;

/// Dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Prompt tokens that touch no cache.
    pub input: f64,
    /// Generated tokens, thinking included.
    pub output: f64,
    /// Prompt tokens read from a cache; absent when not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Prompt tokens written to a cache (the shortest life offered); absent when not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

/// Other prices for the whole of a request whose prompt is long.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LongPrompt {
    /// Prompts of more tokens than this are long.
    pub above: u64,
    /// What they cost.
    pub prices: Prices,
}

/// What *one call* cost in dollars. Not for a sum over calls: whether a prompt is long is a
/// matter of one call, so costs are added, not usages.
///
/// `None` when a price that is needed is not known: no number is better than a wrong one.
#[must_use]
pub fn cost(model: &ModelInfo, usage: Usage) -> Option<f64> {
    let prices = match model.long_prompt {
        Some(long) if usage.input_tokens > long.above => long.prices,
        _ => model.prices?,
    };
    let parts = [
        (usage.uncached_input(), Some(prices.input)),
        (usage.cache_read_tokens, prices.cache_read),
        (usage.cache_write_tokens, prices.cache_write),
        (usage.output_tokens, Some(prices.output)),
    ];
    parts.into_iter().try_fold(0.0, |dollars, (tokens, price)| match tokens {
        0 => Some(dollars),
        tokens => Some(dollars + tokens as f64 * price? / 1_000_000.0),
    })
}
