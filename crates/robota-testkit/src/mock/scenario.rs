//! The behaviour of the mock server, as data. Every script of the scripted provider is also a
//! scenario; a scenario can express more, because the mock server controls the wire.

mod format;

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

/// A list of answers. An answer with a condition is used whenever the condition holds. Of the
/// others, each call uses the next one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Scenario {
    /// The answers. Those without a condition are used in this order.
    pub answers: Vec<Reply>,
    /// Whether to start again after the last answer; otherwise a further call is an error.
    #[serde(rename = "loop", skip_serializing_if = "std::ops::Not::not")]
    pub looped: bool,
    /// Stream text, reasoning and arguments in pieces of that many characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<NonZeroUsize>,
    /// Deviations that apply to every answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quirks: Vec<Quirk>,
    /// The models in the model lists.
    pub models: Vec<String>,
    /// The only key that is accepted; if absent, all requests are accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The result of token count requests.
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

/// The error of reading a scenario.
#[derive(Debug)]
pub struct ScenarioError(String);

impl std::fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the scenario is invalid: {}", self.0)
    }
}

impl std::error::Error for ScenarioError {}

impl Scenario {
    /// Creates a scenario with one answer.
    pub fn reply(reply: impl Into<Reply>) -> Self {
        Self { answers: vec![reply.into()], ..Self::default() }
    }

    /// Reads a scenario from YAML or JSON.
    ///
    /// # Errors
    /// When the text is not a valid scenario.
    pub fn from_yaml(text: &str) -> Result<Self, ScenarioError> {
        serde_saphyr::from_str(text).map_err(|error| ScenarioError(error.to_string()))
    }

    /// Reads a scenario from a file.
    ///
    /// # Errors
    /// When the file cannot be read or is not a valid scenario.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ScenarioError(format!("{}: {error}", path.display())))?;
        Self::from_yaml(&text)
            .map_err(|ScenarioError(why)| ScenarioError(format!("{}: {why}", path.display())))
    }

    /// Appends the answer to the next request.
    #[must_use]
    pub fn then(mut self, reply: impl Into<Reply>) -> Self {
        self.answers.push(reply.into());
        self
    }

    /// Starts again after the last answer.
    #[must_use]
    pub fn looped(mut self) -> Self {
        self.looped = true;
        self
    }

    /// Adds deviations to every answer.
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

/// The reply to one call: what it is for, and what is sent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// The condition for using it; without one, the replies are used in order.
    pub when: When,
    /// What the request must contain, otherwise the call fails.
    pub expect: Expect,
    /// Deviations of this reply.
    pub quirks: Vec<Quirk>,
    /// Headers of the response besides those that the wire always has.
    pub headers: BTreeMap<String, String>,
    /// How long to wait before sending the headers.
    pub hold: Option<Stall>,
    /// The steps of the reply, in order.
    pub steps: Vec<Step>,
}

/// The condition for a reply. All given fields must match.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// The n-th model call, counted from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<usize>,
    /// The last user or tool text contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The request names exactly this model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The request arrived on this wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
}

impl When {
    pub(super) fn is_always(&self) -> bool {
        *self == Self::default()
    }
}

/// What a request must contain, in the form of scripts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// The last user or tool text contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The system prompt of the request contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// These tools are offered, possibly among others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The request offers no tools, or forbids to call them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_tools: bool,
    /// The conversation has this many messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<usize>,
}

/// One step of a reply, which is sent after those before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "format::StepIn", into = "format::StepIn")]
pub enum Step {
    /// Text of the answer, streamed.
    Text {
        /// The pieces: each is one delta, unless `chunk` splits it further.
        pieces: Vec<String>,
        /// Splits each piece further, into this many characters.
        chunk: Option<NonZeroUsize>,
        /// How often all pieces are sent in a row; 1 unless a scenario asks for a long answer.
        times: usize,
    },
    /// Reasoning of the model.
    Thinking {
        /// The text of the reasoning.
        thinking: String,
        /// The signature that proves that it is unaltered.
        signature: Option<String>,
        /// Splits it into pieces of this many characters.
        chunk: Option<NonZeroUsize>,
    },
    /// A call. Calls in a row are parallel calls of one answer.
    Tool(Call),
    /// A web search that the service ran itself.
    Search(Search),
    /// The token usage of the call.
    Usage(Tokens),
    /// Bytes without content, which only show that the connection is alive.
    Activity,
    /// A pause, after everything before it was sent.
    Stall(Stall),
    /// The call fails here.
    Error(Failure),
    /// The connection closes here, in the middle of the body.
    Drop,
    /// The connection is reset here; as the first step, without any headers.
    Reset,
    /// The response ends here correctly for HTTP, but without a terminal event.
    Truncate,
    /// The connection closes without a response.
    Close,
    /// An event with this JSON, besides those that the wire makes.
    Event(Value),
    /// These bytes, verbatim, without any framing around them.
    Bytes(String),
    /// The answer ends for this reason.
    Stop(StopReason),
}

