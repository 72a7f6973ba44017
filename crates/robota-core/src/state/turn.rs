//! The part of the state that a turn in flight has: what a crash would leave open.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::checkpoint::FileChange;
use crate::event::Event;
use crate::hook::HookPoint;
use crate::ids::{CallId, InputId, MessageId, TurnId};
use crate::message::{Cause, ToolUse};
use crate::process::ProcessIdentity;
use crate::tool::ToolOutcome;
use crate::usage::Usage;

/// A turn in flight.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OpenTurn {
    /// Its id.
    pub id: Option<TurnId>,
    /// The input it works on.
    pub input: Option<InputId>,
    /// The round it is in; zero before the first.
    pub round: u32,
    /// Text streamed and not yet part of a message.
    pub text: String,
    /// Reasoning streamed and not yet part of a message.
    pub thinking: String,
    /// What its answers cost so far.
    #[serde(default)]
    pub usage: Usage,
    /// Calls of it that ran to their end.
    #[serde(default)]
    pub tools_executed: u32,
    /// What interrupted it, if anything has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<Cause>,
    /// The message that holds the results told so far, when a torn write left some of them out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settling: Option<MessageId>,
    /// Calls whose results are still owed, in order.
    pub calls: IndexMap<CallId, OpenCall>,
}

/// A call whose result is still owed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenCall {
    /// The call.
    pub tool_use: ToolUse,
    /// Whether the answer that asks for it is part of the conversation.
    pub committed: bool,
    /// How far it got.
    pub stage: CallStage,
    /// Words of its hooks, to be told with the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Whether its PostToolUse hook has spoken.
    #[serde(default)]
    pub post_hooked: bool,
    /// The end of what it has printed so far.
    #[serde(default, skip_serializing_if = "OutputTail::is_empty")]
    pub output: OutputTail,
    /// The processes it started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessIdentity>,
    /// The files it was last about to change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
}

impl OpenCall {
    /// A call that was just asked for.
    #[must_use]
    pub fn new(tool_use: ToolUse) -> Self {
        Self {
            tool_use,
            committed: false,
            stage: CallStage::Called,
            context: None,
            post_hooked: false,
            output: OutputTail::default(),
            processes: Vec::new(),
            files: Vec::new(),
        }
    }
}

/// The end of a call's output: as much as a recovery shows the model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OutputTail(String);

impl OutputTail {
    /// How many bytes are kept.
    pub const MAX: usize = 4_000;

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether nothing was printed.
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

/// Adds words of a hook to those it said before.
pub(crate) fn join_context(context: &mut Option<String>, text: Option<&str>) {
    if let Some(text) = text {
        *context = Some(match context.take() {
            Some(earlier) => format!("{earlier}\n{text}"),
            None => text.to_owned(),
        });
    }
}

/// How far a call got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStage {
    /// Asked for; nothing decided.
    Called,
    /// A PreToolUse hook runs.
    InPreHook,
    /// Somebody is being asked.
    Asked,
    /// It may run and has not started.
    Allowed,
    /// It runs, or ran when the process died.
    Started,
    /// What it came to is known.
    Finished(Box<ToolOutcome>),
    /// What it came to is known; a PostToolUse hook runs.
    InPostHook(Box<ToolOutcome>),
}

impl OpenTurn {
    /// Whether it is between two rounds: nothing streamed waits, no result is owed.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.text.is_empty()
            && self.thinking.is_empty()
            && self.calls.is_empty()
            && self.settling.is_none()
    }

    /// Folds one event into the turn, opening and closing it.
    pub(super) fn fold(turn: &mut Option<Self>, event: &Event, id: Option<&TurnId>) {
        match event {
            Event::TurnStarted(data) => {
                *turn =
                    Some(Self { id: id.cloned(), input: data.input.clone(), ..Self::default() });
            }
            Event::TurnFinished(_) => *turn = None,
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
            Event::ThinkingChunk(data) => self.thinking.push_str(&data.text),
            Event::StreamReset(_) => {
                self.text.clear();
                self.thinking.clear();
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
                        call.committed = true;
                    }
                }
            }
            Event::ToolCalled(data) => {
                let call = OpenCall::new(data.tool_use.clone());
                self.calls.insert(data.tool_use.call.clone(), call);
            }
            Event::HookStarted(data) => {
                if let Some(call) = data.call.as_ref().and_then(|id| self.calls.get_mut(id)) {
                    call.stage = match std::mem::replace(&mut call.stage, CallStage::Called) {
                        CallStage::Finished(outcome) => CallStage::InPostHook(outcome),
                        _ => CallStage::InPreHook,
                    };
                }
            }
            Event::HookFinished(data) => {
                if let Some(call) = data.call.as_ref().and_then(|id| self.calls.get_mut(id)) {
                    call.post_hooked |= data.point == HookPoint::PostToolUse;
                    join_context(&mut call.context, data.context.as_deref());
                    call.stage = match std::mem::replace(&mut call.stage, CallStage::Called) {
                        // Its start may be missing: an intent whose append failed is not owed.
                        CallStage::InPostHook(outcome) | CallStage::Finished(outcome) => {
                            CallStage::Finished(data.outcome.clone().map_or(outcome, Box::new))
                        }
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
            Event::ToolStarted(data) => self.set(&data.call, CallStage::Started),
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
                    // Of several changes of one call, those before the last were made.
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
                // One that never ran has no class.
                self.tools_executed += u32::from(data.class.is_some());
                self.set(&data.call, CallStage::Finished(Box::new(data.outcome.clone())));
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
