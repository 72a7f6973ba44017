//! What a prompt led to.

use robota_core::catalogue::Catalogue;
use robota_core::context::ContextState;
use robota_core::error::ErrorData;
use robota_core::event::{Cursor, TurnEnd};
use robota_core::usage::Usage;
use serde::Serialize;

use super::tool_state::ToolState;

/// What a prompt led to: the answer, the calls, and what they cost.
///
/// ```
/// use robota_sdk::ExecutionResult;
///
/// fn summary(result: &ExecutionResult) -> String {
///     format!("{} ({} calls)", result.response, result.tools.len())
/// }
/// # let _ = summary;
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ExecutionResult {
    /// The text of the last answer; only a part of it if the turn was interrupted.
    pub response: String,
    /// What ended the turn: a complete answer, a limit, an interrupt or a failure.
    pub end: TurnEnd,
    /// The failure that ended the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorData>,
    /// The tool calls of the turn, in the order in which they ended.
    #[serde(rename = "toolSummaries")]
    pub tools: Vec<ToolState>,
    /// How full the context window is.
    #[serde(rename = "contextState")]
    pub context: Option<ContextState>,
    /// What the turn used; none if the provider reports nothing.
    pub usage: Option<UsageSnapshot>,
    /// How often the turn called the model.
    pub rounds: u32,
    /// The last event of the turn.
    pub last: Option<Cursor>,
}

impl ExecutionResult {
    /// Creates the result of a turn that ended without an answer.
    #[must_use]
    pub fn new(end: TurnEnd) -> Self {
        Self {
            response: String::new(),
            end,
            error: None,
            tools: Vec::new(),
            context: None,
            usage: None,
            rounds: 0,
            last: None,
        }
    }
}

/// Whether a number was counted or computed.
///
/// ```
/// use robota_sdk::UsageKind;
///
/// assert_ne!(UsageKind::Exact, UsageKind::Estimated);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UsageKind {
    /// The provider counted the tokens and reported them.
    Exact,
    /// The tokens were estimated from the text.
    Estimated,
}

/// How well the price of a turn is known.
///
/// ```
/// use robota_sdk::CostStatus;
///
/// assert_ne!(CostStatus::Unknown, CostStatus::Estimated);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CostStatus {
    /// The catalogue has no price for the model.
    Unknown,
    /// Computed from the price list of the catalogue.
    Estimated,
}

/// What a turn used.
///
/// ```
/// use robota_sdk::UsageSnapshot;
///
/// fn line(usage: &UsageSnapshot) -> String {
///     format!("{} tokens, {:.0} % of the window", usage.total_tokens, usage.context_used_percentage)
/// }
/// # let _ = line;
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UsageSnapshot {
    /// Whether the provider counted the tokens, or they were estimated.
    pub kind: UsageKind,
    /// What the numbers cover: always `turn`.
    pub scope: &'static str,
    /// The tokens of all model calls of the turn.
    pub total_tokens: u64,
    /// The tokens that were sent, over all model calls of the turn.
    pub prompt_tokens: u64,
    /// The tokens that were generated, over all model calls of the turn.
    pub completion_tokens: u64,
    /// The tokens in the context window after the turn.
    pub context_used_tokens: u64,
    /// The size of the context window; 0 if unknown.
    pub context_max_tokens: u64,
    /// The share of the window in use, in percent.
    pub context_used_percentage: f64,
    /// How well the price is known.
    pub cost_status: CostStatus,
    /// The price of the turn in dollars; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl UsageSnapshot {
    /// Returns the snapshot of a turn; none if neither tokens nor the window are known.
    pub(super) fn new(model: &str, usage: Usage, context: Option<&ContextState>) -> Option<Self> {
        if usage.is_zero() && context.is_none() {
            return None;
        }
        // A turn without tokens has an unknown price, not the price 0.
        let cost = Catalogue::builtin().cost(model, usage).filter(|_| !usage.is_zero());
        Some(Self {
            kind: if usage.is_zero() { UsageKind::Estimated } else { UsageKind::Exact },
            scope: "turn",
            total_tokens: usage.total(),
            prompt_tokens: usage.input_tokens,
            completion_tokens: usage.output_tokens,
            context_used_tokens: context.map_or(0, |context| context.used_tokens),
            context_max_tokens: context.map_or(0, |context| context.max_tokens),
            context_used_percentage: context.map_or(0.0, |context| context.used_percentage),
            cost_status: if cost.is_some() { CostStatus::Estimated } else { CostStatus::Unknown },
            cost,
        })
    }
}
