//! How many tokens a model call took, in one shape for every provider.
//!
//! Providers disagree on what "input" means. Ours is decided once, so that context accounting
//! needs a single number:
//!
//! - `input_tokens` counts **every** prompt token that was sent, whether it was read from a
//!   cache, written to one, or neither.
//! - `cache_read_tokens` and `cache_write_tokens` are parts *of* `input_tokens`.
//! - `output_tokens` counts every token that was generated, thinking included.
//! - `reasoning_tokens` is the part *of* `output_tokens` that was thinking.
//!
//! | shape | what is done to it |
//! |---|---|
//! | Anthropic Messages (`input_tokens`, `cache_read_input_tokens`, `cache_creation_input_tokens`) | the cache counts are *beside* the input there, so they are added to it |
//! | OpenAI Chat (`prompt_tokens`, `prompt_tokens_details.cached_tokens`) | taken as it is: cached is inside already |
//! | OpenAI Responses (`input_tokens`, `input_tokens_details.cached_tokens`) | taken as it is |
//! | Gemini (`promptTokenCount`, `candidatesTokenCount`, `thoughtsTokenCount`) | cached is inside; thoughts are *beside* the candidates, so they are added; tool-use prompts are added to the input |
//! | reasoning beside the completion (the total gives it away) | added to the output |
//!
//! Which shape it is follows from the fields alone, never from a provider's name.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod normalise;

/// The tokens of one model call, or the sum over several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", default)]
pub struct Usage {
    /// Every prompt token sent, cached ones included.
    pub input_tokens: u64,
    /// Every token generated, thinking included.
    pub output_tokens: u64,
    /// Part of the input: read from the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read_tokens: u64,
    /// Part of the input: written to the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Part of the output: thinking.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Usage with these two numbers and nothing known about caches or thinking.
    #[must_use]
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, output_tokens, ..Self::default() }
    }

    /// Everything sent plus everything generated: the size of the conversation right after
    /// the call.
    #[must_use]
    pub fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// The part of the input that was neither read from a cache nor written to one.
    #[must_use]
    pub fn uncached_input(self) -> u64 {
        self.input_tokens
            .saturating_sub(self.cache_read_tokens)
            .saturating_sub(self.cache_write_tokens)
    }

    /// Whether nothing was counted, as servers do that do not count.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }

    /// Reads a provider's usage object, or a response that holds one under `usage`,
    /// `usageMetadata` or `usage_metadata`. `None` when it holds no count at all.
    ///
    /// Counts that are no counts (negative, text, missing) are taken as absent; fractions are
    /// cut off; sums saturate. The parts never exceed what they are parts of.
    ///
    /// ```
    /// use robota_core::usage::Usage;
    /// use serde_json::json;
    ///
    /// let anthropic = json!({"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 7});
    /// let openai = json!({"prompt_tokens": 95, "completion_tokens": 7,
    ///                     "prompt_tokens_details": {"cached_tokens": 90}});
    /// assert_eq!(Usage::from_provider_value(&anthropic), Usage::from_provider_value(&openai));
    /// ```
    #[must_use]
    pub fn from_provider_value(value: &serde_json::Value) -> Option<Self> {
        normalise::normalise(value)
    }
}

impl Add for Usage {
    type Output = Self;

    /// The tokens of two calls together. Saturates; a sum never says where the context
    /// stands, only what was spent.
    fn add(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(other.reasoning_tokens),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(usages: I) -> Self {
        usages.fold(Self::default(), Add::add)
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests;
