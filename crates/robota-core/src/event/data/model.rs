//! Data of the events of model calls, their streams, and compaction.

use std::sync::Arc;

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
    /// An estimate of how full the context window is, before a model call.
    ContextMeasured {
        /// The estimate in tokens, with the numbers it was computed from.
        estimate: ContextEstimate,
    }

    /// The conversation is about to be summarised.
    CompactionStarted {
        /// What caused the compaction.
        trigger: CompactionTrigger,
        /// The estimate of the context window before the compaction.
        before: ContextEstimate,
    }

    /// A summary replaced the older messages in the model's view.
    CompactionFinished {
        /// The summary. It replaces every message before `keep_from`, except system messages.
        summary: Arc<Message>,
        /// The first message that stays in the view verbatim; absent if the summary replaces all
        /// messages.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keep_from: Option<MessageId>,
    }

    /// The compaction failed; the conversation is unchanged.
    CompactionFailed {
        /// Why the compaction failed.
        error: ErrorData,
    }

    /// The next request does not start with the content of the last one.
    PrefixChanged {
        /// What made the request differ, so that the service's prompt cache does not apply.
        cause: PrefixChange,
    }

    /// The model is about to be called.
    ModelRequested {
        /// The round of the turn, from 1.
        round: u32,
        /// The attempt within the round, from 1.
        attempt: u32,
        /// Whether the call is an ordinary one or asks for a final summary without tools.
        purpose: Purpose,
        /// The number of messages of the conversation in the request.
        messages: u64,
        /// SHA-256 of the system prompt, in hexadecimal; absent without a system prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// SHA-256 of the list of offered tools, in hexadecimal; absent if no tools are offered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<String>,
        /// An instruction for this call only; it is not added to the conversation. Usually absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instruction: Option<String>,
        /// Whether the call continues the answer before it, which was cut short or paused; absent if
        /// not. The text of the answer is that of both.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        continues: bool,
    }

    /// Requests to this model omit parts of the conversation that it cannot take.
    ContentLeftOut {
        /// The round of the turn whose request omitted the parts, from 1.
        round: u32,
        /// The name of the provider that was called.
        provider: String,
        /// The id of the model that was called.
        model: String,
        /// Everything that the request omits, by kind.
        parts: LeftOut,
    }

    /// A streamed piece of the answer's text.
    TextChunk {
        /// The round of the turn, from 1.
        round: u32,
        /// The piece of text. The complete text follows in `assistant_message`.
        text: String,
    }

    /// A streamed piece of the model's reasoning.
    ThinkingChunk {
        /// The round of the turn, from 1.
        round: u32,
        /// The piece of reasoning.
        text: String,
    }

    /// A streamed piece of the arguments of a tool call. The event `tool_called` has all of them.
    ToolInputChunk {
        /// The round of the turn, from 1.
        round: u32,
        /// The position of the call in the answer, from 0.
        index: u32,
        /// The provider's id of the call; absent where the provider did not send it with this piece.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The tool's name; absent where the provider did not send it with this piece.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// A piece of the JSON text of the arguments.
        json: String,
    }

    /// A raw request or response of the provider's API.
    ProviderPayload {
        /// The round of the turn, from 1.
        round: u32,
        /// The name of the provider that sent or received the payload.
        provider: String,
        /// The provider's API that was used, for example `chat-completions`; absent if the adapter
        /// does not name it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        api_surface: Option<String>,
        /// Whether this is the request, the response or one event of a stream.
        kind: PayloadKind,
        /// The position among the payloads of this model call.
        sequence: u64,
        /// The payload as JSON, with secrets removed.
        payload: Value,
        /// Scalar values about the payload, set by the provider's adapter.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        metadata: Map<String, Value>,
    }

    /// The chunks of this attempt are void.
    StreamReset {
        /// The round of the turn, from 1.
        round: u32,
        /// The attempt whose chunks are void, from 1.
        attempt: u32,
    }

    /// A model call failed and will be retried.
    ModelRetry {
        /// The round of the turn, from 1; 0 for a call outside a turn.
        round: u32,
        /// The attempt that failed, from 1.
        attempt: u32,
        /// Why the attempt failed.
        error: ErrorData,
        /// The wait before the next attempt, in milliseconds.
        delay_ms: u64,
    }

    /// A model call failed and this request will not be retried.
    ModelFailed {
        /// The round of the turn, from 1.
        round: u32,
        /// Why the last attempt failed.
        error: ErrorData,
    }

    /// The model finished its answer, which follows as a message.
    ModelResponded {
        /// The round of the turn, from 1.
        round: u32,
        /// Why the model stopped.
        stop: StopReason,
        /// The tokens of the call; absent if the provider does not report them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// The number of tool calls that the answer asks for.
        tool_calls: u32,
    }

    /// A model was called and no message of the conversation has its answer: the program or a hook made
    /// the call, the call failed and was retried, or a compaction was interrupted.
    ModelAsked {
        /// The id of the model that was called.
        model: String,
        /// The tokens of the call; absent if the provider does not report them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Why the call failed; absent if it succeeded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorData>,
    }

    /// The model's answer was added to the conversation, complete or interrupted.
    AssistantMessage {
        /// The round of the turn, from 1.
        round: u32,
        /// The answer as the model will see it in the next request, with its usage.
        message: Arc<Message>,
    }
}

/// What caused a compaction: the machine, or a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactionTrigger {
    /// The context window was nearly full.
    Auto,
    /// The user asked for it.
    Manual,
}

/// Why a request does not start with the content of the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PrefixChange {
    /// A summary replaced older messages.
    Compaction,
    /// Another model is called than in the last request.
    Model,
    /// The system prompt differs from that of the last request.
    Prompt,
    /// The offered tools differ from those of the last request.
    Tools,
    /// The conversation was rewound to an earlier point.
    Rewind,
}

/// What a model call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Purpose {
    /// An ordinary call: the model may answer or ask for tool calls.
    Answer,
    /// A final summary without tools, because the round limit was reached.
    SummaryAtLimit,
    /// A final summary without tools, because the model kept asking for tools that do not exist.
    SummaryWithoutTools,
}

impl ModelRetry {
    /// Creates the event for a failed attempt; `round` is 0 outside a turn.
    #[must_use]
    pub fn of(round: u32, retry: crate::call::Retry) -> Self {
        let delay_ms = u64::try_from(retry.delay.as_millis()).unwrap_or(u64::MAX);
        Self { round, attempt: retry.attempt, error: retry.error, delay_ms }
    }
}
