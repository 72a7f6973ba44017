//! Tool calls: asked for, judged, run, answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::session::data;
use crate::approve::Scope;
use crate::checkpoint::FileChange;
use crate::hook::HookPoint;
use crate::ids::{CallId, MessageId};
use crate::message::deserialize_some;
use crate::message::{ToolResult, ToolUse};
use crate::permission::{Class, Verdict};
pub use crate::tool::DidRun;
use crate::tool::ToolOutcome;

data! {
    /// The model asks for a tool call.
    ToolCalled {
        /// Which round of the turn.
        round: u32,
        /// Which call of the answer, from zero.
        index: u32,
        /// The call.
        tool_use: ToolUse,
    }

    /// The calls of one answer begin to be worked off.
    ToolBatchStarted {
        /// Which round of the turn.
        round: u32,
        /// The calls, in order.
        calls: Vec<CallId>,
        /// Whether calls may overlap.
        parallel: bool,
        /// At most this many at once; none is no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_concurrency: Option<u32>,
    }

    /// A hook is about to run.
    HookStarted {
        /// Where in the turn.
        point: HookPoint,
        /// For which call, at a tool's hook.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    }

    /// A hook answered.
    HookFinished {
        /// Where in the turn.
        point: HookPoint,
        /// For which call, at a tool's hook.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// What it decided, in one word.
        decision: String,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The arguments it put in place of the model's.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_some")]
        input: Option<Value>,
        /// The outcome it put in place of the tool's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<ToolOutcome>,
        /// Words for the model; a tool's hook has them told with the result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<String>,
        /// Why the turn is to end, if the hook wants that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<String>,
    }

    /// Somebody is asked whether a call may run.
    PermissionAsked {
        /// The call; also the permission's id.
        call: CallId,
        /// Why it is asked.
        reason: String,
        /// The narrow rules that "always" would save.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<String>,
    }

    /// It is decided whether a call may run.
    PermissionDecided {
        /// The call.
        call: CallId,
        /// What.
        verdict: Verdict,
        /// By whom.
        by: DecidedBy,
        /// What the call does, as judged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<Class>,
        /// Why.
        reason: String,
        /// How far somebody's yes reaches, where that is further than this call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
        /// The rules that are kept for it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<String>,
    }

    /// A call is about to run.
    ToolStarted {
        /// The call.
        call: CallId,
        /// What it does.
        class: Class,
        /// The arguments, when a hook changed them.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_some")]
        input: Option<Value>,
    }

    /// A call is about to change files, all of them or none.
    FilesChanging {
        /// The call.
        call: CallId,
        /// The files, as they were.
        files: Vec<FileChange>,
    }

    /// A call started a process.
    ProcessStarted {
        /// The call.
        call: CallId,
        /// Its id.
        pid: u32,
        /// When it started, in the system's ticks since boot.
        start_time: u64,
        /// Which boot of which machine.
        boot_id: String,
        /// Whether it outlives the call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        background: bool,
    }

    /// Output of a running call.
    ToolOutput {
        /// The call.
        call: CallId,
        /// The output.
        text: String,
    }

    /// What a call came to.
    ToolFinished {
        /// The call.
        call: CallId,
        /// What it did, if it was judged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<Class>,
        /// What it came to.
        outcome: ToolOutcome,
        /// How long it ran.
        #[serde(default)]
        duration_ms: u64,
    }

    /// What the model is told of a call.
    ToolResultAdded {
        /// Which round of the turn.
        round: u32,
        /// The message it is part of; the results of one answer share it.
        message: MessageId,
        /// The result.
        result: ToolResult,
    }

    /// All calls of one answer have their results.
    ToolBatchFinished {
        /// Which round of the turn.
        round: u32,
        /// Results that were added whole.
        added: u32,
        /// Results left out because the context window is nearly full.
        skipped: u32,
        /// Calls that did not do what they were asked.
        failed: u32,
    }
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The gate: rules and mode.
    Gate,
    /// A hook.
    Hook,
    /// Whoever was asked.
    User,
}

impl ProcessStarted {
    /// The process.
    #[must_use]
    pub fn identity(&self) -> crate::process::ProcessIdentity {
        let (pid, start_time, boot_id) = (self.pid, self.start_time, self.boot_id.clone());
        crate::process::ProcessIdentity { pid, start_time, boot_id }
    }
}
