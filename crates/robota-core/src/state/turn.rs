//! The state of a turn in progress: everything that a crash would leave open.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checkpoint::FileChange;
use crate::event::Event;
use crate::hook::HookPoint;
use crate::ids::{CallId, InputId, MessageId, TurnId};
use crate::message::{Cause, ToolInput, ToolUse, deserialize_some};
use crate::permission::Class;
use crate::process::ProcessIdentity;
use crate::tool::ToolOutcome;
use crate::usage::Usage;

/// A turn in progress, or one that a crash left open.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OpenTurn {
    /// The turn's id; `None` in journals that do not have it.
    pub id: Option<TurnId>,
    /// The input that the turn works on; `None` for a continued turn.
    pub input: Option<InputId>,
    /// The current round; 0 before the first.
    pub round: u32,
    /// Streamed text that is not part of a message yet.
    pub text: String,
    /// Streamed reasoning that is not part of a message yet.
    pub thinking: String,
    /// The tokens of the turn's model calls so far.
    #[serde(default)]
    pub usage: Usage,
    /// The number of calls that ran to their end.
    #[serde(default)]
    pub tools_executed: u32,
    /// What interrupted the turn; `None` if nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<Cause>,
    /// The message with the results added so far. It is set between the first `tool_result` and
    /// `tool_batch_finished`; a torn write can leave it set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settling: Option<MessageId>,
    /// Whether the PostToolBatch hooks of the answer have started and not finished.
    #[serde(default, skip_serializing_if = "is_false")]
    pub batch_hook: bool,
    /// Calls without a result, in the order of the answer.
    pub calls: IndexMap<CallId, OpenCall>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A call that has no result yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenCall {
    /// The call, with the arguments of the model.
    pub tool_use: ToolUse,
    /// Whether the answer that asks for the call is part of the conversation.
    pub committed: bool,
    /// The class as which it started; `None` before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// The arguments with which it started; `None` if they are those of the model.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "deserialize_some"
    )]
    pub input: Option<Value>,
    /// The last step of the call that the journal records.
    pub stage: CallStage,
    /// Text of its hooks that is added to the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Whether its PostToolUse hooks have replied.
    #[serde(default)]
    pub post_hooked: bool,
    /// The end of its output so far.
    #[serde(default, skip_serializing_if = "OutputTail::is_empty")]
    pub output: OutputTail,
    /// The processes that it started and that a recovery has to end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessIdentity>,
    /// The files of its last `files_changing`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
}

impl OpenCall {
    /// Creates the state of a call that the model just asked for.
    #[must_use]
    pub fn new(tool_use: ToolUse) -> Self {
        Self {
            tool_use,
            committed: false,
            class: None,
            input: None,
            stage: CallStage::Called,
            context: None,
            post_hooked: false,
            output: OutputTail::default(),
            processes: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Returns the call with the arguments it started with, which a hook may have changed.
    #[must_use]
    pub fn as_started(&self) -> ToolUse {
        let mut tool_use = self.tool_use.clone();
        if let Some(input) = &self.input {
            tool_use.input = ToolInput::Json(input.clone());
        }
        tool_use
    }
}

/// Keeps the end of a call's output. Recovery includes it in the result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OutputTail(String);

impl OutputTail {
    /// The tail keeps at most this many bytes.
    pub const MAX: usize = 4_000;

    /// Returns the end of the output, as much of it as was kept.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if there is no output.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn push(&mut self, text: &str) {
        self.0.push_str(text);
        let from = self.0.len().saturating_sub(Self::MAX);
        let from = (from..=self.0.len()).find(|at| self.0.is_char_boundary(*at)).unwrap_or(0);
        self.0.drain(..from);
    }
}

/// Appends text of a hook to the text of earlier hooks.
pub(crate) fn join_context(context: &mut Option<String>, text: Option<&str>) {
    if let Some(text) = text {
        *context = Some(match context.take() {
            Some(earlier) => format!("{earlier}\n{text}"),
            None => text.to_owned(),
        });
    }
}

/// Says how far a call got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStage {
    /// The model asked for it; nothing is decided.
    Called,
    /// Its PreToolUse hooks run; it is judged and not allowed yet.
    InPreHook,
    /// It waits for the approval of a user.
    Asked,
    /// It may run and has not started.
    Allowed,
    /// It runs, or was running when the process crashed.
    Started,
    /// The call has ended, and its outcome is recorded.
    Finished(Arc<ToolOutcome>),
    /// Its outcome is known and its PostToolUse hooks run.
    InPostHook(Arc<ToolOutcome>),
}

