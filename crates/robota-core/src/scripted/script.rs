//! A script as data, and how to build one in code.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Expect, ScriptError, yaml};
use crate::error::Diagnose as _;
use crate::message::ToolInput;
use crate::provider::{ProviderError, StopReason};
use crate::usage::Usage;

/// Lists the answers of a scripted model, one per call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    answers: Vec<ScriptedAnswer>,
    looped: bool,
}

impl Script {
    /// Creates a script without answers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses a script from YAML.
    ///
    /// # Errors
    /// When it is not a valid script, or exceeds the limits of size and depth.
    pub fn from_yaml(text: &str) -> Result<Self, ScriptError> {
        yaml::parse(text)
    }

    /// Adds the answer to the next request.
    #[must_use]
    pub fn answer(mut self, answer: ScriptedAnswer) -> Self {
        self.answers.push(answer);
        self
    }

    /// Adds an answer with this text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.answer(ScriptedAnswer::new().text(text))
    }

    /// Adds an answer with this tool call.
    #[must_use]
    pub fn tool(self, name: impl Into<String>, input: Value) -> Self {
        self.answer(ScriptedAnswer::new().tool(name, input))
    }

    /// Adds a failed call.
    #[must_use]
    pub fn error(self, error: ProviderError) -> Self {
        self.answer(ScriptedAnswer::new().error(error))
    }

    /// Repeats the answers from the first after the last.
    #[must_use]
    pub fn looped(mut self) -> Self {
        self.looped = true;
        self
    }

    /// Returns true if the answers are repeated.
    #[must_use]
    pub fn is_looped(&self) -> bool {
        self.looped
    }

    /// Returns the answers in the order in which calls get them.
    #[must_use]
    pub fn answers(&self) -> &[ScriptedAnswer] {
        &self.answers
    }

    pub(super) fn into_answers(self) -> Vec<ScriptedAnswer> {
        self.answers
    }
}

/// Describes the answer of one call, step by step. Without a step that ends it, it ends as a model
/// would: with [`StopReason::ToolUse`] if it calls tools, otherwise with [`StopReason::EndTurn`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScriptedAnswer {
    /// The conditions that the request must meet.
    pub expect: Expect,
    /// What the service sends, in this order.
    pub steps: Vec<Step>,
}

impl ScriptedAnswer {
    /// Creates an answer without steps.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step that is played after those before it.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds text that is streamed as one piece.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.chunks([text])
    }

    /// Adds text, in these pieces.
    #[must_use]
    pub fn chunks<T: Into<String>>(self, chunks: impl IntoIterator<Item = T>) -> Self {
        self.step(Step::Text { chunks: chunks.into_iter().map(Into::into).collect(), chunk: None })
    }

    /// Adds reasoning, with the signature that the provider requires to accept it back.
    #[must_use]
    pub fn thinking(self, thinking: impl Into<String>, signature: Option<&str>) -> Self {
        self.step(Step::Thinking {
            thinking: thinking.into(),
            signature: signature.map(str::to_owned),
            chunk: None,
        })
    }

    /// Adds a tool call with these arguments, streamed as one block.
    #[must_use]
    pub fn tool(self, name: impl Into<String>, input: Value) -> Self {
        self.step(Step::Tool(ToolStep {
            name: name.into(),
            input: ToolInput::Json(input),
            id: None,
            chunk: None,
        }))
    }

    /// Sets the tokens of the call.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        self.step(Step::Usage(usage))
    }

    /// Makes the call fail here.
    #[must_use]
    pub fn error(self, error: ProviderError) -> Self {
        self.step(Step::Error(error))
    }

    /// Waits here until [`super::ScriptedProvider::release`] opens that gate.
    #[must_use]
    pub fn gate(self, gate: impl Into<String>) -> Self {
        self.step(Step::Stall(Stall::Gate(gate.into())))
    }

    /// Stops here and sends nothing more.
    #[must_use]
    pub fn stall(self) -> Self {
        self.step(Step::Stall(Stall::Forever))
    }

    /// Waits here, in tokio's time.
    #[must_use]
    pub fn pause(self, time: Duration) -> Self {
        self.step(Step::Stall(Stall::For(time)))
    }

    /// Ends the stream here without a terminal record.
    #[must_use]
    pub fn cut_off(self) -> Self {
        self.step(Step::Drop)
    }

    /// Ends the answer here, for this reason.
    #[must_use]
    pub fn stop(self, reason: StopReason) -> Self {
        self.step(Step::Stop(reason))
    }

    /// Sets the conditions that the request must meet.
    #[must_use]
    pub fn expect(mut self, expect: Expect) -> Self {
        self.expect = expect;
        self
    }

    /// Streams text, reasoning and arguments in pieces of that many characters, except in steps
    /// that set their own size.
    #[must_use]
    pub fn chunked(mut self, size: NonZeroUsize) -> Self {
        for step in &mut self.steps {
            match step {
                Step::Text { chunk, .. }
                | Step::Thinking { chunk, .. }
                | Step::Tool(ToolStep { chunk, .. }) => {
                    chunk.get_or_insert(size);
                }
                Step::Usage(_)
                | Step::Activity
                | Step::Stall(_)
                | Step::Error(_)
                | Step::Drop
                | Step::Stop(_) => {}
            }
        }
        self
    }
}

