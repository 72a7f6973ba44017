//! Hooks: code or commands that the user puts at fixed points. What they may decide is typed
//! per point, so that an answer that makes no sense there cannot be given.
//!
//! [`Hooks`] is the port the driver uses at the four points of a turn. [`HookRunner`] is what
//! stands behind it when hooks come from settings: it knows all thirteen [`HookEvent`]s, finds
//! the definitions that match, runs them side by side through [`HookExecutor`]s, reads what
//! each one says and puts it together. Hooks never fail open: where one decides, a hook that
//! cannot run, crashes, hangs or cannot be understood refuses.

mod decide;
mod definition;
mod event;
mod execute;
mod exit;
mod matcher;
mod merge;
mod notice;
mod output;
mod payload;
mod runner;

pub use decide::EventDecision;
pub use definition::{
    CommandHook, HookCommon, HookDefinition, HookGroup, HttpHook, PromptHook, UnusableHook,
};
pub use event::{HookEvent, MatchedOn};
pub use execute::{HookCondition, HookExecutor, HookKind};
pub use exit::{HookEnd, HookExit};
pub use matcher::{BadMatcher, Matcher};
pub use notice::{HookNotice, NoticeKind};
pub use output::{HookOutput, HookPermission, HookSays, MAX_STDOUT, MAX_TEXT};
pub use payload::{HookContext, HookData, SessionSource};
pub use runner::{DEFAULT_TIMEOUT, EventReport, HookRunner, PointReport};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::CallId;
use crate::message::{Block, ToolUse};
use crate::permission::Verdict;
use crate::tool::ToolOutcome;

/// A point of a turn where hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum HookPoint {
    /// Before an input becomes a message.
    UserPromptSubmit,
    /// Before a tool call is decided.
    PreToolUse,
    /// After a tool call ran.
    PostToolUse,
    /// Before a turn ends with an answer.
    Stop,
}

impl HookPoint {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::UserPromptSubmit, Self::PreToolUse, Self::PostToolUse, Self::Stop];
}

/// What a hook is told.
#[derive(Debug, Clone, PartialEq)]
pub enum HookInput {
    /// An input was accepted.
    UserPromptSubmit {
        /// What it says.
        content: Vec<Block>,
    },
    /// A tool call was judged and not denied.
    PreToolUse {
        /// The call.
        tool_use: ToolUse,
        /// What the gate said.
        verdict: Verdict,
    },
    /// A tool call ran.
    PostToolUse {
        /// The call.
        tool_use: ToolUse,
        /// What it came to.
        outcome: ToolOutcome,
    },
    /// The turn is about to end.
    Stop {
        /// The answer.
        text: String,
        /// Whether a hook already kept this turn going.
        active: bool,
    },
}

impl HookInput {
    /// The point it belongs to.
    #[must_use]
    pub fn point(&self) -> HookPoint {
        match self {
            Self::UserPromptSubmit { .. } => HookPoint::UserPromptSubmit,
            Self::PreToolUse { .. } => HookPoint::PreToolUse,
            Self::PostToolUse { .. } => HookPoint::PostToolUse,
            Self::Stop { .. } => HookPoint::Stop,
        }
    }

    /// The call it is about, at a tool's hook.
    #[must_use]
    pub fn call(&self) -> Option<&CallId> {
        match self {
            Self::PreToolUse { tool_use, .. } | Self::PostToolUse { tool_use, .. } => {
                Some(&tool_use.call)
            }
            Self::UserPromptSubmit { .. } | Self::Stop { .. } => None,
        }
    }
}

/// What hooks decided, all those of one point merged.
#[derive(Debug, Clone, PartialEq)]
pub enum HookAnswer {
    /// About an input.
    UserPromptSubmit(PromptDecision),
    /// About a call that has not run.
    PreToolUse(PreToolDecision),
    /// About a call that ran.
    PostToolUse(PostToolDecision),
    /// About the end of a turn.
    Stop(StopDecision),
}

/// What the hooks of a point say: their decision, and what can stand beside any decision.
#[derive(Debug, Clone, PartialEq)]
pub struct HookReply {
    /// The decision.
    pub answer: HookAnswer,
    /// Words for the model. At a tool's hook they are told with the result; at the end of a turn
    /// they keep it going.
    pub context: Option<String>,
    /// Why the turn is to end, at a tool's hook.
    pub stop: Option<String>,
}

impl From<HookAnswer> for HookReply {
    fn from(answer: HookAnswer) -> Self {
        Self { answer, context: None, stop: None }
    }
}

/// About an input.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptDecision {
    /// It becomes a message, with this context before it.
    Continue {
        /// Words to put before the input.
        context: Option<String>,
    },
    /// It does not.
    Block {
        /// Why.
        reason: String,
    },
}

/// About a call that has not run.
#[derive(Debug, Clone, PartialEq)]
pub enum PreToolDecision {
    /// Nothing to say.
    Continue,
    /// It may run: lifts an ask that came from the mode, never one that came from a rule.
    Allow {
        /// Why.
        reason: Option<String>,
    },
    /// Somebody must be asked.
    Ask {
        /// Why.
        reason: String,
    },
    /// It does not run.
    Deny {
        /// Why.
        reason: String,
    },
    /// It runs with other arguments, which are judged once more.
    Change {
        /// The arguments.
        input: Value,
        /// What hooks say of them, once the gate has judged them.
        then: AfterChange,
    },
    /// It does not run; this is its outcome.
    Answer {
        /// The outcome.
        outcome: ToolOutcome,
    },
}

/// What hooks say of arguments that one of them changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AfterChange {
    /// Nothing: the gate decides.
    #[default]
    Judge,
    /// As [`PreToolDecision::Allow`].
    Allow {
        /// Why.
        reason: Option<String>,
    },
    /// As [`PreToolDecision::Ask`].
    Ask {
        /// Why.
        reason: String,
    },
}

/// About a call that ran.
#[derive(Debug, Clone, PartialEq)]
pub enum PostToolDecision {
    /// Nothing to say.
    Continue,
    /// The model is told this instead.
    Replace {
        /// The outcome.
        outcome: ToolOutcome,
    },
    /// The model is told that its result is withheld.
    Block {
        /// Why.
        reason: String,
    },
}

/// About the end of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum StopDecision {
    /// It may end.
    Finish,
    /// It goes on, with this as the user's next words.
    Continue {
        /// The words.
        reason: String,
    },
}

/// Runs hooks.
#[async_trait::async_trait]
pub trait Hooks: Send + Sync {
    /// Whether any hook stands at that point: where none does, nothing is journaled.
    fn has_point(&self, point: HookPoint) -> bool;

    /// Runs the hooks of a point and merges what they say. The answer is of the point that was
    /// asked; any other counts as a failure, and failures block.
    async fn run(&self, input: HookInput) -> HookReply;

    /// Whether any hook stands at an event, also one that is no point of a turn.
    fn has_event(&self, event: HookEvent) -> bool {
        HookPoint::ALL
            .into_iter()
            .any(|point| HookEvent::from(point) == event && self.has_point(point))
    }

    /// Runs the hooks of an event that is no point of a turn.
    async fn run_event(&self, _data: HookData) -> EventReport {
        EventReport::default()
    }
}

/// No hooks at all.
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
            HookPoint::Stop => HookAnswer::Stop(StopDecision::Finish),
        };
        answer.into()
    }
}
