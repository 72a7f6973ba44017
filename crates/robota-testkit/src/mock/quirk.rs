//! Deviations of real servers from their wire's specification.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

/// One deviation of a server. A wire to which it does not apply ignores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quirk {
    // Framing of bytes.
    /// The body is sent in pieces of that many bytes; one byte splits every multi-byte character.
    Bytes(NonZeroUsize),
    /// The connection is closed after that many pieces of the body: events, or the pieces of
    /// `bytes`.
    DropAt(usize),
    /// Each event is written to the socket separately; otherwise adjacent events share a write.
    WriteEach,
    /// Lines end with `\r\n`. On the Gemini wire they always do.
    Crlf,
    /// The body starts with a byte order mark.
    Bom,
    /// A comment line is sent before each event.
    Comments,
    /// The space after `data:` and `event:` is left out, which the format allows.
    NoSpace,
    /// Events have no `event:` line; clients must use the type in the data.
    NoEventNames,
    /// Each event's JSON is padded with that many spaces.
    Padding(usize),
    /// Characters beyond ASCII are written as `\u` escapes.
    Ascii,
    /// U+E000 in a text is sent as the escape of a lone surrogate.
    LoneSurrogate,
    /// Unknown events and fields are mixed in.
    UnknownEvents,

    // Form of tool calls.
    /// Calls have no id, so that the client must make one.
    NoIds,
    /// All calls of an answer have the same id.
    DuplicateIds,
    /// Calls and blocks have no index.
    NoIndex,
    /// Id and name are repeated in every piece of a call (Chat).
    RepeatHead,
    /// Arguments are an object instead of text (Chat), or are whole in the start of the block
    /// (Anthropic).
    ObjectArguments,
    /// All calls are sent whole in one delta (Chat).
    OneDelta,
    /// Each call is sent in a separate event (Gemini).
    CallPerEvent,
    /// A block starts without `input` (Anthropic).
    NoInput,
    /// Blocks end only after all have started (Anthropic).
    Overlap,
    /// Calls are written as text, as local models do when the server has no parser.
    TextCalls(TextCalls),

    // Other fields.
    /// `content` is null when it is empty (Chat); `content` is missing (Gemini).
    NullContent,
    /// Usage is never sent, not even if the request asks for it.
    NoUsage,
    /// Usage is in the chunk with the finish reason (Chat).
    UsageOnFinish,
    /// The finish reason is sent twice (Chat).
    FinishTwice,
    /// `[DONE]` is missing after the finish reason (Chat).
    NoDone,
    /// The answer is complete, but the body never ends and the connection stays open.
    NeverEnds,
    /// Reasoning is in `reasoning` instead of `reasoning_content` (Chat).
    ReasoningField,
    /// Reasoning is text between `<think>` and `</think>` (Chat).
    ThinkTags,
    /// Answers that call tools finish with `stop` (Chat).
    StopWithCalls,
}

/// How a model writes a call into its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextCalls {
    /// `<tool_call>` around JSON: Hermes, Qwen.
    Hermes,
    /// `<function=…>` and `<parameter=…>`: Qwen3-Coder.
    QwenXml,
    /// `<|tool_call>call:…`: Gemma 4.
    Gemma,
    /// `<start_function_call>call:…`: FunctionGemma.
    FunctionGemma,
    /// A fenced block of JSON with `name` and `arguments`.
    Fenced,
    /// Bare JSON with `parameters`: Llama 3.
    Llama,
    /// `[TOOL_CALLS]` before a JSON list: Mistral.
    Mistral,
}

impl TextCalls {
    /// Every form, for tests that try all of them.
    pub const ALL: [Self; 7] = [
        Self::Hermes,
        Self::QwenXml,
        Self::Gemma,
        Self::FunctionGemma,
        Self::Fenced,
        Self::Llama,
        Self::Mistral,
    ];
}

/// The deviations of one answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Quirks(Vec<Quirk>);

impl Quirks {
    pub(super) fn new(quirks: impl IntoIterator<Item = Quirk>) -> Self {
        Self(quirks.into_iter().collect())
    }

    pub(super) fn has(&self, quirk: Quirk) -> bool {
        self.0.contains(&quirk)
    }

    pub(super) fn bytes(&self) -> Option<NonZeroUsize> {
        self.0.iter().find_map(|quirk| match quirk {
            Quirk::Bytes(size) => Some(*size),
            _ => None,
        })
    }

    pub(super) fn drop_at(&self) -> Option<usize> {
        self.0.iter().find_map(|quirk| match quirk {
            Quirk::DropAt(pieces) => Some(*pieces),
            _ => None,
        })
    }

    pub(super) fn padding(&self) -> usize {
        self.0
            .iter()
            .find_map(|quirk| match quirk {
                Quirk::Padding(size) => Some(*size),
                _ => None,
            })
            .unwrap_or(0)
    }

    pub(super) fn text_calls(&self) -> Option<TextCalls> {
        self.0.iter().find_map(|quirk| match quirk {
            Quirk::TextCalls(form) => Some(*form),
            _ => None,
        })
    }
}
