//! What real servers do differently, one word each.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

/// One oddity of a server. A wire that has no place for it leaves it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quirk {
    // How bytes are framed.
    /// The body comes in pieces of that many bytes; one splits every character.
    Bytes(NonZeroUsize),
    /// The connection is closed after that many pieces of the body: events, or what `bytes` makes
    /// of them.
    DropAt(usize),
    /// Each event is written to the socket alone, where else neighbours share a write.
    WriteEach,
    /// Lines end with `\r\n`. Gemini's always do.
    Crlf,
    /// The body begins with a byte order mark.
    Bom,
    /// A comment before each event.
    Comments,
    /// No space after `data:`.
    NoSpace,
    /// Names of events are left out.
    NoEventNames,
    /// Each event's JSON is padded with that many spaces.
    Padding(usize),
    /// Characters beyond ASCII are written as `\u` escapes.
    Ascii,
    /// U+E000 in a text goes out as the escape of half a surrogate pair.
    LoneSurrogate,
    /// Events and fields that nobody knows are mixed in.
    UnknownEvents,

    // How tool calls are told.
    /// Calls have no id.
    NoIds,
    /// All calls of an answer have the same id.
    DuplicateIds,
    /// Calls and blocks have no index.
    NoIndex,
    /// Id and name are repeated in every piece of a call (Chat).
    RepeatHead,
    /// Arguments come as an object, not as text (Chat), or whole in the block's start
    /// (Anthropic).
    ObjectArguments,
    /// All calls come in one delta, whole (Chat).
    OneDelta,
    /// Calls come in one event each (Gemini).
    CallPerEvent,
    /// A block begins without `input` (Anthropic).
    NoInput,
    /// Blocks end only when all have begun (Anthropic).
    Overlap,
    /// Calls are written as text, the way local models do without a parser.
    TextCalls(TextCalls),

    // What else is told.
    /// `content` is null where it has nothing to say (Chat); `content` is missing (Gemini).
    NullContent,
    /// Usage is never told.
    NoUsage,
    /// Usage is on the chunk that finishes the answer (Chat).
    UsageOnFinish,
    /// The finish is told twice (Chat).
    FinishTwice,
    /// `[DONE]` is missing after the finish (Chat).
    NoDone,
    /// The answer is complete, and the body never ends: the connection just stays.
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
    /// A fenced block of JSON.
    Fenced,
    /// Bare JSON with `parameters`: Llama 3.
    Llama,
    /// `[TOOL_CALLS]` before a JSON list: Mistral.
    Mistral,
}

impl TextCalls {
    /// Every form.
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

/// The oddities of one answer.
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
