//! The result line: the end of a turn, and the object that `--output-format json` prints.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::line::Off;
use crate::message::TokenUsage;
use crate::tag::tag;

tag!(ResultTag, "result");

/// The end of a turn. `--output-format json` prints only this.
#[derive(Debug, Serialize, JsonSchema)]
// Hosts expect two ranges in one line: calls, times and `usage` are those of the turn, prices and
// `modelUsage` those of the session. `subagent_stats` is left out, because its meaning is not
// published.
pub struct ResultLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: ResultTag,
    /// How the turn ended; it decides whether `result` or `errors` is there.
    pub subtype: ResultSubtype,
    /// Whether it failed. A failed model call has subtype `success` and true here.
    pub is_error: bool,
    /// The HTTP status of the failed model call, null if there was none; absent with an error
    /// subtype.
    // Two levels: with an error subtype the key is absent, otherwise hosts expect it, if only as
    // null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_error_status: Option<Option<u16>>,
    /// How long the turn took, in milliseconds, with tools and questions.
    pub duration_ms: u64,
    /// How long its model calls took, in milliseconds.
    pub duration_api_ms: u64,
    /// The milliseconds until the first piece of the first answer; absent if none came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<u64>,
    /// The same as `ttft_ms`: a first piece always comes from the stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_stream_ms: Option<u64>,
    /// The milliseconds until the first model call was sent; absent if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_request_ms: Option<u64>,
    /// The number of model calls of the turn.
    pub num_turns: u32,
    /// The answer; absent with an error subtype.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'a str>,
    /// What went wrong, one entry; absent with subtype `success`.
    #[serde(skip_serializing_if = "Option::is_none")]
    // The protocol has a list; a turn of this program ends for one reason.
    pub errors: Option<Vec<Cow<'a, str>>>,
    /// Why the model stopped its last answer; null if none is complete.
    pub stop_reason: Option<&'a str>,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// The price of all model calls of the session, of earlier runs too.
    pub total_cost_usd: f64,
    /// The tokens of the turn's model calls, agents not included.
    pub usage: TokenUsage,
    /// The tokens and price of all model calls of the session, by model.
    #[serde(rename = "modelUsage")]
    // Sorted by name, so that equal runs print equal lines.
    pub model_usage: BTreeMap<&'a str, ModelUsage>,
    /// The same of the model calls since the last result of this process.
    pub model_usage_since_last_result: BTreeMap<&'a str, ModelUsage>,
    /// The calls that were denied in the turn.
    pub permission_denials: Vec<Denial<'a>>,
    /// The validated answer; absent without `--json-schema`, and if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<&'a Value>,
    /// The host's id of the message that the turn answers: the last of `user_message_uuids`; absent
    /// if the host gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_message_uuid: Option<&'a str>,
    /// The host's ids of all messages that the turn took.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub user_message_uuids: &'a [String],
    /// What ended the turn; absent if the run failed before its first turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_reason: Option<TerminalReason>,
    /// What started the turn; absent if a user or a host did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<TurnOrigin>,
    /// How many results this process printed before.
    pub result_index: u32,
    /// Messages of the host that wait for a turn.
    pub queued_turn_count: u32,
    /// Whether a faster mode of the model is in use.
    pub fast_mode_state: Off,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

/// What started a turn, if neither a user nor a host did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOrigin {
    /// The end of an agent in the background.
    TaskNotification,
    /// A schedule of the session, whose time was reached.
    ScheduledTrigger,
}

/// The form of [`TurnOrigin`] in a line.
#[derive(Debug, Serialize, JsonSchema)]
// The protocol has no kind for schedules: hosts know them as a kind of task notification.
struct OriginParts {
    /// The kind of message.
    kind: TaskNotificationText,
    /// Present if a schedule sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    subkind: Option<ScheduledTriggerText>,
}

tag!(TaskNotificationText, "task-notification");
tag!(ScheduledTriggerText, "scheduled-trigger");

