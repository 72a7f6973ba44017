//! Encodes the neutral option [`Thinking`] for each wire.

use robota_core::provider::{ModelRequest, Thinking};
use serde_json::{Map, Value, json};

use crate::profile::Wire;

/// The tokens of reasoning for a model that must be given a number.
const DEFAULT_TOKENS: u64 = 10_000;

/// The fewest tokens of reasoning that the Messages wire takes.
const MIN_TOKENS: u64 = 1_024;

/// The output limit that is assumed if a request has none.
const DEFAULT_LIMIT: u64 = 16_384;

/// Replaces the neutral option by what the wire has for it. A vendor's own option stays.
pub(crate) fn encode(options: &mut Map<String, Value>, wire: Wire, request: &ModelRequest) {
    let thinking = options.shift_remove(Thinking::OPTION);
    let thinking = thinking.as_ref().and_then(Thinking::from_option);
    let display = options.shift_remove(Thinking::DISPLAY);
    match wire {
        Wire::AnthropicMessages => {
            let limit = request.max_output_tokens.unwrap_or(DEFAULT_LIMIT);
            if options.contains_key("thinking") {
                return;
            }
            let thinking = thinking.or_else(|| display.as_ref().map(|_| Thinking::On));
            let value = thinking.and_then(|thinking| messages(thinking, &request.model, limit));
            if let Some(mut value) = value {
                if let Some(display) = display.filter(|_| value["type"] != "disabled") {
                    value["display"] = display;
                }
                options.insert("thinking".to_owned(), value);
            }
        }
        Wire::ChatCompletions | Wire::Responses | Wire::GeminiGenerateContent => {
            let effort = match thinking {
                // A model that does not reason refuses any effort, and one that always reasons
                // refuses `none`. The setting comes from files that people wrote for Claude, so it
                // must not make the requests to other models fail.
                None | Some(Thinking::On | Thinking::Off) => return,
                Some(_) if options.contains_key("effort") => return,
                Some(Thinking::Tokens(0..=4_096)) => "low",
                Some(Thinking::Tokens(4_097..=16_384)) => "medium",
                Some(Thinking::Tokens(_)) => "high",
            };
            options.insert("effort".to_owned(), effort.into());
        }
    }
}

/// Returns the field `thinking` of the Messages wire; none if the model needs none.
fn messages(thinking: Thinking, model: &str, limit: u64) -> Option<Value> {
    let model = Claude::parse(model);
    let budget = |tokens: u64| {
        // The budget must be smaller than the limit, because it is part of it.
        let tokens = tokens.max(MIN_TOKENS).min(limit.saturating_sub(1));
        (tokens >= MIN_TOKENS).then(|| json!({"type": "enabled", "budget_tokens": tokens}))
    };
    match thinking {
        Thinking::Off if model.always_thinks => None,
        Thinking::Off => Some(json!({"type": "disabled"})),
        // From 4.6 on models decide themselves how much to reason; older ones need a number.
        Thinking::On if model.version <= (4, 5) => budget(DEFAULT_TOKENS),
        Thinking::Tokens(tokens) if model.version <= (4, 6) => budget(tokens),
        Thinking::On | Thinking::Tokens(_) => Some(json!({"type": "adaptive"})),
    }
}

/// The generation of a Claude model, which decides how thinking is requested.
struct Claude {
    version: (u32, u32),
    always_thinks: bool,
}

impl Claude {
    /// Reads the id of a model: `claude-opus-4-5-20251101`, `claude-3-7-sonnet`. A model whose id has
    /// no version counts as the newest.
    fn parse(id: &str) -> Self {
        let words: Vec<_> = id.split(['-', '.', '_', '@', ':', '/']).collect();
        // Longer numbers are dates.
        let mut numbers =
            words.iter().filter(|word| word.len() <= 2).filter_map(|word| word.parse().ok());
        let version = match (numbers.next(), numbers.next()) {
            (Some(major), minor) => (major, minor.unwrap_or(0)),
            (None, _) => (u32::MAX, 0),
        };
        let is = |family: &str| words.contains(&family);
        let always_thinks = is("fable") || is("mythos") || (is("opus") && version >= (5, 5));
        Self { version, always_thinks }
    }
}

#[cfg(test)]
mod tests;
