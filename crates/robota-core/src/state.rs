//! State is a fold over the events: this reducer is the only thing that rebuilds it, live, at
//! resume, in replay and in tests.

mod snapshot;
mod turn;
mod view;

use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use snapshot::{Listing, Needed};
pub use snapshot::{REDUCER, RestoreError, Sources};
pub(crate) use turn::join_context;
pub use turn::{CallStage, OpenCall, OpenTurn, OutputTail};
pub(crate) use view::Listed;
pub(crate) use view::result_chars;
pub use view::{ModelView, Shortened};

use crate::context::{ContextEstimate, ContextInputs, estimate};
use crate::event::{
    ContentLeftOut, Cursor, Delivery, Envelope, Event, InputAccepted, Parent, ProcessStarted,
    SessionCreated, SpawnedBy, TurnEnd,
};
use crate::ids::{CallId, InputId, SessionId, TurnId};
use crate::message::Block;
use crate::permission::Mode;
use crate::process::ProcessIdentity;
use crate::tool::ToolSpec;
use crate::usage::Usage;

/// Processes of at most this many calls are remembered; older ones have most likely ended.
const MAX_BACKGROUND: usize = 1_024;

/// What the events of a session come to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct State {
    /// The session, once created.
    pub session: Option<SessionId>,
    /// Where it was forked from.
    pub parent: Option<Origin>,
    /// The call of another session that started it.
    #[serde(default)]
    pub spawned_by: Option<SpawnedBy>,
    /// Where it works.
    pub cwd: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// The last event folded.
    pub cursor: Option<Cursor>,
    /// The permission mode.
    pub mode: Mode,
    /// The system prompt and its hash.
    pub prompt: Option<Hashed<Arc<str>>>,
    /// The tools and their hash.
    pub tools: Option<Hashed<Arc<[ToolSpec]>>>,
    /// What was last told that requests are without; none since the conversation was shortened.
    #[serde(default)]
    pub left_out: Option<ContentLeftOut>,
    /// What the model sees.
    pub view: ModelView,
    /// The size of what every request carries beside the conversation.
    pub fixed_bytes: u64,
    /// Inputs that are safe but not delivered.
    pub inputs: IndexMap<InputId, PendingInput>,
    /// The turn that is running, or that a dead writer left open.
    pub turn: Option<OpenTurn>,
    /// Whether a compaction began and has not ended.
    #[serde(default)]
    pub compacting: bool,
    /// Whether the last writer closed the session.
    #[serde(default)]
    pub closed: bool,
    /// Turns that ended with an answer.
    pub turns_completed: u64,
    /// What everything cost.
    pub usage: Usage,
    /// Where the session can be forked: the places where every call has its result.
    pub safe_points: SafePoints,
    /// Named places.
    pub labels: IndexMap<String, Cursor>,
    /// Processes that outlive their calls and may still run.
    #[serde(default)]
    pub background: IndexMap<CallId, Vec<ProcessIdentity>>,
    /// Which events the state was made from, for the next snapshot.
    pub sources: Sources,
}

/// The places where a session can be forked. Each snapshot lists those since the snapshot before
/// it, so that any of them is found without reading what lies between.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SafePoints {
    /// How many there are.
    pub count: u64,
    /// The last of them.
    pub last: Option<Cursor>,
    /// Those since the last snapshot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<Cursor>,
}

impl SafePoints {
    fn push(&mut self, at: Cursor) {
        self.count += 1;
        self.last = Some(at);
        self.recent.push(at);
    }

    /// The safe point of that number, counted from one, if it is among the recent ones.
    #[must_use]
    pub fn recent(&self, number: u64) -> Option<Cursor> {
        let before = self.count.checked_sub(self.recent.len() as u64)?;
        let at = number.checked_sub(before)?.checked_sub(1)?;
        self.recent.get(usize::try_from(at).ok()?).copied()
    }

    /// Whether a session can be forked right after this event.
    #[must_use]
    pub fn is_one(event: &Event) -> bool {
        match event {
            Event::AssistantMessage(data) => data.message.tool_uses().next().is_none(),
            Event::ToolBatchFinished(_) => true,
            _ => false,
        }
    }
}

