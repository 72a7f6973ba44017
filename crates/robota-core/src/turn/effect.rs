//! What a turn is told and what it wants done.

use std::time::Duration;

use serde_json::Value;

use crate::approve::{Answer, Question};
use crate::compact::Compaction;
use crate::error::ErrorData;
use crate::event::{Event, Purpose, TurnEnd};
use crate::gate::Judgement;
use crate::hook::{HookInput, HookReply};
use crate::ids::{CallId, InputId};
use crate::message::{Block, Cause, ToolUse};
use crate::permission::Class;
use crate::provider::{Delta, ProviderError, StopReason};
use crate::tool::ToolOutcome;
use crate::usage::Usage;

/// Why a turn begins.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnInput {
    /// Somebody said something.
    Message {
        /// The accepted input it is.
        input: Option<InputId>,
        /// What it says.
        content: Vec<Block>,
    },
    /// The conversation is to go on from where it is.
    Continue,
}

impl TurnInput {
    pub(super) fn id(&self) -> Option<&InputId> {
        match self {
            Self::Message { input, .. } => input.as_ref(),
            Self::Continue => None,
        }
    }
}

/// What happened.
#[derive(Debug, Clone)]
pub enum Input {
    /// The last append is as durable as it must be.
    Appended,
    /// The last append failed, and what followed it in the list was not started.
    AppendFailed {
        /// Why.
        error: ErrorData,
        /// What was not started.
        dropped: Vec<Effect>,
    },
    /// The model streams.
    Delta(Delta),
    /// The call failed, or its stream ended without a terminal record.
    ModelFailed(ProviderError),
    /// The gate spoke.
    Judged {
        /// About which call.
        call: CallId,
        /// What it said.
        judged: Judged,
    },
    /// Somebody answered.
    Answered {
        /// About which call.
        call: CallId,
        /// What they said.
        answer: Answer,
    },
    /// A hook answered.
    Hooked {
        /// About which call, at a tool's hook.
        call: Option<CallId>,
        /// What it said.
        reply: HookReply,
    },
    /// A call ended.
    ToolFinished {
        /// Which.
        call: CallId,
        /// What it came to.
        outcome: ToolOutcome,
        /// How long it ran.
        duration: Duration,
    },
    /// A compaction ended.
    Compacted(Result<Compaction, ErrorData>),
    /// The wait is over.
    WaitOver,
    /// The turn is to end now.
    Abort {
        /// Why.
        cause: Cause,
        /// In whose words.
        note: Option<String>,
    },
}

/// What was found about a call before it may run.
#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    /// Its arguments make sense; this is what the gate says.
    Judgement(Judgement),
    /// Its arguments are wrong.
    Invalid(String),
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Append these events. Whatever follows in the list waits until they are durable.
    Append(Vec<Event>),
    /// Call the model with the conversation as it is.
    CallModel(ModelCall),
    /// Check the arguments of a call and ask the gate about it.
    Judge(ToolUse),
    /// Run a call.
    RunTool {
        /// The call, with the arguments it is to run with.
        tool_use: ToolUse,
        /// What it does.
        class: Class,
    },
    /// Ask somebody whether a call may run.
    AskPermission(Question),
    /// Run the hooks of a point.
    RunHook(HookInput),
    /// Summarise the conversation.
    Compact,
    /// Wait this long.
    Wait(Duration),
    /// Stop something. A cancelled call still reports how it ended; everything else is silent
    /// from then on.
    Cancel(Target),
    /// The turn is over.
    Finish(TurnReport),
}

/// A model call.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// Which round of the turn.
    pub round: u32,
    /// Which attempt of the round, from one.
    pub attempt: u32,
    /// What for; only [`Purpose::Answer`] is offered tools.
    pub purpose: Purpose,
    /// An instruction for this call alone.
    pub instruction: Option<String>,
}

/// What can be cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The model call.
    Model,
    /// A running call.
    Tool(CallId),
    /// A question.
    Question(CallId),
    /// A hook, of a call or of the turn.
    Hook(Option<CallId>),
    /// The compaction.
    Compaction,
    /// The wait.
    Wait,
}

/// What a turn resulted in.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnReport {
    /// How the turn ended.
    pub end: TurnEnd,
    /// The text of the last answer; only a part of it when the answer was cut short.
    pub text: String,
    /// Why the model stopped its last answer; none when no answer was complete.
    pub stop: Option<StopReason>,
    /// How many rounds the turn took.
    pub rounds: u32,
    /// How many tool calls ran.
    pub tools_executed: u32,
    /// The tokens of all model calls of the turn.
    pub usage: Usage,
    /// The price of these tokens in dollars; none when the model catalogue has no price for the model.
    pub cost: Option<f64>,
    /// How long the turn took.
    pub duration: Duration,
    /// The error, when the turn failed.
    pub error: Option<ErrorData>,
}

impl TurnReport {
    /// For a turn that never began, because the journal could not be written.
    #[must_use]
    pub fn not_started(error: ErrorData) -> Self {
        Self {
            end: TurnEnd::StoreFailed,
            text: String::new(),
            stop: None,
            rounds: 0,
            tools_executed: 0,
            usage: Usage::default(),
            cost: None,
            duration: Duration::ZERO,
            error: Some(error),
        }
    }

    /// Whether somebody stopped it.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.end == TurnEnd::Interrupted
    }
}

/// Collects effects; events that follow on each other become one append.
#[derive(Default)]
pub(super) struct Out(Vec<Effect>);

impl Out {
    pub(super) fn emit(&mut self, event: impl Into<Event>) {
        match self.0.last_mut() {
            Some(Effect::Append(events)) => events.push(event.into()),
            _ => self.0.push(Effect::Append(vec![event.into()])),
        }
    }

    pub(super) fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }

    /// Whether an answer to an append is going to come.
    pub(super) fn has_append(&self) -> bool {
        self.0.iter().any(|effect| matches!(effect, Effect::Append(_)))
    }

    pub(super) fn into_effects(self) -> Vec<Effect> {
        self.0
    }
}

/// The arguments a call runs with, as they are journaled when a hook changed them.
pub(super) fn with_input(tool_use: &ToolUse, input: Option<&Value>) -> ToolUse {
    let mut tool_use = tool_use.clone();
    if let Some(input) = input {
        tool_use.input = crate::message::ToolInput::Json(input.clone());
    }
    tool_use
}
