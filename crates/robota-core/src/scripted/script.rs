//! A script as data, and how to write one in code.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Expect, ScriptError, yaml};
use crate::error::Diagnose as _;
use crate::message::ToolInput;
use crate::provider::{ProviderError, StopReason};
use crate::usage::Usage;

/// What a model says, call by call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    answers: Vec<Answer>,
    looped: bool,
}

impl Script {
    /// A script without answers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a script from YAML.
    ///
    /// # Errors
    /// When it is no script, or larger or deeper than any script has reason to be.
    pub fn from_yaml(text: &str) -> Result<Self, ScriptError> {
        yaml::parse(text)
    }

    /// The next answer.
    #[must_use]
    pub fn answer(mut self, answer: Answer) -> Self {
        self.answers.push(answer);
        self
    }

    /// The next answer is this text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.answer(Answer::new().text(text))
    }

    /// The next answer is this tool call.
    #[must_use]
    pub fn tool(self, name: impl Into<String>, input: Value) -> Self {
        self.answer(Answer::new().tool(name, input))
    }

    /// The next call fails.
    #[must_use]
    pub fn error(self, error: ProviderError) -> Self {
        self.answer(Answer::new().error(error))
    }

    /// After the last answer comes the first.
    #[must_use]
    pub fn looped(mut self) -> Self {
        self.looped = true;
        self
    }

    /// Whether the first answer follows the last.
    #[must_use]
    pub fn is_looped(&self) -> bool {
        self.looped
    }

    /// The answers, in order.
    #[must_use]
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    pub(super) fn into_answers(self) -> Vec<Answer> {
        self.answers
    }
}

/// What a model says in one call. Without a step that ends it, it ends as a model would: with
/// [`StopReason::ToolUse`] if it calls tools, with [`StopReason::EndTurn`] if not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// What it expects of the request.
    pub expect: Expect,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

impl Answer {
    /// An answer that says nothing.
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
        self.chunks([text])
    }

    /// Text, in these pieces.
    #[must_use]
    pub fn chunks<T: Into<String>>(self, chunks: impl IntoIterator<Item = T>) -> Self {
        self.step(Step::Text { chunks: chunks.into_iter().map(Into::into).collect(), chunk: None })
    }

    /// Reasoning, with the signature that lets it be sent back.
    #[must_use]
    pub fn thinking(self, thinking: impl Into<String>, signature: Option<&str>) -> Self {
        self.step(Step::Thinking {
            thinking: thinking.into(),
            signature: signature.map(str::to_owned),
            chunk: None,
        })
    }

    /// A tool call.
    #[must_use]
    pub fn tool(self, name: impl Into<String>, input: Value) -> Self {
        self.step(Step::Tool(ToolStep {
            name: name.into(),
            input: ToolInput::Json(input),
            id: None,
            chunk: None,
        }))
    }

    /// What the call costs.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        self.step(Step::Usage(usage))
    }

    /// The call fails here.
    #[must_use]
    pub fn error(self, error: ProviderError) -> Self {
        self.step(Step::Error(error))
    }

    /// Nothing more comes until [`super::ScriptedProvider::release`] opens that gate.
    #[must_use]
    pub fn gate(self, gate: impl Into<String>) -> Self {
        self.step(Step::Stall(Stall::Gate(gate.into())))
    }

    /// Nothing more comes, ever.
    #[must_use]
    pub fn stall(self) -> Self {
        self.step(Step::Stall(Stall::Forever))
    }

    /// Nothing comes for a while, in tokio's time.
    #[must_use]
    pub fn pause(self, time: Duration) -> Self {
        self.step(Step::Stall(Stall::For(time)))
    }

    /// The stream ends here without a terminal record.
    #[must_use]
    pub fn cut_off(self) -> Self {
        self.step(Step::Drop)
    }

    /// The answer ends here, for this reason.
    #[must_use]
    pub fn stop(self, reason: StopReason) -> Self {
        self.step(Step::Stop(reason))
    }

    /// The request must look like this.
    #[must_use]
    pub fn expect(mut self, expect: Expect) -> Self {
        self.expect = expect;
        self
    }

    /// Streams text, reasoning and arguments in pieces of that many characters, where no step
    /// of the answer says otherwise.
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

/// One thing that happens in an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Words.
    Text {
        /// The pieces they come in.
        chunks: Vec<String>,
        /// Cut each piece further, to this many characters.
        chunk: Option<NonZeroUsize>,
    },
    /// Reasoning.
    Thinking {
        /// What is thought.
        thinking: String,
        /// The proof that it is unaltered; with it, a whole block follows the pieces.
        signature: Option<String>,
        /// Cut it into pieces of this many characters.
        chunk: Option<NonZeroUsize>,
    },
    /// A tool call.
    Tool(ToolStep),
    /// What the call costs so far.
    Usage(Usage),
    /// Bytes that say nothing.
    Activity,
    /// Silence.
    Stall(Stall),
    /// The call fails; before anything else in an answer, it is refused.
    Error(ProviderError),
    /// The stream ends without a terminal record.
    Drop,
    /// The answer ends.
    Stop(StopReason),
}

/// A tool call of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolStep {
    /// The tool.
    pub name: String,
    /// The arguments.
    pub input: ToolInput,
    /// The provider's id; left out it is `call_0`, `call_1`, … in each answer anew, as many
    /// services do it.
    pub id: Option<String>,
    /// Stream the arguments first, in pieces of this many characters.
    pub chunk: Option<NonZeroUsize>,
}

/// How long a silence lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stall {
    /// For ever.
    Forever,
    /// Until this gate is released.
    Gate(String),
    /// This long, in tokio's time.
    For(Duration),
}

impl Step {
    /// Whether nothing can follow it.
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

    /// As payloads show it, in the words of the YAML form.
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
