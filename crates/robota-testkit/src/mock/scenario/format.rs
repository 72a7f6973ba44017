//! The file format of scenarios: short forms, and which keys can be combined.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use robota_core::message::ToolInput;
use robota_core::provider::StopReason;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::{Call, Expect, Reply, Scenario, Search, Stall, Step, Tokens, When};
use crate::mock::{Failure, Quirk};

// Short forms are expanded before parsing: a list of answers is a scenario, a string is an answer,
// a word is a step.

impl<'de> Deserialize<'de> for Scenario {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match Value::deserialize(deserializer)? {
            list @ Value::Array(_) => json!({ "answers": list }),
            other => other,
        };
        let mut scenario = Self::deserialize(value).map_err(D::Error::custom)?;
        // Applied at once, so that a scenario that was read is equal to one that was built.
        if let Some(size) = scenario.chunk.take() {
            let answers = std::mem::take(&mut scenario.answers);
            scenario.answers = answers.into_iter().map(|reply| reply.chunked(size)).collect();
        }
        Ok(scenario)
    }
}

impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct ReplyIn {
    #[serde(skip_serializing_if = "When::is_always")]
    when: When,
    #[serde(skip_serializing_if = "is_default")]
    expect: Expect,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    quirks: Vec<Quirk>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold: Option<Stall>,
    #[serde(skip_serializing)]
    chunk: Option<NonZeroUsize>,
    #[serde(skip_serializing)]
    thinking: Option<String>,
    #[serde(skip_serializing)]
    text: Option<TextIn>,
    #[serde(skip_serializing)]
    tools: Option<Vec<ToolIn>>,
    #[serde(skip_serializing)]
    usage: Option<Tokens>,
    #[serde(skip_serializing)]
    error: Option<FailureIn>,
    #[serde(skip_serializing)]
    stop: Option<StopReason>,
    steps: Option<Vec<Step>>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl<'de> Deserialize<'de> for Reply {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match Value::deserialize(deserializer)? {
            text @ Value::String(_) => json!({ "text": text }),
            other => other,
        };
        let reply: ReplyIn = serde_json::from_value(value).map_err(D::Error::custom)?;
        reply.compile().map_err(D::Error::custom)
    }
}

impl Serialize for Reply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let reply = self.clone();
        let shape = ReplyIn {
            when: reply.when,
            expect: reply.expect,
            quirks: reply.quirks,
            headers: reply.headers,
            hold: reply.hold,
            steps: Some(reply.steps),
            ..ReplyIn::default()
        };
        shape.serialize(serializer)
    }
}

impl ReplyIn {
    fn compile(self) -> Result<Reply, String> {
        let short = self.thinking.is_some()
            || self.text.is_some()
            || self.tools.is_some()
            || self.usage.is_some()
            || self.error.is_some()
            || self.stop.is_some();
        // In which order the two would be sent is not clear.
        if short && self.steps.is_some() {
            return Err("an answer has `steps` or the short form, not both".to_owned());
        }
        let mut steps = self.steps.unwrap_or_default();
        let thinking_step = |thinking| Step::Thinking { thinking, signature: None, chunk: None };
        // The order of a usual answer: reasoning, text, calls, usage, end.
        steps.extend(self.thinking.map(thinking_step));
        steps.extend(self.text.map(|text| Step::Text { pieces: text.0, chunk: None, times: 1 }));
        for tool in self.tools.unwrap_or_default() {
            steps.push(tool.compile()?);
        }
        steps.extend(self.usage.map(Step::Usage));
        steps.extend(self.error.map(|failure| Step::Error(failure.0)));
        steps.extend(self.stop.map(Step::Stop));
        // Found here and not while it plays, so that a mistake in a scenario fails at its start.
        let last = steps.iter().position(ends);
        if last.is_some_and(|at| at + 1 < steps.len()) {
            return Err("nothing can follow what ends an answer".to_owned());
        }
        let reply = Reply {
            when: self.when,
            expect: self.expect,
            quirks: self.quirks,
            headers: self.headers,
            hold: self.hold,
            steps,
        };
        Ok(match self.chunk {
            Some(size) => reply.chunked(size),
            None => reply,
        })
    }
}

/// Returns whether no step can follow this one.
fn ends(step: &Step) -> bool {
    match step {
        Step::Error(_)
        | Step::Drop
        | Step::Reset
        | Step::Truncate
        | Step::Close
        | Step::Stop(_)
        | Step::Stall(Stall::Forever) => true,
        Step::Text { .. }
        | Step::Thinking { .. }
        | Step::Tool(_)
        | Step::Search(_)
        | Step::Usage(_)
        | Step::Activity
        | Step::Stall(Stall::Gate(_) | Stall::Ms(_))
        | Step::Event(_)
        | Step::Bytes(_) => false,
    }
}

/// Text: a string, or the list of its pieces.
#[derive(Serialize)]
#[serde(transparent)]
struct TextIn(Vec<String>);

impl<'de> Deserialize<'de> for TextIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match Value::deserialize(deserializer)? {
            text @ Value::String(_) => json!([text]),
            other => other,
        };
        serde_json::from_value(value).map(Self).map_err(D::Error::custom)
    }
}

/// A failure: its message, or a mapping.
#[derive(Serialize)]
#[serde(transparent)]
struct FailureIn(Failure);

impl<'de> Deserialize<'de> for FailureIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match Value::deserialize(deserializer)? {
            text @ Value::String(_) => json!({ "message": text }),
            other => other,
        };
        serde_json::from_value(value).map(Self).map_err(D::Error::custom)
    }
}

/// A tool call in the short form: its name, or a mapping.
struct ToolIn(StepIn);

