//! The cost of a call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ModelInfo;
use crate::usage::Usage;

/// The prices of a model, in dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Prompt tokens that are neither read from a cache nor written to one.
    pub input: f64,
    /// Generated tokens, those of the reasoning included.
    pub output: f64,
    /// Prompt tokens read from a cache; absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Prompt tokens written to a cache (with the shortest lifetime offered); absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

/// Prices that apply to a whole request if its prompt is long.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LongPrompt {
    /// Prompts with more tokens than this are long.
    pub above: u64,
    /// The prices of all tokens of such a request, not only of those above the limit.
    pub prices: Prices,
}

/// Returns the cost of *one call* in dollars. Do not use it for a sum over calls: whether a prompt
/// is long depends on the single call, so add costs and not usages.
///
/// Returns `None` if a required price is not known: no number is better than a wrong one.
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
