//! Model calls, their streams, and compaction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::session::data;
use crate::context::ContextEstimate;
use crate::error::ErrorData;
use crate::ids::MessageId;
use crate::message::Message;
use crate::provider::{LeftOut, PayloadKind, StopReason};
use crate::usage::Usage;

data! {
    /// How full the context window is.
    ContextMeasured {
        /// The estimate and what it was made from.
        estimate: ContextEstimate,
    }

    /// The conversation is about to be summarised.
    CompactionStarted {
        /// Who wanted it.
        trigger: CompactionTrigger,
        /// How full it was.
        before: ContextEstimate,
    }

    /// What the model sees is a summary and what follows it.
    CompactionFinished {
        /// The summary, in place of what it summarises.
        summary: Message,
        /// The first message that is kept word for word; none keeps nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keep_from: Option<MessageId>,
    }

    /// The conversation stays as it was.
    CompactionFailed {
        /// Why.
        error: ErrorData,
    }

    /// The next request does not extend the last one.
    PrefixChanged {
        /// Why.
        cause: PrefixChange,
    }

    /// A model is about to be called.
    ModelRequested {
        /// Which round of the turn, from one.
        round: u32,
        /// Which try of the round, from one.
        attempt: u32,
        /// What for.
        purpose: Purpose,
        /// How many messages of the conversation it is sent.
        messages: u64,
        /// Hash of the system prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// Hash of the tools it is offered; none when it is offered none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<String>,
        /// An instruction for this call alone; it never enters the conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instruction: Option<String>,
    }

    /// Parts of the conversation cannot be sent to this model.
    ContentLeftOut {
        /// Which round of the turn noticed.
        round: u32,
        /// Whose model.
        provider: String,
        /// Which model.
        model: String,
        /// What its requests are without, all of it.
        parts: LeftOut,
    }

    /// Text as it arrives.
    TextChunk {
        /// Which round of the turn.
        round: u32,
        /// The text.
        text: String,
    }

    /// Reasoning as it arrives.
    ThinkingChunk {
        /// Which round of the turn.
        round: u32,
        /// The text.
        text: String,
    }

    /// Arguments of a tool call as they arrive.
    ToolInputChunk {
        /// Which round of the turn.
        round: u32,
        /// Which call of the answer, from zero.
        index: u32,
        /// The tool, once known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// A piece of JSON.
        json: String,
    }

    /// What went over the wire.
    ProviderPayload {
        /// Which round of the turn.
        round: u32,
        /// Whose.
        provider: String,
        /// Which of its interfaces.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        api_surface: Option<String>,
        /// Which phase.
        kind: PayloadKind,
        /// Its place among the payloads of this call.
        sequence: u64,
        /// The payload.
        payload: Value,
        /// Scalars about it.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        metadata: Map<String, Value>,
    }

    /// What streamed in this attempt is void.
    StreamReset {
        /// Which round of the turn.
        round: u32,
        /// Which try of the round.
        attempt: u32,
    }

    /// The call failed and is tried again.
    ModelRetry {
        /// Which round of the turn.
        round: u32,
        /// The try that failed.
        attempt: u32,
        /// How it failed.
        error: ErrorData,
        /// How long until the next try.
        delay_ms: u64,
    }

    /// The call failed for good.
    ModelFailed {
        /// Which round of the turn.
        round: u32,
        /// How it failed.
        error: ErrorData,
    }

    /// The model's answer is complete.
    ModelResponded {
        /// Which round of the turn.
        round: u32,
        /// Why it stopped.
        stop: StopReason,
        /// What it cost, if the provider says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// How many tool calls it asks for.
        tool_calls: u32,
    }

    /// A model was called outside the conversation.
    ModelAsked {
        /// Which model.
        model: String,
        /// What it cost, if the provider says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Why it failed, if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorData>,
    }

    /// The answer enters the conversation.
    AssistantMessage {
        /// Which round of the turn.
        round: u32,
        /// The message.
        message: Message,
    }
}

/// Who wanted a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactionTrigger {
    /// The context filled up.
    Auto,
    /// The user.
    Manual,
}

/// Why a request does not extend the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrefixChange {
    /// Older messages became a summary.
    Compaction,
    /// Another model.
    Model,
    /// Another system prompt.
    Prompt,
    /// Other tools.
    Tools,
    /// The conversation was taken back to an earlier point.
    Rewind,
}

/// What a model call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To go on.
    Answer,
    /// To say what there is, because the round limit was reached.
    SummaryAtLimit,
    /// To say what there is, because tools were asked for that do not exist.
    SummaryWithoutTools,
}

impl ModelRetry {
    /// A failed attempt of a call in that round; zero outside of turns.
    #[must_use]
    pub fn of(round: u32, retry: crate::call::Retry) -> Self {
        let delay_ms = u64::try_from(retry.delay.as_millis()).unwrap_or(u64::MAX);
        Self { round, attempt: retry.attempt, error: retry.error, delay_ms }
    }
}
