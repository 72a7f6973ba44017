//! Converts any provider's usage object to [`Usage`], by the names of its fields and never by the
//! name of the provider.

use serde_json::Value;

use super::Usage;

const INPUT: &[&str] = &[
    "input_tokens",
    "inputTokens",
    "prompt_tokens",
    "promptTokens",
    "promptTokenCount",
    "prompt_token_count",
];
const OUTPUT: &[&str] = &[
    "output_tokens",
    "outputTokens",
    "completion_tokens",
    "completionTokens",
    "candidatesTokenCount",
    "candidates_token_count",
];
const TOTAL: &[&str] = &["total_tokens", "totalTokens", "totalTokenCount", "total_token_count"];

/// Cache counts that the provider does not include in its input count.
const READ_SEPARATE: &[&str] = &["cache_read_input_tokens", "cacheReadInputTokens"];
const WRITE_SEPARATE: &[&str] = &["cache_creation_input_tokens", "cacheCreationInputTokens"];

/// Cache counts that the provider includes in its input count.
const READ_INCLUDED: &[&str] = &[
    "cache_read_tokens",
    "cacheReadTokens",
    "cached_input_tokens",
    "cachedInputTokens",
    "cachedContentTokenCount",
    "cached_content_token_count",
    "prompt_cache_hit_tokens",
];
const WRITE_INCLUDED: &[&str] = &["cache_write_tokens", "cacheWriteTokens"];
const INPUT_DETAILS: &[&str] =
    &["input_tokens_details", "inputTokensDetails", "prompt_tokens_details", "promptTokensDetails"];

const TOOL_PROMPT: &[&str] = &["toolUsePromptTokenCount", "tool_use_prompt_token_count"];
const THOUGHTS_SEPARATE: &[&str] = &["thoughtsTokenCount", "thoughts_token_count"];
const REASONING: &[&str] = &["reasoning_tokens", "reasoningTokens"];
const OUTPUT_DETAILS: &[&str] = &[
    "output_tokens_details",
    "outputTokensDetails",
    "completion_tokens_details",
    "completionTokensDetails",
];

/// Requests of the provider's own tools.
const SERVER_TOOLS: &[&str] = &["server_tool_use", "serverToolUse"];

/// Implements [`Usage::from_provider_value`]: the report itself, or a field that contains it.
pub(super) fn normalise(value: &Value) -> Option<Usage> {
    read(value).or_else(|| {
        ["usage", "usageMetadata", "usage_metadata"].iter().find_map(|key| read(value.get(key)?))
    })
}

fn read(value: &Value) -> Option<Usage> {
    let input = count(value, INPUT);
    let output = count(value, OUTPUT);
    let total = count(value, TOTAL);
    let read_separate = count(value, READ_SEPARATE);
    let write_separate = count(value, WRITE_SEPARATE);
    let thoughts_separate = count(value, THOUGHTS_SEPARATE);
    [input, output, total, read_separate, write_separate, thoughts_separate]
        .iter()
        // An object without any count is not a usage report, and a zero would look like an exact
        // one.
        .any(Option::is_some)
        .then_some(())?;

    let reasoning_included = count(value, REASONING)
        .or_else(|| detail(value, OUTPUT_DETAILS, &["reasoning_tokens", "reasoningTokens"]))
        .or_else(|| detail(value, OUTPUT_DETAILS, &["thinking_tokens", "thinkingTokens"]));
    let reasoning = thoughts_separate.or(reasoning_included).unwrap_or(0);

    let separate = read_separate.unwrap_or(0).saturating_add(write_separate.unwrap_or(0));
    let tool_prompt = count(value, TOOL_PROMPT).unwrap_or(0);
    let generated = match (output, thoughts_separate) {
        (Some(output), Some(thoughts)) => Some(output.saturating_add(thoughts)),
        // Some servers leave thinking out of the completion; only the total shows it.
        (Some(output), None) if reasoning_is_separate(total, input, output, reasoning) => {
            Some(output.saturating_add(reasoning))
        }
        (output, thoughts) => output.or(thoughts).or(reasoning_included),
    };
    // If one side is missing, it is the difference to the total. If both are missing, the total is
    // taken as the input, because it is the size of the context.
    let sent = match (input, total) {
        (None, Some(total)) => total.saturating_sub(generated.unwrap_or(0)),
        (input, _) => input.unwrap_or(0).saturating_add(separate).saturating_add(tool_prompt),
    };
    let generated = match (generated, input, total) {
        (None, Some(_), Some(total)) => total.saturating_sub(sent),
        (generated, ..) => generated.unwrap_or(0),
    };

    let cache_read = read_separate
        .or_else(|| count(value, READ_INCLUDED))
        .or_else(|| detail(value, INPUT_DETAILS, &["cached_tokens", "cachedTokens"]))
        .unwrap_or(0)
        // Some servers report more cached tokens than input; a part cannot be larger than the
        // whole.
        .min(sent);
    let cache_write = write_separate
        .or_else(|| count(value, WRITE_INCLUDED))
        .or_else(|| detail(value, INPUT_DETAILS, &["cache_write_tokens", "cacheWriteTokens"]))
        .unwrap_or(0)
        .min(sent - cache_read);
    Some(Usage {
        input_tokens: sent,
        output_tokens: generated,
        cache_read_tokens: cache_read,
        cache_write_tokens: cache_write,
        reasoning_tokens: reasoning.min(generated),
        web_searches: detail(value, SERVER_TOOLS, &["web_search_requests", "webSearchRequests"])
            .unwrap_or(0),
        web_fetches: detail(value, SERVER_TOOLS, &["web_fetch_requests", "webFetchRequests"])
            .unwrap_or(0),
    })
}

/// Returns true if the total shows that the output does not include the reasoning.
fn reasoning_is_separate(
    total: Option<u64>,
    input: Option<u64>,
    output: u64,
    reasoning: u64,
) -> bool {
    let (Some(total), Some(input)) = (total, input) else { return false };
    reasoning > 0
        && input.checked_add(output).and_then(|sum| sum.checked_add(reasoning)) == Some(total)
}

/// Returns the first of these fields that is a valid count.
fn count(value: &Value, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| number(value.get(name)?))
}

fn detail(value: &Value, objects: &[&str], names: &[&str]) -> Option<u64> {
    objects.iter().find_map(|object| count(value.get(object)?, names))
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let float = value.as_f64().filter(|float| float.is_finite() && *float >= 0.0)?;
        // The cast saturates and truncates: 1e300 becomes the largest count.
        Some(float as u64)
    })
}
