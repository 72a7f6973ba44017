//! How many tokens a model call took, in one form for every provider.
//!
//! Providers define "input" differently. This type has one definition, so that context accounting
//! needs a single number:
//!
//! - `input_tokens` counts **every** prompt token that was sent, whether it was read from a
//!   cache, written to one, or neither.
//! - `cache_read_tokens` and `cache_write_tokens` are parts *of* `input_tokens`.
//! - `output_tokens` counts every token that was generated, thinking included.
//! - `reasoning_tokens` is the part *of* `output_tokens` that was thinking.
//! - `web_searches` and `web_fetches` count requests of the provider's own tools, where it says so.
//!
//! | provider's fields | conversion |
//! |---|---|
//! | Anthropic Messages (`input_tokens`, `cache_read_input_tokens`, `cache_creation_input_tokens`) | the input does not include the cache counts, so they are added to it |
//! | OpenAI Chat (`prompt_tokens`, `prompt_tokens_details.cached_tokens`) | unchanged: the input includes the cached tokens |
//! | OpenAI Responses (`input_tokens`, `input_tokens_details.cached_tokens`) | unchanged |
//! | Gemini (`promptTokenCount`, `candidatesTokenCount`, `thoughtsTokenCount`) | the input includes the cached tokens; the candidates do not include the thoughts, so they are added; tool-use prompts are added to the input |
//! | any, if the total shows that the completion does not include the reasoning | the reasoning is added to the output |
//!
//! The conversion depends on the fields alone, never on a provider's name.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod normalise;

/// Counts the tokens of one model call, or of several calls together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", default)]
pub struct Usage {
    /// All prompt tokens that were sent, including cached ones.
    pub input_tokens: u64,
    /// All generated tokens; those of thinking are included.
    pub output_tokens: u64,
    /// The part of `input_tokens` that was read from the provider's cache; absent if 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read_tokens: u64,
    /// The part of `input_tokens` that was written to the provider's cache; absent if 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// The part of `output_tokens` that was thinking; absent if 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// Web searches of the provider's own tool; absent if 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub web_searches: u64,
    /// Web pages that the provider's own tool fetched; absent if 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub web_fetches: u64,
}

impl Usage {
    /// Creates a usage with these two counts and zeros for the others.
    #[must_use]
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, output_tokens, ..Self::default() }
    }

    /// Returns all tokens sent plus all tokens generated: the size of the conversation right after
    /// the call.
    #[must_use]
    pub fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Returns the part of the input that was neither read from a cache nor written to one.
    #[must_use]
    pub fn uncached_input(self) -> u64 {
        self.input_tokens
            .saturating_sub(self.cache_read_tokens)
            .saturating_sub(self.cache_write_tokens)
    }

    /// Returns true if all counts are zero. Servers that do not count tokens report that.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }

    /// Returns the tokens beyond those of `other`; saturates.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_sub(other.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_sub(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_sub(other.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_sub(other.reasoning_tokens),
            web_searches: self.web_searches.saturating_sub(other.web_searches),
            web_fetches: self.web_fetches.saturating_sub(other.web_fetches),
        }
    }

    /// Reads a provider's usage object, or a response that contains one under `usage`,
    /// `usageMetadata` or `usage_metadata`. Returns `None` if it contains no count.
    ///
    /// An invalid count (negative, text, missing) is treated as absent. Fractions are truncated and
    /// sums saturate. A part never exceeds the count that it is a part of.
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

    /// Adds the tokens of two calls; saturates. A sum is what was spent, not the size of the
    /// context.
    fn add(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(other.reasoning_tokens),
            web_searches: self.web_searches.saturating_add(other.web_searches),
            web_fetches: self.web_fetches.saturating_add(other.web_fetches),
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
