//! Hooks: user code or commands that run at fixed points. What they may decide is typed per point,
//! so that code cannot return an answer that makes no sense there.
//!
//! [`Hooks`] is the port that the driver uses at the five points of a turn. [`HookRunner`]
//! implements it for hooks from settings: it knows all [`HookEvent`]s, selects the
//! matching definitions, runs them in parallel through [`HookExecutor`]s, parses their output and
//! merges it. Hooks never fail open: where hooks decide, a hook that cannot run, crashes, times out
//! or returns invalid output blocks.

mod combined;
mod decide;
mod definition;
mod event;
mod execute;
mod exit;
mod file_paths;
mod matcher;
mod merge;
mod model_switch;
mod notice;
mod observer;
mod output;
mod payload;
mod runner;
mod suggestions;

pub use combined::CombinedHooks;
pub use decide::EventDecision;
pub use definition::{
    CommandHook, HookCommon, HookDefinition, HookGroup, HookTimes, HttpHook, McpToolHook,
    PromptHook, UnusableHook,
};
pub use event::{HookEvent, MatchedOn};
pub use execute::{HookCondition, HookExecutor, HookKind, HookTranscript};
pub use exit::{HookEnd, HookExit};
pub use file_paths::absolute_paths;
pub use matcher::{InvalidMatcher, Matcher};
pub use model_switch::ModelSwitch;
pub use notice::{HookNotice, NoticeKind};
pub use observer::{HookObserver, ObservedHook};
pub use output::{HookElicitation, HookOutput, HookPermission, HookVerdict, MAX_STDOUT, MAX_TEXT};
pub use payload::{
    ConfigSource, ExpansionType, HookContext, HookData, HookEffort, HookToolCall,
    ModelSwitchSource, NotificationType, SessionSource, SetupTrigger,
};
pub use runner::{EventReport, HookRunner, HookWake, OwnedHook, PointReport};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::CallId;
use crate::message::{Block, ToolUse};
use crate::permission::Verdict;
use crate::tool::ToolOutcome;

/// A point of a turn where hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum HookPoint {
    /// Before an input becomes a message.
    UserPromptSubmit,
    /// After a tool call was judged and before it runs.
    PreToolUse,
    /// After a tool call ran, whether it succeeded or failed.
    PostToolUse,
    /// After all calls of an answer have their outcomes, before the model receives them.
    PostToolBatch,
    /// Before a turn ends with an answer.
    Stop,
}

impl HookPoint {
    /// All points, in the order in which a turn reaches them.
    pub const ALL: [Self; 5] = [
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PostToolBatch,
        Self::Stop,
    ];
}

/// What the hooks of a point receive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookInput {
    /// The session accepted an input, which is about to become a message.
    UserPromptSubmit {
        /// What the user typed; the content of the input if the client did not expand it.
        content: Vec<Block>,
    },
    /// A tool call was judged and not denied.
    PreToolUse {
        /// The call with the arguments that the gate judged.
        tool_use: ToolUse,
        /// The gate's verdict: allow or ask.
        verdict: Verdict,
    },
    /// A tool call ran, whether it succeeded or failed.
    PostToolUse {
        /// The call with the arguments that it ran with.
        tool_use: ToolUse,
        /// What the call returned. A plugin that ran before may have replaced it.
        outcome: ToolOutcome,
        /// How long it ran, in milliseconds; none after a crash, when it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// All calls of an answer have outcomes, and the model does not have them yet.
    PostToolBatch {
        /// The calls, in the order of the answer.
        calls: Vec<EndedCall>,
    },
    /// The turn is about to end.
    Stop {
        /// The text of the answer with which the turn would end.
        text: String,
        /// Whether a Stop hook has already continued this turn.
        active: bool,
    },
}

/// A call of an answer that has its outcome, whether or not it ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndedCall {
    /// The call with its last arguments: those that it ran with, if it ran.
    pub tool_use: ToolUse,
    /// What the model receives. A PostToolUse hook may have replaced it.
    pub outcome: ToolOutcome,
}

impl HookInput {
    /// Returns the point that it belongs to.
    #[must_use]
    pub fn point(&self) -> HookPoint {
        match self {
            Self::UserPromptSubmit { .. } => HookPoint::UserPromptSubmit,
            Self::PreToolUse { .. } => HookPoint::PreToolUse,
            Self::PostToolUse { .. } => HookPoint::PostToolUse,
            Self::PostToolBatch { .. } => HookPoint::PostToolBatch,
            Self::Stop { .. } => HookPoint::Stop,
        }
    }

    /// Returns the call, at a tool's hook.
    #[must_use]
    pub fn call(&self) -> Option<&CallId> {
        match self {
            Self::PreToolUse { tool_use, .. } | Self::PostToolUse { tool_use, .. } => {
                Some(&tool_use.call)
            }
            Self::UserPromptSubmit { .. } | Self::PostToolBatch { .. } | Self::Stop { .. } => None,
        }
    }
}

/// Returns to the driver what the hooks of one point decided together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookAnswer {
    /// What hooks decide about an input.
    UserPromptSubmit(PromptDecision),
    /// The decision about a call that has not run.
    PreToolUse(PreToolDecision),
    /// What hooks decide about a call that ran.
    PostToolUse(PostToolDecision),
    /// What hooks decide about the calls of an answer together.
    PostToolBatch(BatchDecision),
    /// What hooks decide about the end of a turn.
    Stop(StopDecision),
}

/// Returns to the driver the decision of the hooks of one point, and values that go with any
/// decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookReply {
    /// The decision, of the kind that the point takes. An answer for another point blocks, or ends
    /// the turn at Stop.
    pub answer: HookAnswer,
    /// Text for the model. At a tool's hook it is added to the tool result; at the end of a turn it
    /// makes the turn continue.
    pub context: Option<String>,
    /// Why the turn is to stop, at a tool's hook; `None` if it is not.
    pub stop: Option<String>,
}

