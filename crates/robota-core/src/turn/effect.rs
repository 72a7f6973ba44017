//! The inputs and effects of the turn machine.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::calls::CallState;
use crate::approve::{Answer, Question};
use crate::compact::Compaction;
use crate::context::ContextEstimate;
use crate::error::ErrorData;
use crate::event::{Event, Purpose, TurnEnd, TurnStatus};
use crate::gate::{Grant, Judgement};
use crate::hook::{HookInput, HookReply};
use crate::ids::{CallId, InputId};
use crate::message::{Block, Cause, ToolUse};
use crate::permission::Class;
use crate::provider::{Delta, ModelLimits, ProviderError, StopReason};
use crate::tool::ToolOutcome;
use crate::usage::Usage;

/// What a turn starts with: a message, or nothing new.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnInput {
    /// A message from a client, which becomes a user message unless a hook blocks it.
    Message {
        /// The accepted input that it came from; `None` if it was not queued as an input.
        input: Option<InputId>,
        /// The blocks that the message contains.
        content: Vec<Block>,
    },
    /// The turn continues the conversation without a new message.
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

/// Something that happened, which the driver reports to the machine.
#[derive(Debug, Clone)]
pub enum Input {
    /// The last append is as durable as its events require.
    Appended,
    /// The last append failed. The effects after it were not started.
    AppendFailed {
        /// What the store reported.
        error: ErrorData,
        /// The effects that were not started.
        dropped: Vec<Effect>,
    },
    /// A piece of the model's answer arrived.
    Delta(Delta),
    /// The model call failed, or its stream ended without a terminal record.
    ModelFailed(ProviderError),
    /// The gate judged a call, or its arguments are not valid.
    Judged {
        /// The call that [`Effect::Judge`] named.
        call: CallId,
        /// The judgement, or why the arguments are not valid.
        judged: JudgeResult,
    },
    /// The approver answered the question about a call.
    Answered {
        /// The call that it was asked about.
        call: CallId,
        /// The approver's decision about the call.
        answer: Answer,
    },
    /// The hooks of [`Effect::RunHook`] finished.
    Hooked {
        /// The call; `None` at points that do not concern a call.
        call: Option<CallId>,
        /// The reply of all hooks of the point, merged.
        reply: HookReply,
    },
    /// A call that ran has ended.
    ToolFinished {
        /// The call that [`Effect::RunTool`] named.
        call: CallId,
        /// What the call returned, without secrets.
        outcome: ToolOutcome,
        /// How long the call ran, from its start to its end.
        duration: Duration,
    },
    /// The service has reported the limits of the model, or has not.
    LimitsFound(Option<ModelLimits>),
    /// The compactor returned a summary, or failed.
    Compacted(Result<Compaction, ErrorData>),
    /// The time of [`Effect::Wait`] has passed.
    WaitOver,
    /// The user cancels an input that the running turn has taken for a later round, and on which the
    /// UserPromptSubmit hooks run. Without effect in every other state.
    Withdraw {
        /// The input, which does not become a message.
        input: InputId,
    },
    /// The turn is to end now.
    Abort {
        /// What interrupts it: the user, or a shutdown.
        cause: Cause,
        /// The reason that the client gave, as text.
        note: Option<String>,
        /// Whether the inputs that wait stay, although the user interrupts the turn.
        keep_inputs: bool,
    },
}

/// Answers [`Effect::Judge`]: whether the arguments are valid, and the verdict.
#[derive(Debug, Clone, PartialEq)]
pub enum JudgeResult {
    /// The arguments are valid; this is the gate's judgement.
    Judgement(Judgement),
    /// The arguments are not valid; the text says why.
    Invalid(String),
}

/// Something that the driver is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Append these events. The effects after it wait until they are durable.
    Append(Vec<Event>),
    /// Call the model with the current conversation.
    CallModel(ModelCall),
    /// Check the arguments of a call and let the gate judge it.
    Judge {
        /// The call, with the arguments to check.
        tool_use: ToolUse,
        /// Whether the model wrote these arguments, or a hook or the approver changed them.
        author: ArgumentsAuthor,
    },
    /// Run a call that may run.
    RunTool {
        /// The call, with the arguments that it runs with.
        tool_use: ToolUse,
        /// The class of the call, as the gate judged it.
        class: Class,
        /// What the judgement allows the call to do.
        grant: Grant,
    },
    /// Ask the approver about a call.
    AskPermission(Question),
    /// Run the hooks of a point.
    RunHook(HookInput),
    /// Ask the service for the limits of the model.
    FindLimits,
    /// Summarise the conversation, which takes that much of the window.
    Compact(ContextEstimate),
    /// Wait this long, then send [`Input::WaitOver`].
    Wait(Duration),
    /// Cancel something. A cancelled tool call still reports its outcome; nothing else that is
    /// cancelled sends an input.
    Cancel(Target),
    /// The turn is over. This is the last effect.
    Finish(TurnReport),
}

/// Who wrote the arguments of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentsAuthor {
    /// The model wrote them, and they are unchanged.
    Model,
    /// A hook or the approver, who changed the model's.
    Changed,
}