/// Does one thing in an answer: the service sends something, or does not send it.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Sends text of the answer.
    Text {
        /// The pieces in which the text is streamed.
        chunks: Vec<String>,
        /// Splits each piece further, into this many characters.
        chunk: Option<NonZeroUsize>,
    },
    /// Sends reasoning, which comes before the answer.
    Thinking {
        /// The text of the reasoning, as one piece.
        thinking: String,
        /// The proof that it is unaltered; if present, a complete block follows the pieces.
        signature: Option<String>,
        /// Splits it into pieces of this many characters.
        chunk: Option<NonZeroUsize>,
    },
    /// A tool call that the model asks for.
    Tool(ToolStep),
    /// The tokens of the call so far.
    Usage(Usage),
    /// Bytes without content, such as a keep-alive: they restart the idle timer.
    Activity,
    /// The service sends nothing for a while.
    Stall(Stall),
    /// The call fails. As the first step, the service refuses the call.
    Error(ProviderError),
    /// The stream ends without a terminal record.
    Drop,
    /// The answer ends with this reason; later steps are not played.
    Stop(StopReason),
}

/// Calls a tool in a scripted answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolStep {
    /// The name of the tool that is called.
    pub name: String,
    /// The arguments of the call, valid or not.
    pub input: ToolInput,
    /// The provider's id of the call; `None` uses `call_0`, `call_1`, … from the start in each
    /// answer, as many services do.
    pub id: Option<String>,
    /// Streams the arguments first, in pieces of this many characters.
    pub chunk: Option<NonZeroUsize>,
}

/// How long the service sends nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stall {
    /// Until the call is cancelled or times out.
    Forever,
    /// Until the test opens the gate of this name.
    Gate(String),
    /// For this long, by the clock of tokio, which tests can pause.
    For(Duration),
}

impl Step {
    /// Returns true if no step can follow.
    pub(super) fn is_last(&self) -> bool {
        match self {
            Self::Error(_) | Self::Drop | Self::Stop(_) | Self::Stall(Stall::Forever) => true,
            Self::Text { .. }
            | Self::Thinking { .. }
            | Self::Tool(_)
            | Self::Usage(_)
            | Self::Activity
            | Self::Stall(Stall::Gate(_) | Stall::For(_)) => false,
        }
    }

    /// Returns the step in the form of the YAML, for payloads.
    pub(super) fn to_payload(&self) -> Value {
        match self {
            Self::Text { chunks, .. } => json!({ "text": chunks.concat() }),
            Self::Thinking { thinking, signature, .. } => {
                json!({ "thinking": thinking, "signature": signature })
            }
            Self::Tool(tool) => json!({ "tool": tool.name, "id": tool.id, "input": tool.input }),
            Self::Usage(usage) => json!({ "usage": usage }),
            Self::Activity => json!("activity"),
            Self::Stall(Stall::Forever) => json!({ "stall": "forever" }),
            Self::Stall(Stall::Gate(gate)) => json!({ "stall": { "gate": gate } }),
            Self::Stall(Stall::For(time)) => json!({ "stall": { "ms": time.as_millis() as u64 } }),
            Self::Error(error) => json!({ "error": error.to_data() }),
            Self::Drop => json!("drop"),
            Self::Stop(reason) => json!({ "stop": reason }),
        }
    }
}