/// A tool call of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The name of the tool, which need not be one that the request offers.
    pub name: String,
    /// The arguments of the call.
    pub input: ToolInput,
    /// The service's call id; if absent, a unique one in the form of the wire.
    pub id: Option<String>,
    /// Streams the arguments in pieces of this many characters.
    pub chunk: Option<NonZeroUsize>,
}

/// A web search that the service ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// What the service searched for.
    pub query: String,
    /// The address of the result.
    pub url: String,
    /// The title of the page that was found.
    pub title: String,
}

/// How long a pause lasts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stall {
    /// Until the client or the server ends.
    Forever,
    /// Until the test releases this gate.
    Gate(String),
    /// This many milliseconds, in tokio's time.
    Ms(u64),
}

/// The token usage of a call, counted as the core does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tokens {
    /// All input tokens, cached or not.
    pub input: u64,
    /// All generated tokens, including reasoning.
    pub output: u64,
    /// The part of the input that was read from the cache.
    pub cache_read: u64,
    /// The part of the input that was written to the cache.
    pub cache_write: u64,
    /// The part of the output that is reasoning.
    pub reasoning: u64,
}

impl Reply {
    /// Creates an empty reply.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a step that is sent after those before it.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Appends text as one delta.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.pieces([text])
    }

    /// Appends text, one delta for each piece.
    #[must_use]
    pub fn pieces<T: Into<String>>(self, pieces: impl IntoIterator<Item = T>) -> Self {
        let pieces = pieces.into_iter().map(Into::into).collect();
        self.step(Step::Text { pieces, chunk: None, times: 1 })
    }

    /// Appends reasoning, with the signature that some wires require.
    #[must_use]
    pub fn thinking(self, thinking: impl Into<String>, signature: Option<&str>) -> Self {
        let (thinking, signature) = (thinking.into(), signature.map(str::to_owned));
        self.step(Step::Thinking { thinking, signature, chunk: None })
    }

    /// Appends a call with these arguments; its id is made by the server.
    #[must_use]
    pub fn tool(self, name: impl Into<String>, input: Value) -> Self {
        let input = ToolInput::Json(input);
        self.step(Step::Tool(Call { name: name.into(), input, id: None, chunk: None }))
    }

    /// Sets the token usage that the service reports, in place of a small default.
    #[must_use]
    pub fn usage(self, tokens: Tokens) -> Self {
        self.step(Step::Usage(tokens))
    }

    /// Pauses until that gate is released.
    #[must_use]
    pub fn gate(self, gate: impl Into<String>) -> Self {
        self.step(Step::Stall(Stall::Gate(gate.into())))
    }

    /// Ends the answer with a failure, after the steps before it.
    #[must_use]
    pub fn error(self, failure: Failure) -> Self {
        self.step(Step::Error(failure))
    }

    /// Ends the answer for this reason.
    #[must_use]
    pub fn stop(self, reason: StopReason) -> Self {
        self.step(Step::Stop(reason))
    }

    /// Adds deviations of real services from their documentation.
    #[must_use]
    pub fn quirks(mut self, quirks: impl IntoIterator<Item = Quirk>) -> Self {
        self.quirks.extend(quirks);
        self
    }

    /// Sets which requests this answer is for.
    #[must_use]
    pub fn when(mut self, when: When) -> Self {
        self.when = when;
        self
    }

    /// Streams everything in pieces of that many characters, except for steps that set their own
    /// size.
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

impl From<scripted::ScriptedAnswer> for Reply {
    fn from(answer: scripted::ScriptedAnswer) -> Self {
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
                // Only what differs: the header is not sent if the kind says the same.
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
    /// Returns the arguments as text, as models write them.
    pub(super) fn arguments(&self) -> String {
        match &self.input {
            ToolInput::Json(value) => value.to_string(),
            ToolInput::Unparsed(unparsed) => unparsed.raw.clone(),
        }
    }

    /// Returns the arguments as an object; empty if they are not JSON.
    pub(super) fn object(&self) -> Value {
        self.input.json().cloned().unwrap_or_else(|| Value::Object(Map::new()))
    }
}

#[cfg(test)]
mod tests;