/// A model call that the driver makes. The conversation for it is in the state.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// The round of the turn, from 1.
    pub round: u32,
    /// The attempt within the round, from 1.
    pub attempt: u32,
    /// What the call is for; tools can be called only for [`Purpose::Answer`].
    pub purpose: Purpose,
    /// An instruction for this call only.
    pub instruction: Option<String>,
    /// The maximum number of tokens of the answer.
    pub max_output: u64,
}

/// What [`Effect::Cancel`] cancels; no input follows, except from a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The model call, whose connection is closed.
    Model,
    /// A running tool call. It is asked to stop and still reports its outcome.
    Tool(CallId),
    /// The question to the approver about a call.
    Question(CallId),
    /// The hooks of a call, or those of the turn.
    Hook(Option<CallId>),
    /// The question for the model's limits.
    Limits,
    /// The running compaction; the conversation stays as it was.
    Compaction,
    /// The wait between two attempts of a model call.
    Wait,
}

/// What a turn resulted in.
///
/// ```
/// use robota_core::turn::TurnReport;
///
/// fn line(report: &TurnReport) -> String {
///     format!("{} ({} rounds, {} calls)", report.text, report.rounds, report.tools_executed)
/// }
/// # let _ = line;
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TurnReport {
    /// What ended the turn.
    pub end: TurnEnd,
    /// The text of the last answer, with the parts that continued it; only a part of it when the
    /// answer was cut short.
    pub text: String,
    /// Why the model stopped its last answer; none when no answer was complete.
    pub stop: Option<StopReason>,
    /// How many rounds the turn took.
    pub rounds: u32,
    /// How many tool calls ran to their end, successful or not.
    pub tools_executed: u32,
    /// The tool calls that failed, were denied or did not run, in order. Those of an answer are
    /// added when all its calls have ended.
    pub failed_calls: Vec<FailedCall>,
    /// The tokens of all model calls of the turn.
    pub usage: Usage,
    /// The price of these tokens in dollars; none when the model catalogue has no price for the model.
    pub cost: Option<f64>,
    /// The time from the start of the turn to its end.
    pub duration: Duration,
    /// The error, when the turn failed.
    pub error: Option<ErrorData>,
}

impl TurnReport {
    /// Creates the report of a turn that did not start because the journal could not be written.
    #[must_use]
    pub fn not_started(error: ErrorData) -> Self {
        Self {
            end: TurnEnd::StoreFailed,
            text: String::new(),
            stop: None,
            rounds: 0,
            tools_executed: 0,
            failed_calls: Vec::new(),
            usage: Usage::default(),
            cost: None,
            duration: Duration::ZERO,
            error: Some(error),
        }
    }

    /// Classifies the result of the turn.
    #[must_use]
    pub fn status(&self) -> TurnStatus {
        self.end.status(self.stop.as_ref())
    }

    /// Returns true if the turn was interrupted.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.end == TurnEnd::Interrupted
    }
}

/// The maximum length of [`FailedCall::text`], in characters.
const FAILED_TEXT: usize = 1_000;

/// A tool call of a turn that failed, was denied or did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCall {
    /// The id that the events of the call have.
    pub call: CallId,
    /// The tool's name as the model wrote it.
    pub tool: String,
    /// A stable code of the failure, such as `denied`.
    pub code: Option<String>,
    /// The result that the model received, cut if it is long.
    pub text: String,
}

impl FailedCall {
    pub(super) fn new(call: &ToolUse, outcome: &ToolOutcome) -> Self {
        let text = outcome.text().chars().take(FAILED_TEXT).collect();
        let (id, tool) = (call.call.clone(), call.name.clone());
        Self { call: id, tool, code: outcome.error_code.clone(), text }
    }
}

/// Collects effects. Consecutive events become one append, so that they are written, and synced if
/// required, together.
#[derive(Default)]
pub(super) struct Out(Vec<Effect>);

impl Out {
    pub(super) fn emit(&mut self, event: impl Into<Event>) {
        // Only into the last effect: an event must not move before an effect that precedes it.
        match self.0.last_mut() {
            Some(Effect::Append(events)) => events.push(event.into()),
            _ => self.0.push(Effect::Append(vec![event.into()])),
        }
    }

    pub(super) fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }

    /// Returns true if the machine will receive the answer to an append.
    pub(super) fn has_append(&self) -> bool {
        self.0.iter().any(|effect| matches!(effect, Effect::Append(_)))
    }

    pub(super) fn into_effects(self) -> Vec<Effect> {
        self.0
    }
}

/// Returns the effect that judges a call whose arguments a hook or the approver changed.
pub(super) fn judge_changed(call: &CallState) -> Effect {
    let tool_use = with_input(&call.tool_use, call.input.as_ref());
    Effect::Judge { tool_use, author: ArgumentsAuthor::Changed }
}

/// Returns the call with the arguments it runs with: those of a hook, if one changed them.
pub(super) fn with_input(tool_use: &ToolUse, input: Option<&Value>) -> ToolUse {
    let mut tool_use = tool_use.clone();
    if let Some(input) = input {
        tool_use.input = crate::message::ToolInput::Json(input.clone());
    }
    tool_use
}
