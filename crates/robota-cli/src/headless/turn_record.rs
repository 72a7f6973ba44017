//! What is known about a turn when it ends.

use jiff::Timestamp;
use robota_core::error::ErrorData;
use robota_core::event::TurnEnd;
use robota_core::message::ToolUse;
use robota_core::project::AnswerText;
use robota_core::provider::StopReason;
use robota_core::usage::Usage;
use robota_stream_json::TurnOrigin;
use serde_json::Value;

/// What is known about a turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct TurnRecord {
    /// How it ended; `None` while it runs.
    pub(crate) end: Option<TurnEnd>,
    /// The failure that ended it.
    pub(crate) error: Option<ErrorData>,
    /// Why the model stopped its last answer.
    pub(crate) stop: Option<StopReason>,
    /// The last answer.
    pub(crate) answer: AnswerText,
    /// The number of model calls.
    pub(crate) rounds: u32,
    /// The limit of model calls; 0 means none.
    pub(crate) max_rounds: u32,
    /// The tokens of all model calls.
    pub(crate) usage: Usage,
    /// When it started.
    pub(crate) started: Option<Timestamp>,
    /// When the first model call was sent.
    pub(crate) requested: Option<Timestamp>,
    /// When the first piece of the first answer arrived.
    pub(crate) first_piece: Option<Timestamp>,
    /// When it ended.
    pub(crate) finished: Option<Timestamp>,
    /// How long the model calls took, in milliseconds.
    pub(crate) api_ms: u64,
    /// The calls that were denied, with the reasons.
    pub(crate) denials: Vec<(ToolUse, String)>,
    /// The reason of the hook that blocked the prompt.
    pub(crate) blocked: Option<String>,
    /// The reason of the hook that stopped the turn.
    pub(crate) stopped: Option<String>,
    /// Whether tool calls are being processed.
    pub(crate) in_tools: bool,
    /// Whether that was so when the turn was interrupted.
    pub(crate) aborted_in_tools: bool,
    /// The structured answer.
    pub(crate) structured: Option<Value>,
    /// Whether the model used up its attempts at a structured answer.
    pub(crate) structured_exhausted: bool,
    /// The host's ids of the messages that the turn took.
    pub(crate) user_messages: Vec<String>,
    /// Whether a line of an answer names them.
    pub(crate) printed_user_messages: bool,
    /// Whether an event of a streamed answer names them.
    pub(crate) streamed_user_messages: bool,
    /// What started it, if neither a user nor a host did.
    pub(crate) origin: Option<TurnOrigin>,
    /// The text about the budget, if it is used up.
    pub(crate) budget: Option<String>,
}

impl TurnRecord {
    /// Returns how long the turn took, in milliseconds.
    pub(crate) fn duration_ms(&self) -> u64 {
        millis(self.started, self.finished).unwrap_or_default()
    }

    /// Returns how long the first piece of the first answer took, in milliseconds.
    pub(crate) fn ttft_ms(&self) -> Option<u64> {
        millis(self.requested, self.first_piece)
    }

    /// Returns how long the turn took before its first model call was sent, in milliseconds.
    pub(crate) fn time_to_request_ms(&self) -> Option<u64> {
        millis(self.started, self.requested)
    }
}

fn millis(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<u64> {
    u64::try_from(to?.duration_since(from?).as_millis()).ok()
}
