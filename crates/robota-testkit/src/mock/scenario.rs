//! What the mock says, as data. Every script of the scripted provider is a scenario; a scenario
//! can say more, because it has a wire to say it on.

mod shape;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use robota_core::message::ToolInput;
use robota_core::provider::StopReason;
use robota_core::scripted;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Failure, Quirk, Wire};

/// A list of answers. Those with a condition are given whenever it holds; of the others each
/// call takes the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Scenario {
    /// The answers.
    pub answers: Vec<Reply>,
    /// After the last answer comes the first; else one more call is an error.
    #[serde(rename = "loop", skip_serializing_if = "std::ops::Not::not")]
    pub looped: bool,
    /// Stream text, thinking and arguments in pieces of that many characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<NonZeroUsize>,
    /// Oddities of every answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quirks: Vec<Quirk>,
    /// The models it lists.
    pub models: Vec<String>,
    /// The only key it accepts; without one it accepts all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What counting tokens comes to.
    pub tokens: u64,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            answers: Vec::new(),
            looped: false,
            chunk: None,
            quirks: Vec::new(),
            models: vec!["mock-model".to_owned()],
            key: None,
            tokens: 42,
        }
    }
}

/// A scenario that cannot be read.
#[derive(Debug)]
pub struct ScenarioError(String);

impl std::fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the scenario cannot be read: {}", self.0)
    }
}

impl std::error::Error for ScenarioError {}

impl Scenario {
    /// One answer.
    pub fn reply(reply: impl Into<Reply>) -> Self {
        Self { answers: vec![reply.into()], ..Self::default() }
    }

    /// Reads a scenario from YAML, of which JSON is a part.
    ///
    /// # Errors
    /// When it is none.
    pub fn from_yaml(text: &str) -> Result<Self, ScenarioError> {
        serde_saphyr::from_str(text).map_err(|error| ScenarioError(error.to_string()))
    }

    /// Reads a scenario's file.
    ///
    /// # Errors
    /// When the file cannot be read or is no scenario.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ScenarioError(format!("{}: {error}", path.display())))?;
        Self::from_yaml(&text)
            .map_err(|ScenarioError(why)| ScenarioError(format!("{}: {why}", path.display())))
    }

    /// One more answer.
    #[must_use]
    pub fn then(mut self, reply: impl Into<Reply>) -> Self {
        self.answers.push(reply.into());
        self
    }

    /// After the last answer comes the first.
    #[must_use]
    pub fn looped(mut self) -> Self {
        self.looped = true;
        self
    }

    /// Oddities of every answer.
    #[must_use]
    pub fn quirks(mut self, quirks: impl IntoIterator<Item = Quirk>) -> Self {
        self.quirks.extend(quirks);
        self
    }
}

impl From<Reply> for Scenario {
    fn from(reply: Reply) -> Self {
        Self::reply(reply)
    }
}

impl From<Failure> for Scenario {
    fn from(failure: Failure) -> Self {
        Self::reply(failure)
    }
}

impl From<&str> for Scenario {
    fn from(text: &str) -> Self {
        Self::reply(text)
    }
}

impl From<scripted::Script> for Scenario {
    fn from(script: scripted::Script) -> Self {
        let answers = script.answers().iter().cloned().map(Reply::from).collect();
        Self { answers, looped: script.is_looped(), ..Self::default() }
    }
}

/// What is said to one call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// When it is said; without a condition it waits for its turn.
    pub when: When,
    /// What the request must look like, or the call is refused.
    pub expect: Expect,
    /// Oddities.
    pub quirks: Vec<Quirk>,
    /// More headers of the response.
    pub headers: BTreeMap<String, String>,
    /// Silence before the headers.
    pub hold: Option<Stall>,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// Which calls get a reply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// The n-th model call, from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<usize>,
    /// The last user or tool text contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The model's name is this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// It comes on this wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
}

impl When {
    pub(super) fn is_always(&self) -> bool {
        *self == Self::default()
    }
}

/// What a request must look like, as scripts say it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// The last user or tool text contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The system prompt contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// These tools are offered, perhaps among others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// No tools are offered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_tools: bool,
    /// The conversation has this many messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<usize>,
}

/// One thing that happens in a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "shape::StepIn", into = "shape::StepIn")]
pub enum Step {
    /// Words.
    Text {
        /// The pieces they come in.
        pieces: Vec<String>,
        /// Cut each further, to this many characters.
        chunk: Option<NonZeroUsize>,
        /// Say it all this many times.
        times: usize,
    },
    /// Reasoning.
    Thinking {
        /// What is thought.
        thinking: String,
        /// The proof that it is unaltered.
        signature: Option<String>,
        /// Cut it to this many characters.
        chunk: Option<NonZeroUsize>,
    },
    /// A tool call.
    Tool(Call),
    /// The service searched the web itself.
    Search(Search),
    /// What the call costs.
    Usage(Tokens),
    /// Bytes that say nothing.
    Activity,
    /// Silence.
    Stall(Stall),
    /// The call fails.
    Error(Failure),
    /// The connection is closed here, in the middle of the body.
    Drop,
    /// The connection is reset here; before anything else, without any headers.
    Reset,
    /// The response ends here as HTTP wants it, without a terminal record.
    Truncate,
    /// The connection is closed without an answer.
    Close,
    /// An event of its own: this JSON.
    Event(Value),
    /// These very bytes.
    Bytes(String),
    /// The answer ends.
    Stop(StopReason),
}

/// A tool call of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// The arguments.
    pub input: ToolInput,
    /// The service's id; else one in the form of the wire, of its own in each answer.
    pub id: Option<String>,
    /// Send the arguments in pieces of this many characters.
    pub chunk: Option<NonZeroUsize>,
}

