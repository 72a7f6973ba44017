//! One tool call of a turn: its stages from requested to done.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::gate::{Grant, Judgement};
use crate::hook::AfterChange;
use crate::message::{ToolUse, deserialize_some};
use crate::permission::Class;
use crate::state::{CallStage, OpenCall};
use crate::tool::{DidRun, ToolOutcome};

/// A call of the current answer and its stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CallState {
    pub(super) tool_use: ToolUse,
    /// The arguments from a hook that replace the model's.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "deserialize_some"
    )]
    pub(super) input: Option<Value>,
    /// Hooks run once per call, also if they change the arguments and the gate judges them again.
    pub(super) pre_hooks_done: bool,
    /// What the hooks decided about the arguments that one of them changed.
    #[serde(default)]
    pub(super) then: AfterChange,
    /// What hooks add to the question for approval.
    #[serde(default)]
    pub(super) question_metadata: Map<String, Value>,
    /// The reason of the user who approved it with other arguments, which the gate judges.
    #[serde(default)]
    pub(super) approved: Option<String>,
    /// Whether a hook approved it so, in place of the user.
    #[serde(default)]
    pub(super) approved_by_hook: bool,
    /// Text of its hooks that is added to the result.
    #[serde(default)]
    pub(super) context: Option<String>,
    /// Whether its PostToolUse hooks finished.
    #[serde(default)]
    pub(super) post_hooked: bool,
    /// What the gate allows it to do. A call that a user or a hook allowed may do everything.
    #[serde(default)]
    pub(super) grant: Grant,
    /// The class that it ran as; none if it did not run.
    #[serde(default)]
    pub(super) class: Option<Class>,
    pub(super) stage: Stage,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// The gate judges the call, for the first time or because a hook changed the arguments.
    Judging,
    /// The gate has judged the call. It waits for the answer to be committed, or for its hooks or
    /// the approval.
    Judged(Judgement),
    /// Its PreToolUse hooks run; their reply may change the judgement.
    PreHook(Judgement),
    /// It waits for the approval of a user.
    Asking(Judgement),
    /// It may run and waits for its place in the order.
    Allowed(Class),
    /// It runs; the driver will report its outcome.
    Running(Class),
    /// It ran, and its PostToolUse hooks run.
    PostHook(Class, Arc<ToolOutcome>),
    /// Its outcome is known.
    Done(Arc<ToolOutcome>),
}

impl CallState {
    pub(super) fn new(tool_use: ToolUse) -> Self {
        Self {
            tool_use,
            input: None,
            pre_hooks_done: false,
            then: AfterChange::Judge,
            question_metadata: Map::new(),
            approved: None,
            approved_by_hook: false,
            context: None,
            post_hooked: false,
            grant: Grant::Full,
            class: None,
            stage: Stage::Judging,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done(_))
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Running(_))
    }

    /// Returns true if the call has started, whether or not it has ended.
    pub(super) fn has_started(&self) -> bool {
        match &self.stage {
            // A call whose PostToolUse hook runs has had its effects.
            Stage::Running(_) | Stage::PostHook(..) => true,
            Stage::Done(outcome) => outcome.ran != DidRun::No,
            Stage::Judging
            | Stage::Judged(_)
            | Stage::PreHook(_)
            | Stage::Asking(_)
            | Stage::Allowed(_) => false,
        }
    }

    /// Returns true if a later read-only call may run at the same time.
    pub(super) fn allows_parallel_reads(&self) -> bool {
        // A call that has ended no longer matters for the order, whatever it did.
        matches!(
            self.stage,
            Stage::Running(Class::Inspect) | Stage::PostHook(Class::Inspect, _) | Stage::Done(_)
        )
    }

    /// Returns what the fold of the events should say about this call.
    pub(super) fn to_open_call(&self, committed: bool) -> OpenCall {
        let stage = match &self.stage {
            Stage::Judging if self.approved.is_some() => CallStage::Asked,
            Stage::Judging | Stage::Judged(_) => CallStage::Called,
            Stage::PreHook(_) => CallStage::InPreHook,
            Stage::Asking(_) => CallStage::Asked,
            Stage::Allowed(_) => CallStage::Allowed,
            Stage::Running(_) => CallStage::Started,
            Stage::PostHook(_, outcome) => CallStage::InPostHook(outcome.clone()),
            Stage::Done(outcome) => CallStage::Finished(outcome.clone()),
        };
        OpenCall {
            committed,
            class: self.class,
            // It has a class once it started.
            input: self.class.and(self.input.clone()),
            stage,
            context: self.context.clone(),
            post_hooked: self.post_hooked,
            ..OpenCall::new(self.tool_use.clone())
        }
    }
}