impl OpenTurn {
    /// Returns true between two rounds: no uncommitted chunks, and every call has its result.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.text.is_empty()
            && self.thinking.is_empty()
            && self.calls.is_empty()
            && self.settling.is_none()
    }

    /// Folds one event into the turn, or opens or closes the turn.
    pub(super) fn fold(turn: &mut Option<Self>, event: &Event, id: Option<&TurnId>) {
        match event {
            Event::TurnStarted(data) => {
                *turn =
                    Some(Self { id: id.cloned(), input: data.input.clone(), ..Self::default() });
            }
            Event::TurnFinished(_) => *turn = None,
            // Calls that were made for something else while the turn was open are not part of it.
            Event::ModelAsked(data) => {
                if let (Some(turn), Some(usage)) = (turn, data.usage)
                    && id.is_some()
                    && turn.id.as_ref() == id
                {
                    turn.usage += usage;
                }
            }
            other => {
                if let Some(turn) = turn {
                    turn.fold_open(other);
                }
            }
        }
    }

    fn fold_open(&mut self, event: &Event) {
        match event {
            Event::ModelRequested(data) => self.round = data.round,
            Event::TextChunk(data) => self.text.push_str(&data.text),
            // Apart from the text: an interrupted answer is committed with both, in separate
            // blocks.
            Event::ThinkingChunk(data) => self.thinking.push_str(&data.text),
            Event::StreamReset(_) => {
                self.text.clear();
                self.thinking.clear();
                // Calls of the failed answer never existed for the model; those of earlier answers
                // of the turn keep their stage.
                self.calls.retain(|_, call| call.committed);
            }
            Event::AssistantMessage(data) => {
                if let Some(usage) = data.message.usage {
                    self.usage += usage;
                }
                self.text.clear();
                self.thinking.clear();
                for tool_use in data.message.tool_uses() {
                    if let Some(call) = self.calls.get_mut(&tool_use.call) {
                        // From now on the call needs a result, whatever happens.
                        call.committed = true;
                    }
                }
            }
            Event::ToolCalled(data) => {
                let call = OpenCall::new(data.tool_use.clone());
                self.calls.insert(data.tool_use.call.clone(), call);
            }
            Event::HookStarted(data) => {
                self.batch_hook |= data.point == HookPoint::PostToolBatch;
                if let Some(call) = data.call.as_ref().and_then(|id| self.calls.get_mut(id)) {
                    call.stage = match std::mem::replace(&mut call.stage, CallStage::Called) {
                        CallStage::Finished(outcome) => CallStage::InPostHook(outcome),
                        _ => CallStage::InPreHook,
                    };
                }
            }
            Event::HookFinished(data) if data.point == HookPoint::PostToolBatch => {
                self.batch_hook = false;
                // The results follow in the same append; a torn write can separate them.
                if let Some((_, call)) = self.calls.last_mut() {
                    join_context(&mut call.context, data.context.as_deref());
                }
            }
            Event::HookFinished(data) => {
                if let Some(call) = data.call.as_ref().and_then(|id| self.calls.get_mut(id)) {
                    call.post_hooked |= data.point == HookPoint::PostToolUse;
                    join_context(&mut call.context, data.context.as_deref());
                    call.stage = match std::mem::replace(&mut call.stage, CallStage::Called) {
                        // `hook_started` may be missing: after a crash, `close` runs the hook of a
                        // call whose outcome is known and whose hook had not started.
                        CallStage::InPostHook(outcome) | CallStage::Finished(outcome) => {
                            CallStage::Finished(data.outcome.clone().map_or(outcome, Arc::new))
                        }
                        // Before the outcome is known, the hook was that of PreToolUse; the gate
                        // judges next.
                        _ => CallStage::Called,
                    };
                }
            }
            Event::PermissionAsked(data) => self.set(&data.call, CallStage::Asked),
            Event::PermissionDecided(data) => {
                let stage = match data.verdict {
                    crate::permission::Verdict::Allow => CallStage::Allowed,
                    crate::permission::Verdict::Ask | crate::permission::Verdict::Deny => {
                        CallStage::Called
                    }
                };
                self.set(&data.call, stage);
            }
            Event::ToolStarted(data) => {
                self.set(&data.call, CallStage::Started);
                if let Some(call) = self.calls.get_mut(&data.call) {
                    call.class = Some(data.class);
                    call.input.clone_from(&data.input);
                }
            }
            Event::ToolOutput(data) => {
                if let Some(call) = self.calls.get_mut(&data.call) {
                    call.output.push(&data.text);
                }
            }
            Event::ProcessStarted(data) => {
                if let Some(call) = self.calls.get_mut(&data.call) {
                    call.processes.push(data.identity());
                }
            }
            Event::FilesChanging(data) => {
                if let Some(call) = self.calls.get_mut(&data.call) {
                    // Of several changes of one call, all but the last are complete.
                    call.files.clone_from(&data.files);
                }
            }
            Event::Interrupted(data) => self.interrupted = Some(data.cause),
            Event::CompactionFinished(data) => {
                if let Some(usage) = data.summary.usage {
                    self.usage += usage;
                }
            }
            Event::ToolFinished(data) => {
                // A call that did not run has no class.
                self.tools_executed += u32::from(data.class.is_some());
                self.set(&data.call, CallStage::Finished(data.outcome.clone()));
            }
            Event::ToolBatchFinished(_) => self.settling = None,
            Event::ToolResultAdded(data) => {
                self.settling = Some(data.message.clone());
                self.calls.shift_remove(&data.result.call);
            }
            _ => {}
        }
    }

    fn set(&mut self, call: &CallId, stage: CallStage) {
        if let Some(call) = self.calls.get_mut(call) {
            call.stage = stage;
        }
    }
}
