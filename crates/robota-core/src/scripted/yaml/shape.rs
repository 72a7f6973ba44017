//! The keys of a script. Every mapping refuses unknown keys. Nothing here is untagged or flattened,
//! because serde would then lose the positions that errors name.
//!
//! Types with a short form are read by [`short_form`]: the derived reader (`remote = "Self"` makes
//! it a plain function) reads the mapping, and the trait adds the other forms.

use std::num::NonZeroUsize;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess};
use serde_json::Value;
use serde_saphyr::Spanned;

use super::short_form::{ShortForm, short_form};
use crate::error::ErrorKind;
use crate::provider::StopReason;

/// A whole script: its answers, or a mapping that has them under `answers`.
#[derive(Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(super) struct ScriptIn {
    pub(super) answers: Vec<Spanned<AnswerIn>>,
    #[serde(default, rename = "loop")]
    pub(super) looped: bool,
    #[serde(default)]
    pub(super) chunk: Option<NonZeroUsize>,
}

/// One answer: its text, or a mapping.
#[derive(Deserialize, Default)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub(super) struct AnswerIn {
    pub(super) expect: Option<Spanned<ExpectIn>>,
    pub(super) chunk: Option<NonZeroUsize>,
    pub(super) steps: Option<Vec<Spanned<StepIn>>>,
    pub(super) thinking: Option<String>,
    pub(super) text: Option<TextIn>,
    pub(super) tools: Option<Vec<Spanned<ToolIn>>>,
    pub(super) usage: Option<UsageIn>,
    pub(super) stop: Option<StopReason>,
    pub(super) error: Option<ErrorIn>,
}

/// What a request must look like.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ExpectIn {
    pub(super) last: Option<String>,
    pub(super) system: Option<String>,
    pub(super) tools: Vec<String>,
    pub(super) no_tools: bool,
    pub(super) messages: Option<usize>,
}

/// One step: a name, or a mapping with one main key and the keys that belong to it.
#[derive(Deserialize, Default)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub(super) struct StepIn {
    pub(super) text: Option<TextIn>,
    pub(super) thinking: Option<String>,
    pub(super) signature: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) input: Option<Value>,
    pub(super) raw: Option<String>,
    pub(super) id: Option<String>,
    pub(super) chunk: Option<NonZeroUsize>,
    pub(super) usage: Option<UsageIn>,
    pub(super) error: Option<ErrorIn>,
    pub(super) stall: Option<StallIn>,
    pub(super) stop: Option<StopReason>,
    pub(super) drop: bool,
    pub(super) activity: bool,
}

/// Text: complete, or a list of the pieces that are streamed.
pub(super) struct TextIn(pub(super) Vec<String>);

/// A tool call in the short form of an answer: the tool's name, or a mapping.
#[derive(Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(super) struct ToolIn {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) input: Option<Value>,
    #[serde(default)]
    pub(super) raw: Option<String>,
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) chunk: Option<NonZeroUsize>,
}

/// The tokens of a call.
#[derive(Deserialize, Default, Clone, Copy)]
#[serde(deny_unknown_fields, default)]
pub(super) struct UsageIn {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) reasoning: u64,
    pub(super) web_searches: u64,
}

/// A failure: its message, or a mapping.
#[derive(Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(super) struct ErrorIn {
    #[serde(default)]
    pub(super) kind: Option<ErrorKind>,
    pub(super) message: String,
    #[serde(default)]
    pub(super) retry_after_ms: Option<u64>,
    #[serde(default)]
    pub(super) retryable: Option<bool>,
}

/// A silence: `forever`, or when it ends.
#[derive(Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub(super) enum StallIn {
    Forever,
    Gate(String),
    Ms(u64),
}

short_form!(ScriptIn, AnswerIn, StepIn, TextIn, ToolIn, ErrorIn, StallIn);

impl ShortForm for ScriptIn {
    const EXPECTED: &'static str = "a list of answers, or a mapping with `answers`";

    fn from_seq<'de, A: SeqAccess<'de>>(seq: A) -> Result<Self, A::Error> {
        let answers = Deserialize::deserialize(SeqAccessDeserializer::new(seq))?;
        Ok(Self { answers, looped: false, chunk: None })
    }

    fn from_map<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        Self::deserialize(MapAccessDeserializer::new(map))
    }
}

impl ShortForm for AnswerIn {
    const EXPECTED: &'static str = "an answer: its text, or a mapping with `text`, `tools` or \
                                    `steps`";

    fn from_text(text: &str) -> Option<Self> {
        Some(Self { text: TextIn::from_text(text), ..Self::default() })
    }

    fn from_map<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        Self::deserialize(MapAccessDeserializer::new(map))
    }
}

impl ShortForm for StepIn {
    const EXPECTED: &'static str = "a step: `drop`, `activity`, or a mapping with one of text, \
                                    thinking, tool, usage, error, stall, stop, drop, activity";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "drop" => Some(Self { drop: true, ..Self::default() }),
            "activity" => Some(Self { activity: true, ..Self::default() }),
            _ => None,
        }
    }

    fn from_map<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        Self::deserialize(MapAccessDeserializer::new(map))
    }
}

impl ShortForm for TextIn {
    const EXPECTED: &'static str = "text (in quotes, if it looks like a number), or a list of \
                                    the pieces it comes in";

    fn from_text(text: &str) -> Option<Self> {
        Some(Self(vec![text.to_owned()]))
    }

    fn from_seq<'de, A: SeqAccess<'de>>(seq: A) -> Result<Self, A::Error> {
        Deserialize::deserialize(SeqAccessDeserializer::new(seq)).map(Self)
    }
}

impl ShortForm for ToolIn {
    const EXPECTED: &'static str = "a tool call: the tool's name, or a mapping with `tool` and \
                                    `input`, `raw`, `id`, `chunk`";

    fn from_text(text: &str) -> Option<Self> {
        Some(Self { tool: text.to_owned(), input: None, raw: None, id: None, chunk: None })
    }

    fn from_map<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        Self::deserialize(MapAccessDeserializer::new(map))
    }
}

impl ShortForm for ErrorIn {
    const EXPECTED: &'static str = "an error: its message, or a mapping with `message` and \
                                    `kind`, `retry_after_ms`, `retryable`";

    fn from_text(text: &str) -> Option<Self> {
        Some(Self { kind: None, message: text.to_owned(), retry_after_ms: None, retryable: None })
    }

    fn from_map<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        Self::deserialize(MapAccessDeserializer::new(map))
    }
}

impl ShortForm for StallIn {
    const EXPECTED: &'static str = "a stall: `forever`, `{ms: 500}` or `{gate: name}`";

    fn from_text(text: &str) -> Option<Self> {
        (text == "forever").then_some(Self::Forever)
    }

    fn from_map<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        Self::deserialize(MapAccessDeserializer::new(map))
    }
}