impl From<HookAnswer> for HookReply {
    fn from(answer: HookAnswer) -> Self {
        Self { answer, context: None, stop: None }
    }
}

/// What hooks decide about an input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptDecision {
    /// The input becomes a message, with the text before it.
    Continue {
        /// Text that is added before the input.
        context: Option<String>,
    },
    /// The input does not become a message.
    Block {
        /// Why it is blocked; the user reads it.
        reason: String,
    },
}

/// The decision about a call that has not run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreToolDecision {
    /// No hook decides, so the verdict of the gate stays.
    Continue,
    /// The call may run. This lifts an ask of the mode, but never one of a rule.
    Allow {
        /// Why it may run; it is recorded with the decision.
        reason: Option<String>,
    },
    /// The call needs a user's approval.
    Ask(HookQuestion),
    /// The call does not run; its result has the reason.
    Deny {
        /// Why it does not run; the model reads it.
        reason: String,
    },
    /// The call runs with other arguments, which the gate judges again.
    Change {
        /// The arguments that replace all of the model's.
        input: Value,
        /// The hooks' decision about the new arguments, after the gate has judged them.
        then: AfterChange,
    },
    /// The call does not run; the hook provides its outcome.
    Answer {
        /// The outcome that the model sees. It counts as a call that did not run.
        outcome: ToolOutcome,
    },
}

/// Why hooks require approval of a call, and what they add to the question.
///
/// ```
/// use robota_core::hook::{HookQuestion, PreToolDecision};
///
/// let question = HookQuestion::new("it deploys").with("environment", "production");
/// let decision = PreToolDecision::Ask(question);
/// # drop(decision);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HookQuestion {
    /// Why the call needs approval; the question shows it.
    pub reason: String,
    /// Data for the client that shows the question.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl HookQuestion {
    /// Creates a question without data.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), metadata: Map::new() }
    }

    /// Adds data for the client that shows the question.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}

/// The hooks' decision about arguments that one of them changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AfterChange {
    /// No decision: the judgement of the gate applies.
    #[default]
    Judge,
    /// Lifts an ask of the mode about the new arguments; see [`PreToolDecision::Allow`].
    Allow {
        /// Why it may run; it is recorded with the decision.
        reason: Option<String>,
    },
    /// A user has to approve the call with the new arguments; see [`PreToolDecision::Ask`].
    Ask(HookQuestion),
}

impl AfterChange {
    /// Returns the reason of the decision, if there is one.
    pub(crate) fn reason(&self) -> Option<String> {
        match self {
            Self::Judge => None,
            Self::Allow { reason } => reason.clone(),
            Self::Ask(question) => Some(question.reason.clone()),
        }
    }
}

/// What hooks decide about a call that ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostToolDecision {
    /// No hook changes the outcome.
    Continue,
    /// The model reads another outcome than that of the tool.
    Replace {
        /// The outcome that the model sees instead. Whether the call ran stays as it was.
        outcome: ToolOutcome,
    },
    /// The model sees that the result is withheld.
    Block {
        /// Why it is withheld; the model reads it.
        reason: String,
    },
}

/// What hooks decide about the calls of an answer together. All calls have ended, so that the results
/// stay, whatever they decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchDecision {
    /// The model receives the results.
    Continue {
        /// Text that is added to the last result.
        context: Option<String>,
    },
    /// The turn ends, and the model is not called again.
    Stop {
        /// Why it ends.
        reason: String,
    },
}

/// What hooks decide about the end of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopDecision {
    /// The turn may end with the answer that it has.
    Finish,
    /// The turn continues, with the reason as the next user message.
    Continue {
        /// The text of that message, which the model answers.
        reason: String,
    },
}

/// Runs the hooks of a session. The driver calls it at each point and waits for the decision.
#[async_trait::async_trait]
pub trait Hooks: Send + Sync {
    /// Returns true if the point has hooks. At points without hooks no events are recorded.
    fn has_point(&self, point: HookPoint) -> bool;

    /// Runs the hooks of a point and merges their output. The answer must be for that point; any
    /// other counts as a failure, and failures block.
    async fn run(&self, input: HookInput) -> HookReply;

    /// Returns true if an event has hooks, including events that are not points of a turn.
    fn has_event(&self, event: HookEvent) -> bool {
        HookPoint::ALL
            .into_iter()
            .any(|point| HookEvent::from(point) == event && self.has_point(point))
    }

    /// Runs the hooks of an event that is not a point of a turn.
    async fn run_event(&self, _data: HookData) -> EventReport {
        EventReport::default()
    }
}

/// Runs no hooks: every prompt, call and answer continues.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

#[async_trait::async_trait]
impl Hooks for NoHooks {
    fn has_point(&self, _point: HookPoint) -> bool {
        false
    }

    async fn run(&self, input: HookInput) -> HookReply {
        let answer = match input.point() {
            HookPoint::UserPromptSubmit => {
                HookAnswer::UserPromptSubmit(PromptDecision::Continue { context: None })
            }
            HookPoint::PreToolUse => HookAnswer::PreToolUse(PreToolDecision::Continue),
            HookPoint::PostToolUse => HookAnswer::PostToolUse(PostToolDecision::Continue),
            HookPoint::PostToolBatch => {
                HookAnswer::PostToolBatch(BatchDecision::Continue { context: None })
            }
            HookPoint::Stop => HookAnswer::Stop(StopDecision::Finish),
        };
        answer.into()
    }
}