impl Serialize for TurnOrigin {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let subkind = match self {
            Self::TaskNotification => None,
            Self::ScheduledTrigger => Some(ScheduledTriggerText::default()),
        };
        OriginParts { kind: TaskNotificationText::default(), subkind }.serialize(to)
    }
}

impl JsonSchema for TurnOrigin {
    fn schema_name() -> Cow<'static, str> {
        "TurnOrigin".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        OriginParts::json_schema(generator)
    }
}

/// How a turn ended, as coarse as hosts distinguish it; `terminal_reason` has more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
// A failed model call has no subtype of its own: hosts expect `success` with `is_error`, and the
// text of the failure as the answer.
pub enum ResultSubtype {
    /// It ended with an answer, or with a failed model call.
    Success,
    /// It reached the limit of model calls.
    ErrorMaxTurns,
    /// It failed, or the user or the host interrupted it.
    ErrorDuringExecution,
    /// The price of the calls reached `--max-budget-usd`.
    ErrorMaxBudgetUsd,
    /// The model gave no valid structured answer.
    ErrorMaxStructuredOutputRetries,
}

/// What ended a turn, in more detail than the subtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TerminalReason {
    /// The model ended its answer and called no tool.
    Completed,
    /// It was interrupted while the model answered.
    AbortedStreaming,
    /// It was interrupted while tools ran.
    AbortedTools,
    /// It reached the limit of `--max-turns`.
    MaxTurns,
    /// It used up the budget of `--max-budget-usd`.
    BudgetExhausted,
    /// The model gave no valid structured answer.
    StructuredOutputRetryExhausted,
    /// A model call failed and was not tried again.
    ApiError,
    /// A hook stopped it with `continue: false`.
    HookStopped,
    /// The answer reached the limit of output tokens.
    MaxOutputTokens,
    /// The conversation does not fit into the context window.
    PromptTooLong,
}

/// The tokens and price of one model.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    /// Prompt tokens that were neither read from a cache nor written to one.
    pub input_tokens: u64,
    /// Generated tokens, those of the reasoning included.
    pub output_tokens: u64,
    /// Prompt tokens that were read from the cache.
    pub cache_read_input_tokens: u64,
    /// Prompt tokens that were written to the cache.
    pub cache_creation_input_tokens: u64,
    /// Web searches that the provider made itself; those of local tools are not counted.
    pub web_search_requests: u64,
    /// The price; 0 if it is not known, and then `costBasis` is `unknown`.
    #[serde(rename = "costUSD")]
    pub cost_usd: f64,
    /// The context window in tokens; a usual size if the model is not known.
    pub context_window: u64,
    /// The most tokens of one answer; a usual limit if the model is not known.
    pub max_output_tokens: u64,
    /// Where the price per token comes from; with `unknown` the price is 0.
    pub cost_basis: CostBasis,
}

impl ModelUsage {
    /// Adds the tokens and price of later calls of the same model.
    pub fn add(&mut self, later: Self) {
        self.input_tokens += later.input_tokens;
        self.output_tokens += later.output_tokens;
        self.cache_read_input_tokens += later.cache_read_input_tokens;
        self.cache_creation_input_tokens += later.cache_creation_input_tokens;
        self.web_search_requests += later.web_search_requests;
        self.cost_usd += later.cost_usd;
        // These are facts about the model, not sums; the later call knows them as well as any.
        self.context_window = later.context_window;
        self.max_output_tokens = later.max_output_tokens;
        self.cost_basis = later.cost_basis;
    }
}

/// Where the price per token of a model comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CostBasis {
    /// The built-in list of models, as it was when this program was built.
    #[default]
    List,
    /// The list has no price for this model.
    Unknown,
}

/// A call of the turn that was denied, by a rule, a hook or a person.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Denial<'a> {
    /// The name by which the model called the tool.
    pub tool_name: &'a str,
    /// The id of the `tool_use` block.
    pub tool_use_id: &'a str,
    /// The arguments of the call; an empty object if the model wrote no valid JSON.
    pub tool_input: Cow<'a, Value>,
}
