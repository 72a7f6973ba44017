//! One tool call inside a turn: its stages, from asked-for to done.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gate::Judgement;
use crate::hook::AfterChange;
use crate::message::{ToolUse, deserialize_some};
use crate::permission::Class;
use crate::state::{CallStage, OpenCall};
use crate::tool::{DidRun, ToolOutcome};

/// A call and how far it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CallState {
    pub(super) tool_use: ToolUse,
    /// Arguments a hook put in place of the model's.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_some")]
    pub(super) input: Option<Value>,
    /// Hooks run once, also when they changed the arguments and the gate judges again.
    pub(super) pre_hooks_done: bool,
    /// What the hook that changed the arguments says of them.
    #[serde(default)]
    pub(super) then: AfterChange,
    /// Words of its hooks, to be told with the result.
    #[serde(default)]
    pub(super) context: Option<String>,
    /// Whether its PostToolUse hook has spoken.
    #[serde(default)]
    pub(super) post_hooked: bool,
    pub(super) stage: Stage,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// The gate is asked, for the first time or because a hook changed the arguments.
    Judging,
    /// The gate spoke; the answer that asks for the call is not committed yet, or hooks and
    /// questions are still to come.
    Judged(Judgement),
    /// A PreToolUse hook runs.
    PreHook(Judgement),
    /// Somebody is asked.
    Asking(Judgement),
    /// It may run.
    Allowed(Class),
    /// It runs.
    Running(Class),
    /// It ran; a PostToolUse hook looks at it.
    PostHook(Class, ToolOutcome),
    /// What it came to is known.
    Done(ToolOutcome),
}

impl CallState {
    pub(super) fn new(tool_use: ToolUse) -> Self {
        Self {
            tool_use,
            input: None,
            pre_hooks_done: false,
            then: AfterChange::Judge,
            context: None,
            post_hooked: false,
            stage: Stage::Judging,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done(_))
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Running(_))
    }

    /// Whether it has started, whatever became of it.
    pub(super) fn has_started(&self) -> bool {
        match &self.stage {
            Stage::Running(_) | Stage::PostHook(..) => true,
            Stage::Done(outcome) => outcome.ran != DidRun::No,
            Stage::Judging
            | Stage::Judged(_)
            | Stage::PreHook(_)
            | Stage::Asking(_)
            | Stage::Allowed(_) => false,
        }
    }

    /// Whether a later call that only looks may run beside it.
    pub(super) fn allows_parallel_reads(&self) -> bool {
        matches!(
            self.stage,
            Stage::Running(Class::Inspect) | Stage::PostHook(Class::Inspect, _) | Stage::Done(_)
        )
    }

    /// What the fold should say of it.
    pub(super) fn to_open_call(&self, committed: bool) -> OpenCall {
        let stage = match &self.stage {
            Stage::Judging | Stage::Judged(_) => CallStage::Called,
            Stage::PreHook(_) => CallStage::InPreHook,
            Stage::Asking(_) => CallStage::Asked,
            Stage::Allowed(_) => CallStage::Allowed,
            Stage::Running(_) => CallStage::Started,
            Stage::PostHook(_, outcome) => CallStage::InPostHook(Box::new(outcome.clone())),
            Stage::Done(outcome) => CallStage::Finished(Box::new(outcome.clone())),
        };
        OpenCall {
            committed,
            stage,
            context: self.context.clone(),
            post_hooked: self.post_hooked,
            ..OpenCall::new(self.tool_use.clone())
        }
    }
}