impl<'de> Deserialize<'de> for ToolIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match Value::deserialize(deserializer)? {
            text @ Value::String(_) => json!({ "tool": text }),
            other => other,
        };
        StepIn::deserialize(value).map(Self).map_err(D::Error::custom)
    }
}

impl ToolIn {
    fn compile(self) -> Result<Step, String> {
        match Step::try_from(self.0)? {
            step @ Step::Tool(_) => Ok(step),
            _ => Err("`tools` can contain tool calls only".to_owned()),
        }
    }
}

/// A step: one main key and its options.
#[derive(Serialize, Deserialize, Default)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub(super) struct StepIn {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextIn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk: Option<NonZeroUsize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<Search>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Tokens>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureIn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stall: Option<Stall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<StopReason>,
    /// A step that is a single word.
    #[serde(skip_serializing_if = "Option::is_none")]
    word: Option<WordStep>,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum WordStep {
    Activity,
    Drop,
    Reset,
    Truncate,
    Close,
}

impl<'de> Deserialize<'de> for StepIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match Value::deserialize(deserializer)? {
            word @ Value::String(_) => json!({ "word": word }),
            other => other,
        };
        Self::deserialize(value).map_err(D::Error::custom)
    }
}

impl Serialize for StepIn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.word {
            Some(word) => word.serialize(serializer),
            None => Self::serialize(self, serializer),
        }
    }
}

impl TryFrom<StepIn> for Step {
    type Error = String;

    fn try_from(step: StepIn) -> Result<Self, String> {
        let mut steps = Vec::new();
        let StepIn { times, signature, input, raw, id, chunk, .. } = step;
        // Noted before the fields are moved: they are checked against the kind below.
        let call = input.is_some() || raw.is_some() || id.is_some();
        let signed = signature.is_some();
        if let Some(TextIn(pieces)) = step.text {
            steps.push(Self::Text { pieces, chunk, times: times.unwrap_or(1) });
        }
        if let Some(thinking) = step.thinking {
            steps.push(Self::Thinking { thinking, signature, chunk });
        }
        if let Some(name) = step.tool {
            let input = match (input, raw) {
                (Some(_), Some(_)) => {
                    return Err("a tool call has `input` or `raw`, not both".to_owned());
                }
                (Some(input), None) => ToolInput::Json(input),
                (None, raw) => ToolInput::parse(&raw.unwrap_or_default()),
            };
            steps.push(Self::Tool(Call { name, input, id, chunk }));
        }
        steps.extend(step.search.map(Self::Search));
        steps.extend(step.usage.map(Self::Usage));
        steps.extend(step.error.map(|failure| Self::Error(failure.0)));
        steps.extend(step.stall.map(Self::Stall));
        steps.extend(step.event.map(Self::Event));
        steps.extend(step.bytes.map(Self::Bytes));
        steps.extend(step.stop.map(Self::Stop));
        steps.extend(step.word.map(|word| match word {
            WordStep::Activity => Self::Activity,
            WordStep::Drop => Self::Drop,
            WordStep::Reset => Self::Reset,
            WordStep::Truncate => Self::Truncate,
            WordStep::Close => Self::Close,
        }));
        // A key of another kind would otherwise be ignored, and the test would test something else.
        match steps.pop() {
            Some(only) if steps.is_empty() => {
                let (tool, text) =
                    (matches!(only, Self::Tool(_)), matches!(only, Self::Text { .. }));
                let thinking = matches!(only, Self::Thinking { .. });
                let misplaced = (call && !tool)
                    || (signed && !thinking)
                    || (times.is_some() && !text)
                    || (chunk.is_some() && !(tool || text || thinking));
                if misplaced {
                    Err("a step has keys that belong to another kind".to_owned())
                } else {
                    Ok(only)
                }
            }
            _ => {
                Err("a step has exactly one of text, thinking, tool, search, usage, error, stall, \
                      event, bytes, stop, or is one of activity, drop, reset, truncate, close"
                    .to_owned())
            }
        }
    }
}

impl From<Step> for StepIn {
    fn from(step: Step) -> Self {
        let word = |word| Self { word: Some(word), ..Self::default() };
        match step {
            Step::Text { pieces, chunk, times } => Self {
                text: Some(TextIn(pieces)),
                chunk,
                // The default is left out, so that a file that is read and written again stays the
                // same.
                times: (times != 1).then_some(times),
                ..Self::default()
            },
            Step::Thinking { thinking, signature, chunk } => {
                Self { thinking: Some(thinking), signature, chunk, ..Self::default() }
            }
            Step::Tool(Call { name, input, id, chunk }) => {
                let (input, raw) = match input {
                    ToolInput::Json(value) => (Some(value), None),
                    ToolInput::Unparsed(unparsed) => (None, Some(unparsed.raw)),
                };
                Self { tool: Some(name), input, raw, id, chunk, ..Self::default() }
            }
            Step::Search(search) => Self { search: Some(search), ..Self::default() },
            Step::Usage(usage) => Self { usage: Some(usage), ..Self::default() },
            Step::Activity => word(WordStep::Activity),
            Step::Stall(stall) => Self { stall: Some(stall), ..Self::default() },
            Step::Error(failure) => Self { error: Some(FailureIn(failure)), ..Self::default() },
            Step::Drop => word(WordStep::Drop),
            Step::Reset => word(WordStep::Reset),
            Step::Truncate => word(WordStep::Truncate),
            Step::Close => word(WordStep::Close),
            Step::Event(event) => Self { event: Some(event), ..Self::default() },
            Step::Bytes(bytes) => Self { bytes: Some(bytes), ..Self::default() },
            Step::Stop(stop) => Self { stop: Some(stop), ..Self::default() },
        }
    }
}
