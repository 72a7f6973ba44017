//! The result line: the end of a turn, and the object that `--output-format json` prints.
//!
//! `cargo xtask gen` makes JSON Schemas from these types; this file uses nothing of this crate but
//! its siblings.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::line::Off;
use super::message::TokenUsage;
use super::tag::tag;

tag!(ResultTag, "result");

/// The end of a turn. `--output-format json` prints only this.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ResultLine<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: ResultTag,
    /// How the turn ended.
    pub(crate) subtype: ResultSubtype,
    /// Whether it failed. A failed model call has subtype `success` and true here.
    pub(crate) is_error: bool,
    /// The HTTP status of the failed model call, null if there was none; absent with an error
    /// subtype.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) api_error_status: Option<Option<u16>>,
    /// How long the turn took.
    pub(crate) duration_ms: u64,
    /// How long its model calls took.
    pub(crate) duration_api_ms: u64,
    /// How long the first piece of the first answer took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ttft_ms: Option<u64>,
    /// The number of model calls of the turn.
    pub(crate) num_turns: u32,
    /// The answer; absent with an error subtype.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<&'a str>,
    /// What went wrong; absent with subtype `success`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) errors: Option<Vec<Cow<'a, str>>>,
    /// Why the model stopped its last answer; null if none is complete.
    pub(crate) stop_reason: Option<&'a str>,
    /// The session's id.
    pub(crate) session_id: &'a str,
    /// The price of all model calls of the session, of earlier runs too.
    pub(crate) total_cost_usd: f64,
    /// The tokens of the turn.
    pub(crate) usage: TokenUsage,
    /// The tokens and price of all model calls of the session, by model.
    #[serde(rename = "modelUsage")]
    pub(crate) model_usage: BTreeMap<&'a str, ModelUsage>,
    /// The calls that were denied in the turn.
    pub(crate) permission_denials: Vec<Denial<'a>>,
    /// The validated answer (`--json-schema`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) structured_output: Option<&'a Value>,
    /// What ended the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) terminal_reason: Option<TerminalReason>,
    /// How many results this process printed before.
    pub(crate) result_index: u32,
    /// Messages of the host that wait for a turn.
    pub(crate) queued_turn_count: u32,
    /// Whether a faster mode of the model is in use.
    pub(crate) fast_mode_state: Off,
    /// Unique per line.
    pub(crate) uuid: &'a str,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResultSubtype {
    Success,
    ErrorMaxTurns,
    ErrorDuringExecution,
    ErrorMaxBudgetUsd,
    ErrorMaxStructuredOutputRetries,
}

/// What ended a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TerminalReason {
    Completed,
    AbortedStreaming,
    AbortedTools,
    MaxTurns,
    BudgetExhausted,
    StructuredOutputRetryExhausted,
    ApiError,
    HookStopped,
    /// The answer reached the limit of output tokens.
    MaxOutputTokens,
    /// The conversation does not fit into the context window.
    PromptTooLong,
}

/// The tokens and price of one model.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelUsage {
    /// Prompt tokens that were neither read from a cache nor written to one.
    pub(crate) input_tokens: u64,
    /// Generated tokens.
    pub(crate) output_tokens: u64,
    /// Prompt tokens that were read from the cache.
    pub(crate) cache_read_input_tokens: u64,
    /// Prompt tokens that were written to the cache.
    pub(crate) cache_creation_input_tokens: u64,
    /// Web searches of the provider.
    pub(crate) web_search_requests: u64,
    /// The price; 0 if it is not known, and then `costBasis` is `unknown`.
    #[serde(rename = "costUSD")]
    pub(crate) cost_usd: f64,
    /// The context window of the model.
    pub(crate) context_window: u64,
    /// The most tokens of one answer.
    pub(crate) max_output_tokens: u64,
    /// Where the price comes from.
    pub(crate) cost_basis: CostBasis,
}

/// Where a price comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CostBasis {
    /// The built-in list of models.
    #[default]
    List,
    /// The list has no price for this model.
    Unknown,
}

/// A call that was denied.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Denial<'a> {
    /// The tool's name.
    pub(crate) tool_name: &'a str,
    /// The id of the call.
    pub(crate) tool_use_id: &'a str,
    /// The arguments.
    pub(crate) tool_input: Cow<'a, Value>,
}
