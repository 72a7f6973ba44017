//! Messages in the shape of the Messages API: the content of `assistant`, `user` and
//! `stream_event` lines, for every wire of the model.
//!
//! The types borrow what they print, so that a streamed piece of text is copied once, into the
//! line.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::tag::tag;

tag!(MessageTag, "message");
tag!(AssistantRole, "assistant");
tag!(UserRole, "user");
tag!(StandardTier, "standard");

/// An answer of the model, in the shape of a message of the Messages API.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AssistantMessage<'a> {
    /// The model's id; `<synthetic>` for a message that this program wrote.
    pub model: &'a str,
    /// The id that all lines of one answer share.
    pub id: &'a str,
    /// Always `message`; the Messages API has it in every message.
    #[serde(rename = "type")]
    pub kind: MessageTag,
    /// Always `assistant`; hosts add the message to their conversation with it.
    pub role: AssistantRole,
    /// The content: one block in an `assistant` line, none in `message_start`.
    pub content: Vec<Block<'a>>,
    /// Why the model stopped; `stop_sequence` in a message that reports an error, otherwise
    /// null, because the `result` line says it.
    // The Messages API has both keys in every message, as null until the answer has ended.
    pub stop_reason: Option<&'a str>,
    /// The stop sequence that ended the answer; null.
    pub stop_sequence: Option<&'a str>,
    /// The tokens of the call so far.
    pub usage: TokenUsage,
}

/// A message of the user, or the results of tool calls.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UserMessage<'a> {
    /// Always `user`; the Messages API has no role of its own for tool results.
    pub role: UserRole,
    /// Blocks of this program, or what the host sent.
    pub content: UserContent<'a>,
}

/// The content of a user message.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum UserContent<'a> {
    /// The blocks that this program makes: results of calls, and text.
    Blocks(Vec<Block<'a>>),
    /// The content as the host sent it, for a replayed message.
    AsSent(&'a Value),
}

/// A block of a message, in the shape of the protocol.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block<'a> {
    /// Text that the model, this program or the host wrote.
    Text {
        /// The text; empty at the start of a streamed block.
        text: &'a str,
        /// The sources of the text, if the provider names them.
        #[serde(skip_serializing_if = "Option::is_none")]
        citations: Option<Vec<Value>>,
    },
    /// The model's reasoning. Some services return it only as a summary.
    Thinking {
        /// The reasoning as the service returned it; empty at the start of a streamed block.
        thinking: &'a str,
        /// The provider's proof that the reasoning is unaltered; empty if the provider uses none.
        signature: &'a str,
    },
    /// A call that the model makes.
    ToolUse {
        /// The id by which the result refers to the call.
        id: &'a str,
        /// The name by which the model calls the tool.
        name: &'a str,
        /// The arguments; an empty object at the start of a streamed block.
        input: Cow<'a, Value>,
    },
    /// The result of a tool call.
    ToolResult {
        /// The id of the `tool_use` block.
        tool_use_id: &'a str,
        /// The content that the model sees.
        content: ResultContent<'a>,
        /// Whether the call failed or was denied; the content then says why.
        is_error: bool,
    },
    /// An image, or another block of a provider.
    #[serde(untagged)]
    Other(Cow<'a, Value>),
}

impl<'a> Block<'a> {
    /// Creates a text block without sources.
    #[must_use]
    pub fn text(text: &'a str) -> Self {
        Self::Text { text, citations: None }
    }
}

/// The content of a tool result: one text, or several blocks.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ResultContent<'a> {
    /// The whole result as one text.
    Text(&'a str),
    /// Texts and images, in the order of the tool.
    Blocks(Vec<Block<'a>>),
}

/// Tokens, counted as the Messages API counts them: the cached ones are not part of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct TokenUsage {
    /// Prompt tokens that were neither read from a cache nor written to one.
    pub input_tokens: u64,
    /// Prompt tokens that were written to the cache.
    pub cache_creation_input_tokens: u64,
    /// Prompt tokens that were read from the cache.
    pub cache_read_input_tokens: u64,
    /// Generated tokens, those of the reasoning included.
    pub output_tokens: u64,
    /// What the provider's own tools did.
    pub server_tool_use: ServerToolUse,
    /// Always `standard`: hosts require the key, and other services have no tiers.
    pub service_tier: StandardTier,
}

/// Requests of the provider's own tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct ServerToolUse {
    /// Searches that the provider made itself; those of local tools are not counted.
    pub web_search_requests: u64,
    /// Pages that the provider fetched itself.
    pub web_fetch_requests: u64,
}

/// One event of a streamed answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
// `ping` and `error` of the Messages API are left out: failures and retries have lines of their
// own.
pub enum StreamEvent<'a> {
    /// The answer begins; its tokens are those of the prompt.
    MessageStart {
        /// The answer with its id and model; the blocks follow as events.
        message: AssistantMessage<'a>,
    },
    /// A block begins; the others of the answer are complete or have not begun.
    ContentBlockStart {
        /// The position of the block in the answer, from 0.
        index: u32,
        /// The block, without content: the kind, and for a call its id and name.
        content_block: Block<'a>,
    },
    /// A piece of a block, to be appended.
    ContentBlockDelta {
        /// The position of the block in the answer, from 0.
        index: u32,
        /// What is appended to the block.
        delta: BlockDelta<'a>,
    },
    /// A block has all of its pieces; only now the arguments of a call are valid JSON.
    ContentBlockStop {
        /// The position of the block in the answer, from 0.
        index: u32,
    },
    /// The model has ended its answer; no blocks follow.
    MessageDelta {
        /// Why the model stopped, which the first event could not say.
        delta: MessageDelta<'a>,
        /// The tokens of the whole call; they replace those of `message_start`.
        usage: TokenUsage,
    },
    /// The stream of the answer ended.
    MessageStop,
}

/// A piece of a block, which the host appends to the pieces before.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type")]
// Renamed one by one: the Messages API ends each name with `_delta`.
pub enum BlockDelta<'a> {
    /// More text of a text block.
    #[serde(rename = "text_delta")]
    Text {
        /// The next piece of the text, cut between characters.
        text: &'a str,
    },
    /// More text of a reasoning block.
    #[serde(rename = "thinking_delta")]
    Thinking {
        /// The next piece of the reasoning, cut between characters.
        thinking: &'a str,
    },
    /// The provider's proof that the reasoning is unaltered, at the end of the block.
    #[serde(rename = "signature_delta")]
    Signature {
        /// The whole proof: it is not sent in pieces.
        signature: &'a str,
    },
    /// A source that the provider names for the text of the block.
    #[serde(rename = "citations_delta")]
    Citation {
        /// The source, in the shape of the Messages API.
        citation: &'a Value,
    },
    /// More of the arguments of a call.
    #[serde(rename = "input_json_delta")]
    InputJson {
        /// A piece of JSON text, which is valid JSON only together with all other pieces.
        partial_json: &'a str,
    },
}

/// Why the model ended its answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MessageDelta<'a> {
    /// Why the model stopped: `end_turn`, `tool_use`, `max_tokens` and others.
    pub stop_reason: Option<&'a str>,
    /// The stop sequence that ended the answer; null.
    // Null, because this program never sends stop sequences to a service.
    pub stop_sequence: Option<&'a str>,
}