/// A value with its hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hashed<T> {
    /// The hash.
    pub sha256: String,
    /// The value.
    pub value: T,
}

/// Where a fork began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The session it continues.
    pub session: SessionId,
    /// The last event they share.
    pub at: Cursor,
}

/// An input that is safe but not delivered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingInput {
    /// When it is to be delivered.
    pub delivery: Delivery,
    /// What it says.
    pub content: Vec<Block>,
    /// The number of the event that says so.
    pub seq: u64,
}

impl State {
    /// Folds a whole journal.
    ///
    /// # Errors
    /// When events are missing or out of order.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Envelope>) -> Result<Self, FoldError> {
        let mut state = Self::default();
        for event in events {
            state.apply(event)?;
        }
        Ok(state)
    }

    /// Folds one more event.
    ///
    /// # Errors
    /// When it does not follow on the last one; the state is then as it was.
    pub fn apply(&mut self, envelope: &Envelope) -> Result<(), FoldError> {
        if let Some(last) = self.cursor
            && (last.seq.checked_add(1) != Some(envelope.seq) || envelope.epoch < last.epoch)
        {
            let expected = last.seq.saturating_add(1);
            return Err(FoldError { expected, found: envelope.cursor() });
        }
        let cursor = envelope.cursor();
        self.cursor = Some(cursor);
        self.fold_event(&envelope.event, envelope.turn.as_ref(), cursor);
        Ok(())
    }

    fn fold_event(&mut self, event: &Event, turn: Option<&TurnId>, cursor: Cursor) {
        match event {
            Event::SessionCreated(SessionCreated { session, cwd, parent, spawned_by, .. }) => {
                self.session = Some(session.clone());
                self.spawned_by.clone_from(spawned_by);
                self.cwd.clone_from(cwd);
                self.parent = parent
                    .as_ref()
                    .map(|Parent { session, at }| Origin { session: session.clone(), at: *at });
                self.sources.created = cursor.seq;
            }
            Event::Renamed(data) => self.name = Some(data.name.clone()),
            Event::ModeChanged(data) => self.mode = data.mode,
            Event::PromptSet(data) => {
                let (sha256, value) = (data.sha256.clone(), data.text.as_str().into());
                self.prompt = Some(Hashed { sha256, value });
                self.sources.prompt = Some(cursor.seq);
                self.measure_fixed();
            }
            Event::ToolsSet(data) => {
                let (sha256, value) = (data.sha256.clone(), data.tools.clone().into());
                self.tools = Some(Hashed { sha256, value });
                self.sources.tools = Some(cursor.seq);
                self.measure_fixed();
            }
            Event::ContentLeftOut(data) => {
                self.left_out = Some(data.clone());
                self.sources.left_out = Some(cursor.seq);
            }
            Event::MessageInjected(data) => self.view.push(data.message.clone(), cursor.seq),
            Event::InputAccepted(InputAccepted { input, delivery, content, .. }) => {
                let (delivery, content) = (*delivery, content.clone());
                let pending = PendingInput { delivery, content, seq: cursor.seq };
                self.inputs.insert(input.clone(), pending);
            }
            Event::InputBlocked(data) => {
                if let Some(input) = &data.input {
                    self.inputs.shift_remove(input);
                }
            }
            Event::InputCancelled(data) => {
                self.inputs.shift_remove(&data.input);
            }
            Event::UserMessage(data) => {
                if let Some(input) = &data.input {
                    self.inputs.shift_remove(input);
                }
                self.view.push(data.message.clone(), cursor.seq);
            }
            Event::CompactionStarted(_) => self.compacting = true,
            Event::CompactionFailed(_) => self.compacting = false,
            Event::CompactionFinished(data) => {
                self.compacting = false;
                if let Some(usage) = data.summary.usage {
                    self.usage += usage;
                }
                self.view.compact(data.summary.clone(), data.keep_from.as_ref(), cursor.seq);
                self.forget_left_out();
            }
            Event::AssistantMessage(data) => {
                if let Some(usage) = data.message.usage {
                    self.usage += usage;
                }
                self.view.push(data.message.clone(), cursor.seq);
            }
            Event::ToolResultAdded(data) => {
                self.view.push_result(&data.message, &data.result, cursor.seq);
            }
            Event::Rewound(data) => {
                self.view.rewind(data.keep);
                self.forget_left_out();
            }
            Event::ViewRestored(_) => {
                self.view.restore();
                self.forget_left_out();
            }
            Event::StateSnapshot(data) => self.snapshot_taken(cursor.seq, data),
            Event::TurnFinished(data) => {
                self.compacting = false;
                let cut =
                    matches!(data.end, TurnEnd::Interrupted | TurnEnd::Blocked | TurnEnd::Stopped);
                if !cut {
                    self.turns_completed += u64::from(data.error.is_none());
                }
            }
            Event::LabelSet(data) => {
                self.labels.insert(data.label.clone(), data.at);
            }
            Event::ProcessStarted(data) if data.background => self.add_background(data),
            // A writer that closed the session has ended them.
            Event::Closed(_) => {
                self.closed = true;
                self.background.clear();
            }
            Event::Opened(_) => self.closed = false,
            Event::ModelAsked(data) => {
                if let Some(usage) = data.usage {
                    self.usage += usage;
                }
            }
            // For people, audit and recovery; the fold of the open turn reads some.
            Event::EntryAdded(_)
            | Event::TurnStarted(_)
            | Event::ContextMeasured(_)
            | Event::PrefixChanged(_)
            | Event::ModelRequested(_)
            | Event::TextChunk(_)
            | Event::ThinkingChunk(_)
            | Event::ToolInputChunk(_)
            | Event::ProviderPayload(_)
            | Event::StreamReset(_)
            | Event::ModelRetry(_)
            | Event::ModelFailed(_)
            | Event::ModelResponded(_)
            | Event::ToolCalled(_)
            | Event::ToolBatchStarted(_)
            | Event::ToolBatchFinished(_)
            | Event::HookStarted(_)
            | Event::HookFinished(_)
            | Event::PermissionAsked(_)
            | Event::PermissionDecided(_)
            | Event::ToolStarted(_)
            | Event::FilesChanging(_)
            | Event::ProcessStarted(_)
            | Event::ToolOutput(_)
            | Event::ToolFinished(_)
            | Event::Interrupted(_)
            | Event::Forked(_)
            | Event::Recovered(_)
            | Event::Failed(_)
            | Event::Unknown { .. } => {}
        }
        if SafePoints::is_one(event) {
            self.safe_points.push(cursor);
        }
        OpenTurn::fold(&mut self.turn, event, turn);
    }

    /// How full a window of that size is.
    #[must_use]
    pub fn context(&self, window: u64) -> ContextEstimate {
        let latest = self.view.latest_usage.as_ref();
        let last = self.view.messages.last().map(|message| &message.id);
        estimate(&ContextInputs {
            serialized_bytes: self.view.bytes + self.fixed_bytes,
            latest_usage: latest.map(|(_, usage)| *usage),
            usage_is_last: latest.is_some_and(|(id, _)| Some(id) == last),
            floor: 0,
            window,
        })
    }

    fn add_background(&mut self, data: &ProcessStarted) {
        self.background.entry(data.call.clone()).or_default().push(data.identity());
        if self.background.len() > MAX_BACKGROUND {
            self.background.shift_remove_index(0);
        }
    }

    /// Another conversation has other parts, and their counts say nothing about these.
    fn forget_left_out(&mut self) {
        self.left_out = None;
        self.sources.left_out = None;
    }

    fn measure_fixed(&mut self) {
        let prompt = self.prompt.as_ref().map_or(0, |prompt| view::json_len(&prompt.value));
        let tools = self.tools.as_ref().map_or(0, |tools| view::json_len(&tools.value));
        self.fixed_bytes = prompt + tools;
    }
}

/// An event that does not follow on the last one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the journal has a gap: event {expected} should come next, but {found} does")]
pub struct FoldError {
    /// The number that should come next.
    pub expected: u64,
    /// What came.
    pub found: Cursor,
}

#[cfg(test)]
mod tests;
