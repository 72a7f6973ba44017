//! Data of the events of tool calls: called, judged, run, answered.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
    /// The model asked for a tool call.
    ToolCalled {
        /// The round of the turn, from 1.
        round: u32,
        /// The position of the call in the answer, from 0.
        index: u32,
        /// The call with its arguments.
        tool_use: ToolUse,
    }

    /// The session starts to process the tool calls of one answer.
    ToolBatchStarted {
        /// The round of the turn, from 1.
        round: u32,
        /// The calls, in the order of the answer.
        calls: Vec<CallId>,
        /// Whether read-only calls may run at the same time.
        parallel: bool,
        /// The maximum number of calls that run at the same time; absent means no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_concurrency: Option<u32>,
    }

    /// The hooks of one point are about to run.
    HookStarted {
        /// The point of the turn at which the hooks run.
        point: HookPoint,
        /// The call; absent at points that do not concern a call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    }

    /// The hooks of one point finished.
    HookFinished {
        /// The point of the turn at which the hooks ran.
        point: HookPoint,
        /// The call; absent at points that do not concern a call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The merged decision: `continue`, `block`, `allow`, `ask`, `deny`, `change`, `answer`,
        /// `replace`, `finish`, or `cancelled` if recovery closed the hook.
        decision: String,
        /// The reason that the hooks gave; absent if they gave none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The arguments that replace the model's; absent unless a hook changed them.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_some")]
        input: Option<Value>,
        /// The outcome that replaces the tool's; absent unless a hook changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<ToolOutcome>,
        /// Text that the hooks add for the model; absent if none. At a tool's hook it is added to
        /// the tool result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<String>,
        /// Why the turn is to end; absent unless a hook stops the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<String>,
    }

    /// The session asks a user to approve a call.
    PermissionAsked {
        /// The call. Its id is also the id of the approval.
        call: CallId,
        /// Why the call needs approval.
        reason: String,
        /// The rules that the answer "always" would save. They allow as little as possible.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<String>,
        /// What the hooks that require the approval add for the client that asks.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        metadata: Map<String, Value>,
    }

    /// The decision whether a call may run.
    PermissionDecided {
        /// The call that the decision is about.
        call: CallId,
        /// The decision: allow or deny.
        verdict: Verdict,
        /// Whether the gate, a hook or the user decided.
        by: DecidedBy,
        /// The class of the call, as the gate judged it; absent if not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<Class>,
        /// Why it was decided this way.
        reason: String,
        /// How far the user's approval reaches; absent if it is for this call only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
        /// The rules that the user's approval added.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<String>,
    }

    /// A call is about to run.
    ToolStarted {
        /// The call that is about to run.
        call: CallId,
        /// The class of the call, as the gate judged it.
        class: Class,
        /// The arguments that the call runs with; absent unless a hook changed them.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_some")]
        input: Option<Value>,
    }

    /// A call is about to change files, all of them or none.
    FilesChanging {
        /// The call that is about to change the files.
        call: CallId,
        /// The files, with their previous content.
        files: Vec<FileChange>,
    }

    /// A call started a process, which a recovery ends if it still runs.
    ProcessStarted {
        /// The call that started it.
        call: CallId,
        /// The process id. The system reuses ids, so the start time and the boot id belong to the
        /// identity.
        pid: u32,
        /// When the process started, in the system's clock ticks since boot.
        start_time: u64,
        /// The id of the machine's boot.
        boot_id: String,
        /// Whether the process continues to run after the call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        background: bool,
    }

    /// A piece of the output of a running call.
    ToolOutput {
        /// The call that printed it.
        call: CallId,
        /// The piece of output.
        text: String,
    }

    /// The outcome of a call.
    ToolFinished {
        /// The call that ended, or that did not run.
        call: CallId,
        /// The class of the call; absent if the call did not run, and for outcomes that were
        /// written when an interrupted turn was closed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<Class>,
        /// What the call returned; the model receives it as a `tool_result`.
        outcome: Arc<ToolOutcome>,
        /// How long the call ran, in milliseconds; 0 if it did not run.
        #[serde(default)]
        duration_ms: u64,
    }

    /// The result of a call was added to the conversation.
    ToolResultAdded {
        /// The round of the turn, from 1.
        round: u32,
        /// The message that contains the result. The results of one answer share it.
        message: MessageId,
        /// The result as the model sees it.
        result: Arc<ToolResult>,
    }

    /// Every call of one answer has its result.
    ToolBatchFinished {
        /// The round of the turn, from 1.
        round: u32,
        /// The number of results that were added in full.
        added: u32,
        /// The number of results that a note replaced because the context window is nearly full.
        skipped: u32,
        /// The number of calls that failed, were denied or did not run.
        failed: u32,
    }
}

impl ToolBatchFinished {
    /// Returns true if the context window was too full for all results.
    #[must_use]
    pub fn overflowed(&self) -> bool {
        self.skipped > 0
    }
}

/// Who decided whether a call may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The gate, by rules and mode.
    Gate,
    /// A hook of the settings, of a plugin or of code.
    Hook,
    /// The user, or the program that answers for the user.
    User,
}

impl ProcessStarted {
    /// Returns the identity of the process, which is unique across reboots and reused process ids.
    #[must_use]
    pub fn identity(&self) -> crate::process::ProcessIdentity {
        let (pid, start_time, boot_id) = (self.pid, self.start_time, self.boot_id.clone());
        crate::process::ProcessIdentity { pid, start_time, boot_id }
    }
}