/// A search that the service ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// What for.
    pub query: String,
    /// What it found.
    pub url: String,
    /// Its title.
    pub title: String,
}

/// How long a silence lasts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stall {
    /// For ever.
    Forever,
    /// Until this gate is released.
    Gate(String),
    /// This many milliseconds, in tokio's time.
    Ms(u64),
}

/// What a call costs, counted as the core counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tokens {
    /// All that was sent, cached or not.
    pub input: u64,
    /// All that was generated, reasoning included.
    pub output: u64,
    /// Part of the input.
    pub cache_read: u64,
    /// Part of the input.
    pub cache_write: u64,
    /// Part of the output.
    pub reasoning: u64,
}

impl Reply {
    /// A reply that says nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One more step.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Text, in one piece.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.pieces([text])
    }

    /// Text, in these pieces.
    #[must_use]
    pub fn pieces<T: Into<String>>(self, pieces: impl IntoIterator<Item = T>) -> Self {
        let pieces = pieces.into_iter().map(Into::into).collect();
        self.step(Step::Text { pieces, chunk: None, times: 1 })
    }

    /// Reasoning.
    #[must_use]
    pub fn thinking(self, thinking: impl Into<String>, signature: Option<&str>) -> Self {
        let (thinking, signature) = (thinking.into(), signature.map(str::to_owned));
        self.step(Step::Thinking { thinking, signature, chunk: None })
    }

    /// A tool call.
    #[must_use]
    pub fn tool(self, name: impl Into<String>, input: Value) -> Self {
        let input = ToolInput::Json(input);
        self.step(Step::Tool(Call { name: name.into(), input, id: None, chunk: None }))
    }

    /// What it costs.
    #[must_use]
    pub fn usage(self, tokens: Tokens) -> Self {
        self.step(Step::Usage(tokens))
    }

    /// Nothing more comes until that gate is released.
    #[must_use]
    pub fn gate(self, gate: impl Into<String>) -> Self {
        self.step(Step::Stall(Stall::Gate(gate.into())))
    }

    /// The call fails here.
    #[must_use]
    pub fn error(self, failure: Failure) -> Self {
        self.step(Step::Error(failure))
    }

    /// The answer ends here, for this reason.
    #[must_use]
    pub fn stop(self, reason: StopReason) -> Self {
        self.step(Step::Stop(reason))
    }

    /// Oddities.
    #[must_use]
    pub fn quirks(mut self, quirks: impl IntoIterator<Item = Quirk>) -> Self {
        self.quirks.extend(quirks);
        self
    }

    /// When it is said.
    #[must_use]
    pub fn when(mut self, when: When) -> Self {
        self.when = when;
        self
    }

    /// Everything that streams comes in pieces of that many characters, where no step says
    /// otherwise.
    #[must_use]
    pub fn chunked(mut self, size: NonZeroUsize) -> Self {
        for step in &mut self.steps {
            if let Step::Text { chunk, .. }
            | Step::Thinking { chunk, .. }
            | Step::Tool(Call { chunk, .. }) = step
            {
                chunk.get_or_insert(size);
            }
        }
        self
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::new().text(text)
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        Self::new().error(failure)
    }
}

impl From<scripted::Answer> for Reply {
    fn from(answer: scripted::Answer) -> Self {
        let expect = Expect {
            last: answer.expect.last,
            system: answer.expect.system,
            tools: answer.expect.tools,
            no_tools: answer.expect.no_tools,
            messages: answer.expect.messages,
        };
        let steps = answer.steps.into_iter().map(Step::from).collect();
        Self { expect, steps, ..Self::default() }
    }
}

impl From<scripted::Step> for Step {
    fn from(step: scripted::Step) -> Self {
        use robota_core::error::Diagnose as _;

        match step {
            scripted::Step::Text { chunks, chunk } => {
                Self::Text { pieces: chunks, chunk, times: 1 }
            }
            scripted::Step::Thinking { thinking, signature, chunk } => {
                Self::Thinking { thinking, signature, chunk }
            }
            scripted::Step::Tool(tool) => Self::Tool(Call {
                name: tool.name,
                input: tool.input,
                id: tool.id,
                chunk: tool.chunk,
            }),
            scripted::Step::Usage(usage) => Self::Usage(Tokens {
                input: usage.input_tokens,
                output: usage.output_tokens,
                cache_read: usage.cache_read_tokens,
                cache_write: usage.cache_write_tokens,
                reasoning: usage.reasoning_tokens,
            }),
            scripted::Step::Activity => Self::Activity,
            scripted::Step::Stall(scripted::Stall::Forever) => Self::Stall(Stall::Forever),
            scripted::Step::Stall(scripted::Stall::Gate(gate)) => Self::Stall(Stall::Gate(gate)),
            scripted::Step::Stall(scripted::Stall::For(time)) => Self::Stall(Stall::Ms(ms(time))),
            scripted::Step::Error(error) => Self::Error(Failure {
                message: error.to_string(),
                kind: Some(error.kind()),
                retry_after_ms: error.retry_after.map(ms),
                retryable: (error.retryable() != error.kind().recoverable())
                    .then(|| error.retryable()),
                ..Failure::default()
            }),
            scripted::Step::Drop => Self::Drop,
            scripted::Step::Stop(reason) => Self::Stop(reason),
        }
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Call {
    /// The arguments as text, as models write them.
    pub(super) fn arguments(&self) -> String {
        match &self.input {
            ToolInput::Json(value) => value.to_string(),
            ToolInput::Unparsed(unparsed) => unparsed.raw.clone(),
        }
    }

    /// The arguments as an object, where they are one.
    pub(super) fn object(&self) -> Value {
        self.input.json().cloned().unwrap_or_else(|| Value::Object(Map::new()))
    }
}

#[cfg(test)]
mod tests;
